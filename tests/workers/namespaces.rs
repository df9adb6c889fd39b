//! The same as in `partitions`, by a network that drops packets: the worker is in a network namespace of its own, and talks to the
//! database by TCP and TLS. Packets one way get lost as they are sent to a station that is not there.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::process::{Child, Command, Stdio};

use rustix::process::{Signal, geteuid};

use crate::proxy::From;
use crate::roster::{End, Work, check_end};
use crate::support::World;
use crate::support::authority::certificates;
use crate::support::daemon::eventually;
use crate::support::postgres::{self, Server};
use crate::support::slapd::tool;
use crate::worker::{self, Halt, Worker, command, sync_when_free};

/// Addresses that are for tests of networks (RFC 2544).
const DATABASE: &str = "198.18.77.1";
const WORKER: &str = "198.18.77.2";
const PORT: u16 = 5432;
/// The hardware addresses of both ends, and one that is none's.
const AT_DATABASE: &str = "02:00:00:00:77:01";
const AT_WORKER: &str = "02:00:00:00:77:02";
const NOWHERE: &str = "02:00:00:00:77:99";

/// A process that ends with the test.
struct Helper(Child);

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A network of two ends: this machine with the database, and a namespace with a worker.
struct Network {
    name: String,
    device: String,
    helpers: Vec<Helper>,
}

fn ip(arguments: &[&str]) {
    let ran = Command::new(tool("ip").unwrap()).args(arguments).output().unwrap();
    assert!(ran.status.success(), "ip {arguments:?}: {ran:?}");
}

impl Network {
    fn new() -> Self {
        let id = std::process::id();
        let (name, device, peer) = (format!("rosterd-{id}"), format!("rd{id}"), "worker");
        ip(&["netns", "add", &name]);
        let network = Self { name, device, helpers: Vec::new() };
        let (name, device) = (network.name.as_str(), network.device.as_str());
        let ends = ["link", "add", "name", device, "address", AT_DATABASE, "type", "veth", "peer", "name", peer];
        ip(&[&ends[..], &["address", AT_WORKER, "netns", name]].concat());
        ip(&["addr", "add", &format!("{DATABASE}/30"), "dev", device]);
        ip(&["link", "set", device, "up"]);
        for arguments in [
            &["addr", "add", &format!("{WORKER}/30"), "dev", peer][..],
            &["link", "set", peer, "up"],
            &["link", "set", "lo", "up"],
        ] {
            ip(&[&["-n", name], arguments].concat());
        }
        network.heal();
        network
    }

    /// From now on packets get lost one way, or arrive.
    fn drops(&self, way: From, does: bool) {
        let end = |right| if does { NOWHERE } else { right };
        match way {
            From::Worker => {
                let neighbour = ["neigh", "replace", DATABASE, "lladdr", end(AT_DATABASE), "dev", "worker"];
                ip(&[&["-n", &self.name], &neighbour[..], &["nud", "permanent"]].concat());
            }
            From::Database => {
                let neighbour = ["neigh", "replace", WORKER, "lladdr", end(AT_WORKER), "dev", &self.device];
                ip(&[&neighbour[..], &["nud", "permanent"]].concat());
            }
        }
    }

    fn heal(&self) {
        [From::Worker, From::Database].into_iter().for_each(|way| self.drops(way, false));
    }

    /// A command that runs in the namespace as it would here.
    fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new(tool("ip").unwrap());
        inside.args(["netns", "exec", &self.name]).arg(command.get_program()).args(command.get_args());
        let path = std::env::var_os("PATH").unwrap_or_default();
        inside.env_clear().env("PATH", path).stdin(Stdio::null()).stdout(Stdio::null());
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside
    }

    /// The service, which answers on a port of this machine's own, answers there in the namespace too.
    fn leads_to_service(&mut self, world: &World) {
        let url = world.service().url();
        let port = url.rsplit(':').next().unwrap().trim_end_matches(|end: char| !end.is_ascii_digit());
        let port = port.split('/').next().unwrap();
        let socket = world.dir().join("service.sock");
        let socat = |from: String, to: String| {
            let mut command = Command::new(tool("socat").unwrap());
            command.args([from, to]);
            command
        };
        let here = socat(format!("UNIX-LISTEN:{},fork", socket.display()), format!("TCP:127.0.0.1:{port}"));
        let there = socat(
            format!("TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork"),
            format!("UNIX-CONNECT:{}", socket.display()),
        );
        for mut command in [here, self.inside(&there)] {
            self.helpers.push(Helper(command.stderr(Stdio::null()).spawn().unwrap()));
        }
        eventually("the service can be reached from there", || {
            let probe = socat("-".to_owned(), format!("TCP:127.0.0.1:{port}"));
            socket.exists() && self.inside(&probe).stderr(Stdio::null()).status().unwrap().success()
        });
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.helpers.clear();
        // The device goes with its other end.
        let _ = Command::new(tool("ip").unwrap()).args(["netns", "del", &self.name]).status();
    }
}

