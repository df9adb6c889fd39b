//! Notices: their content, their receivers, and that they arrive.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rosterd::clock::Clock;
use rosterd::notify::Notifier;
use rosterd::status::{Counters, Snapshot, metrics};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::support::{Config, World, people};

/// Listens on a free port and keeps what it receives; refuses while it is asked to.
#[derive(Clone)]
pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
    refuses: Arc<Mutex<bool>>,
    holds: Arc<Mutex<bool>>,
}

impl Listener {
    pub(crate) fn start(serve: fn(&Self, TcpStream)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let this = Self { address, heard: Arc::default(), refuses: Arc::default(), holds: Arc::default() };
        std::thread::spawn({
            let this = this.clone();
            move || listener.incoming().for_each(|stream| serve(&this, stream.unwrap()))
        });
        this
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }

    pub(crate) fn refuse(&self, refuses: bool) {
        *self.refuses.lock().unwrap() = refuses;
    }

    /// Whether it answers no request that it takes from now on, before it is let go.
    pub(crate) fn hold(&self, holds: bool) {
        *self.holds.lock().unwrap() = holds;
    }

    /// Takes one request: keeps its target and its body.
    pub(crate) fn http(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let (mut target, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            // Who asked may have ended.
            if reader.read_line(&mut line).unwrap() == 0 {
                return;
            }
            match line.to_lowercase().strip_prefix("content-length:") {
                Some(number) => length = number.trim().parse().unwrap(),
                None if target.is_empty() => target = line.trim().to_owned(),
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let refuses = *self.refuses.lock().unwrap();
        if !refuses {
            self.heard.lock().unwrap().push(format!("{target}\n{}", String::from_utf8(body).unwrap()));
        }
        while *self.holds.lock().unwrap() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let status = if refuses { "503 Not now" } else { "200 OK" };
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
    }

    /// Takes one mail, as a server without TLS does.
    pub(crate) fn smtp(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut mail = String::new();
        let say = |reader: &mut BufReader<TcpStream>, text: &str| {
            reader.get_mut().write_all(format!("{text}\r\n").as_bytes()).unwrap();
        };
        say(&mut reader, "220 mail.example.com");
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap() == 0 {
                return;
            }
            mail.push_str(&line);
            match line.split_whitespace().next().unwrap_or_default() {
                "RCPT" if *self.refuses.lock().unwrap() => say(&mut reader, "450 try later"),
                "DATA" => {
                    say(&mut reader, "354 go on");
                    loop {
                        let mut line = String::new();
                        if reader.read_line(&mut line).unwrap() == 0 {
                            return;
                        }
                        if line == ".\r\n" {
                            break;
                        }
                        mail.push_str(&line);
                    }
                    self.heard.lock().unwrap().push(std::mem::take(&mut mail));
                    say(&mut reader, "250 taken");
                }
                "QUIT" => return say(&mut reader, "221 bye"),
                _ => say(&mut reader, "250 yes"),
            }
        }
    }
}

/// A world with notices, and the two listeners that receive them.
pub(crate) struct Told {
    pub(crate) world: World,
    web: Listener,
    pub(crate) mail: Listener,
    runtime: Runtime,
    counters: Arc<Counters>,
}

impl Told {
    pub(crate) fn new(rest: &str) -> Self {
        let (web, mail) = (Listener::start(Listener::http), Listener::start(Listener::smtp));
        let notify = format!(
            "[notify]\nwebhook = \"http://{0}/hook\"\nheartbeat = \"http://{0}/beat\"\n\
             mail = {{ to = [\"it@example.com\"], from = \"rosterd@example.com\", smtp = \"smtp://{1}\" }}\n",
            web.address, mail.address
        );
        let config = Config { rest: format!("{rest}{notify}"), ..Config::default() };
        let world = World::with(rosterd::sandbox::Options::default(), config);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { world, web, mail, runtime, counters: Arc::default() }
    }

    /// As a process that has just started does.
    pub(crate) fn teller(&self) -> Notifier {
        let config = self.world.checked();
        Notifier::open(&config.state.home, &config.notify, &self.counters).unwrap().for_jobs(&config.jobs)
    }