impl Server {
    /// Has it listen on the network as well, with a certificate for that address.
    fn listens(&self) {
        let data = self.path("data");
        certificates(&data, &format!("IP:{DATABASE}"));
        fs::set_permissions(data.join("srv.key"), Permissions::from_mode(0o600)).unwrap();
        let owner = fs::metadata(&data).unwrap();
        let owner = (std::os::unix::fs::MetadataExt::uid(&owner), std::os::unix::fs::MetadataExt::gid(&owner));
        for name in ["srv.key", "srv.pem"] {
            chown(data.join(name), Some(owner.0), Some(owner.1)).unwrap();
        }
        let mut rules = fs::File::options().append(true).open(data.join("pg_hba.conf")).unwrap();
        writeln!(rules, "hostssl all all {WORKER}/32 trust").unwrap();
        self.stop_at_once();
        self.run_with(&[
            &format!("listen_addresses={DATABASE}"),
            "ssl=on",
            "ssl_cert_file=srv.pem",
            "ssl_key_file=srv.key",
        ]);
    }
}

/// A worker in the namespace, from the middle of its sync on, when packets begin to be lost these ways.
fn cut_off(world: &World, network: &Network, ways: &[From]) -> Worker {
    let mut first = command(world, "first", &["sync"]);
    let url = format!("postgresql://postgres@{DATABASE}:{PORT}/{}", world.database().name);
    first
        .env("ROSTERD__STATE__URL", url)
        .env("ROSTERD__STATE__CA_FILE", Server::shared().path("data").join("ca.pem"))
        .env("ROSTERD_STOP_AT", "40");
    let first = Worker::start(world, "first", network.inside(&first));
    assert_eq!(first.halt(), Halt::Stopped, "{}", worker::log(world, "first"));
    ways.iter().for_each(|way| network.drops(*way, true));
    first.signal(Signal::CONT);
    first
}

/// Packets are lost for longer than a lease.
fn long(network: &mut Network, ways: &[From], expected: &End) {
    let world = Work::Changes.world();
    network.leads_to_service(&world);
    let first = cut_off(&world, network, ways);
    sync_when_free(&world, "second");
    network.heal();
    assert_eq!(first.wait().code(), Some(1), "{ways:?}: {}", worker::log(&world, "first"));
    let agents: Vec<String> = world.service().requests().into_iter().map(|request| request.agent).collect();
    let theirs = agents.iter().position(|agent| agent.contains("(second;"));
    let late = theirs.is_some_and(|at| agents[at..].iter().any(|agent| agent.contains("(first;")));
    assert!(theirs.is_some() && !late, "{ways:?}: {agents:?}");
    check_end(&world, expected, &format!("{ways:?} in a namespace"));
}

#[test]
fn law_3_a_worker_whose_packets_are_lost_in_its_network_sends_nothing_after_its_deadline() {
    let must = std::env::var("CI").is_ok_and(|value| value == "true");
    if !geteuid().is_root() && !must {
        eprintln!("left out: a network namespace needs root");
        return;
    }
    if !postgres::is_there() {
        return;
    }
    let expected = Work::Changes.end();
    let mut network = Network::new();
    Server::shared().listens();
    for ways in [&[From::Worker][..], &[From::Database], &[From::Worker, From::Database]] {
        long(&mut network, ways, &expected);
    }
}