    /// Looks at how things are, tells what is new at that moment, and says what arrived: documents and mails.
    pub(crate) fn look(&self, teller: &mut Notifier, snapshot: &Snapshot, now: Timestamp) -> (Vec<Value>, Vec<String>) {
        let _inside = self.runtime.enter();
        self.runtime.block_on(teller.look(snapshot));
        self.runtime.block_on(teller.deliver(now));
        let documents = self.web.heard().into_iter().filter_map(|heard| {
            let (target, body) = heard.split_once('\n').unwrap();
            (target == "POST /hook HTTP/1.1").then(|| serde_json::from_str(body).unwrap())
        });
        (documents.collect(), self.mail.heard())
    }

    /// The same for how things are in the world now.
    fn tell(&self, teller: &mut Notifier) -> (Vec<Value>, Vec<String>) {
        self.look(teller, &self.world.snapshot(), Clock::system().now())
    }
}

const BAD: &str = "Canary00100,,canaryx@example.com,Clerk\n";

#[test]
fn what_is_new_is_notified_once_by_webhook_and_by_mail() {
    let told = Told::new("");
    let mut teller = told.teller();
    told.world.csv(people(1..5));
    told.world.sync().expect(0);
    assert_eq!(told.tell(&mut teller), (vec![], vec![]), "all is well");
    told.world.csv(people(1..5) + BAD);
    told.world.sync().expect(3);
    let (documents, mails) = told.tell(&mut teller);
    assert_eq!((documents.len(), mails.len()), (1, 1));
    let document = &documents[0];
    assert_eq!(
        (&document["version"], &document["event"], &document["job"]),
        (&1.into(), &"partial".into(), &"staff".into())
    );
    assert_eq!(document["rows"][0]["line"], 6, "{document}");
    assert!(document["text"].as_str().unwrap().starts_with("job staff could do only a part\n"), "{document}");
    for text in ["RCPT TO:<it@example.com>", "Subject: rosterd on ", "job staff could do only a part", "line 6: "] {
        assert!(mails[0].contains(text), "{text:?} is missing: {mails:?}");
    }
    told.world.sync().expect(3);
    assert_eq!(told.tell(&mut teller), (vec![], vec![]), "it was told");
    // Another process, the same news.
    assert_eq!(told.tell(&mut told.teller()), (vec![], vec![]), "a restart repeats nothing");
    told.world.csv(people(1..5));
    told.world.sync().expect(0);
    let (documents, mails) = told.tell(&mut told.teller());
    assert_eq!((documents[0]["event"].as_str(), documents.len(), mails.len()), (Some("recovered"), 1, 1));
}

#[test]
fn law_11_notices_name_no_one() {
    let told = Told::new("[job.guard]\nmax_updates = 3\n");
    let canaries =
        |title: &str| people(1..40).replace("P0", "Canary0").replace("Person ", "CanaryName").replace("Clerk", title);
    told.world.csv(canaries("Clerk"));
    told.world.sync().expect(0);
    told.world.csv(canaries("Baker") + BAD);
    told.world.sync().expect(4);
    let (documents, mails) = told.tell(&mut told.teller());
    assert_eq!((documents.len(), mails.len()), (1, 1));
    let text = format!("{documents:?}{mails:?}");
    assert!(!text.to_lowercase().contains("canary"), "{text}");
    let book = told.world.document("notices.json");
    assert!(!book.to_lowercase().contains("canary"), "{book}");
}

/// A run with a bad row, of which neither channel takes a notice.
fn unheard() -> (Told, Snapshot) {
    let told = Told::new("");
    told.world.csv(people(1..5) + BAD);
    told.world.sync().expect(3);
    told.web.refuse(true);
    told.mail.refuse(true);
    let snapshot = told.world.snapshot();
    (told, snapshot)
}

#[test]
fn what_cannot_be_delivered_is_tried_again_across_restarts() {
    let (told, snapshot) = unheard();
    let now = snapshot.at;
    let later = |seconds| now + SignedDuration::from_secs(seconds);
    assert_eq!(told.look(&mut told.teller(), &snapshot, now), (vec![], vec![]));
    told.mail.refuse(false);
    assert_eq!(told.look(&mut told.teller(), &snapshot, later(5)), (vec![], vec![]), "not at once again");
    let mut teller = told.teller();
    assert!(teller.due_in(later(5)).unwrap().as_secs() <= 15);
    let (documents, mails) = told.look(&mut teller, &snapshot, later(60));
    assert_eq!((documents.len(), mails.len()), (0, 1), "one channel does not wait for the other");
    told.web.refuse(false);
    let (documents, mails) = told.look(&mut told.teller(), &snapshot, later(4000));
    assert_eq!((documents.len(), mails.len()), (1, 0));
    let mut teller = told.teller();
    assert_eq!(told.look(&mut teller, &snapshot, later(9000)), (vec![], vec![]));
    assert_eq!(teller.due_in(later(9000)), None);
    let text = metrics(None, &rosterd::api::Traffic::default(), &told.counters);
    for line in [
        "rosterd_notices_total{channel=\"webhook\",outcome=\"failed\"} 2",
        "rosterd_notices_total{channel=\"webhook\",outcome=\"delivered\"} 1",
        "rosterd_notices_total{channel=\"mail\",outcome=\"failed\"} 1",
    ] {
        assert!(text.lines().any(|written| written == line), "{line} is missing: {text}");
    }
}

#[test]
fn a_notice_that_never_arrives_is_given_up_after_a_week() {
    let (told, snapshot) = unheard();
    let now = snapshot.at;
    let mut teller = told.teller();
    told.look(&mut teller, &snapshot, now);
    told.look(&mut teller, &snapshot, now + SignedDuration::from_hours(7 * 24));
    assert_eq!(teller.due_in(now), None);
}

#[test]
fn the_heartbeat_is_called_while_all_is_well_and_only_then() {
    let told = Told::new("");
    let mut teller = told.teller();
    let beats = |teller: &mut Notifier| {
        told.runtime.block_on(teller.look(&told.world.snapshot()));
        told.web.heard().iter().filter(|heard| heard.starts_with("GET /beat ")).count()
    };
    told.world.csv(people(1..5));
    told.world.sync().expect(0);
    assert_eq!(beats(&mut teller), 1);
    told.web.refuse(true);
    assert_eq!(beats(&mut teller), 0);
    let unheard = told.teller().unheard();
    assert!(unheard.len() == 1 && unheard[0].channel == "heartbeat", "it is remembered: {unheard:?}");
    assert!(unheard[0].reason.ends_with("it answered 503") && unheard[0].waiting == 0, "{unheard:?}");
    told.web.refuse(false);
    assert_eq!(beats(&mut teller), 1);
    assert_eq!(teller.unheard(), []);
    told.world.csv("no header of ours\n");
    told.world.sync().expect(1);
    assert_eq!(beats(&mut teller), 0);
    told.world.csv(people(1..5));
    told.world.sync().expect(0);
    assert_eq!(beats(&mut teller), 1);
}

#[test]
fn a_person_who_is_forgotten_leaves_no_trace_in_notices() {
    let told = Told::new("");
    told.world.csv(people(1..5) + BAD);
    told.world.sync().expect(3);
    let _ = told.tell(&mut told.teller());
    let book = || told.world.document("notices.json");
    assert!(!book().contains("\"rejected\":[]"), "{}", book());
    told.world.run(&["forget", "P00001"]).expect(0);
    assert!(book().contains("\"rejected\":[]"), "{}", book());
}

#[test]
fn a_test_goes_over_every_way_and_says_what_came_of_each() {
    let Told { world, web, mail, .. } = Told::new("[status]\nurl = \"https://roster.example.com/\"\n");
    let ran = world.run(&["notify", "test", "--json"]).expect(0).json();
    assert_eq!(ran["sent"].as_array().unwrap().len(), 2, "{ran}");
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let document: Value = serde_json::from_str(web.heard()[0].split_once('\n').unwrap().1).unwrap();
    assert_eq!((&document["event"], &document["host"]), (&"test".into(), &name.as_str().into()), "{document}");
    assert!(document["text"].as_str().unwrap().ends_with("\nhttps://roster.example.com/"), "{document}");
    let mails = mail.heard();
    assert!(mails.len() == 1 && mails[0].contains("https://roster.example.com/"), "{mails:?}");
    web.refuse(true);
    let ran = world.run(&["notify", "test"]).expect(1);
    assert!(ran.out.contains("notify.webhook: wrong: ") && ran.out.contains("notify.mail: ok: "), "{ran:?}");
    let silent = World::new(rosterd::sandbox::Options::default());
    assert!(silent.run(&["notify", "test"]).expect(2).err.contains("no notices are configured"));
}
