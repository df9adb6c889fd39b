//! A real OpenLDAP server of a test's own, on free ports of this machine. It ends with the test.

use crate::support::ports::free_port;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::authority;
use super::daemon::PATIENCE;

pub(crate) const SUFFIX: &str = "dc=example,dc=org";
pub(crate) const PEOPLE: &str = "ou=people,dc=example,dc=org";
/// May read everything, without limits.
pub(crate) const READER: &str = "cn=reader,dc=example,dc=org";
/// May read everything, with the server's usual limits.
pub(crate) const PLAIN: &str = "cn=plain,dc=example,dc=org";
/// Is cut off after 500 entries, paged or not.
pub(crate) const LIMITED: &str = "cn=limited,dc=example,dc=org";
/// May see no telephone numbers.
pub(crate) const SHY: &str = "cn=shy,dc=example,dc=org";
/// May ask for pages of 100 at most.
pub(crate) const NARROW: &str = "cn=narrow,dc=example,dc=org";

/// Each of them has their own name as password.
const ACCOUNTS: [&str; 5] = ["reader", "plain", "limited", "shy", "narrow"];

/// Whether this machine has what a real server takes. On a machine that tests changes, it must.
pub(crate) fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| {
        let there = ["slapd", "slapadd", "ldapsearch", "ldapmodify"].iter().all(|name| tool(name).is_some());
        let must = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(there || !must, "slapd and ldap-utils are missing, and nothing may be left out here");
        if !there {
            let _ = writeln!(std::io::stderr(), "left out: slapd and ldap-utils are missing; tests/run installs them");
        }
        there
    })
}

/// Where a program is.
pub(crate) fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin", "/usr/bin"].map(PathBuf::from));
    dirs.map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// A server.
pub(crate) struct Slapd {
    dir: TempDir,
    port: u16,
    tls_port: u16,
    child: Option<Child>,
}

impl Slapd {
    /// A server with these entries besides its accounts, as LDIF.
    pub(crate) fn start(ldif: &str) -> Self {
        Self::with("", ldif)
    }

    /// The same with further lines in its configuration.
    pub(crate) fn with(lines: &str, ldif: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let (port, tls_port) = (free_port(), free_port());
        let mut slapd = Self { dir, port, tls_port, child: None };
        fs::create_dir_all(slapd.path("db")).unwrap();
        authority::certificates(slapd.dir.path(), "DNS:localhost,IP:127.0.0.1,IP:::1");
        fs::write(slapd.path("slapd.conf"), slapd.configuration(lines)).unwrap();
        fs::write(slapd.path("data.ldif"), format!("{}{ldif}", accounts())).unwrap();
        let added = Command::new(tool("slapadd").unwrap())
            .args(["-q", "-w", "-f"])
            .arg(slapd.path("slapd.conf"))
            .arg("-l")
            .arg(slapd.path("data.ldif"))
            .output()
            .unwrap();
        assert!(added.status.success(), "{added:?}");
        slapd.run();
        slapd
    }

    fn configuration(&self, lines: &str) -> String {
        let dir = self.dir.path().display();
        format!(
            "include /etc/ldap/schema/core.schema\ninclude /etc/ldap/schema/cosine.schema\n\
             include /etc/ldap/schema/inetorgperson.schema\nmodulepath /usr/lib/ldap\nmoduleload back_mdb\n\
             moduleload syncprov\npidfile {dir}/slapd.pid\nTLSCACertificateFile {dir}/ca.pem\n\
             TLSCertificateFile {dir}/srv.pem\nTLSCertificateKeyFile {dir}/srv.key\n{lines}\ndatabase mdb\n\
             suffix \"{SUFFIX}\"\nrootdn \"cn=admin,{SUFFIX}\"\nrootpw secret\nmaxsize 1073741824\ndirectory {dir}/db\n\
             index objectClass,uid,entryUUID,entryCSN eq\n\
             limits dn.exact=\"{READER}\" size.soft=unlimited size.hard=unlimited time=unlimited\n\
             limits dn.exact=\"{LIMITED}\" size.soft=500 size.hard=500 size.prtotal=500\n\
             limits dn.exact=\"{NARROW}\" size.soft=unlimited size.hard=unlimited size.pr=100\n\
             limits dn.exact=\"{PLAIN}\" size.prtotal=unlimited\n\
             access to attrs=userPassword by anonymous auth by * none\n\
             access to attrs=telephoneNumber by dn.exact=\"{SHY}\" none by users read by * none\n\
             access to * by users read by anonymous read\noverlay syncprov\nsyncprov-checkpoint 100 10\n"
        )
    }

    /// Starts it again where it stood.
    pub(crate) fn run(&mut self) {
        let url = format!("ldap://127.0.0.1:{0} ldaps://127.0.0.1:{1} ldaps://[::1]:{1}", self.port, self.tls_port);
        let begin = || {
            let mut slapd = Command::new(tool("slapd").unwrap());
            slapd.args(["-d", "0", "-h", &url, "-f"]).arg(self.path("slapd.conf"));
            slapd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let mut child = begin();
        let begun = Instant::now();
        while !self.answers() {
            assert!(begun.elapsed() < PATIENCE, "slapd does not answer, or ends at once");
            // Another process may have one of its ports for a moment.
            if child.try_wait().unwrap().is_some() {
                child = begin();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child = Some(child);
    }

    fn answers(&self) -> bool {
        let search = Command::new(tool("ldapsearch").unwrap())
            .args(["-x", "-o", "nettimeout=1", "-H", &self.url(), "-D", READER, "-w", "reader", "-s", "base", "-b", ""])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        search.unwrap().success()
    }

    /// Ends it in good order.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let pid = rustix::process::Pid::from_child(&child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            let _ = child.wait();
        }
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Its address in the clear.
    pub(crate) fn url(&self) -> String {
        format!("ldap://127.0.0.1:{}", self.port)
    }

    /// Its address with TLS.
    pub(crate) fn tls_url(&self) -> String {
        format!("ldaps://127.0.0.1:{}", self.tls_port)
    }

    /// The same by another name of this machine.
    pub(crate) fn tls_url_of(&self, host: &str) -> String {
        format!("ldaps://{host}:{}", self.tls_port)
    }

    /// The certificate of its authority.
    pub(crate) fn ca_file(&self) -> PathBuf {
        self.path("ca.pem")
    }

    /// Changes entries, as LDIF with `changetype`.
    pub(crate) fn change(&self, ldif: &str) {
        let file = self.path("change.ldif");
        fs::write(&file, ldif).unwrap();
        let changed = Command::new(tool("ldapmodify").unwrap())
            .args(["-x", "-H", &self.url(), "-D", &format!("cn=admin,{SUFFIX}"), "-w", "secret", "-f"])
            .arg(&file)
            .output()
            .unwrap();
        assert!(changed.status.success(), "{changed:?}");
    }

    /// The `[job.source]` lines that read it as an account.
    pub(crate) fn source(&self, account: &str) -> String {
        let name = account.split(['=', ',']).nth(1).unwrap();
        source(&[self.url()], &format!("bind_dn = \"{account}\"\nbind_password = \"{name}\"\n"))
    }
}

impl Drop for Slapd {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Lines of `[job.source]` for servers, with further ones.
pub(crate) fn source(urls: &[String], lines: &str) -> String {
    format!("type = \"ldap\"\nurl = {urls:?}\nbase = \"{PEOPLE}\"\nfilter = \"(objectClass=inetOrgPerson)\"\n{lines}")
}

fn accounts() -> String {
    let mut ldif = format!(
        "dn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n\
         dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: people\n\n"
    );
    for name in ACCOUNTS {
        write!(
            ldif,
            "dn: cn={name},{SUFFIX}\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\ncn: {name}\n\
             userPassword: {name}\n\n"
        )
        .unwrap();
    }
    ldif
}

/// One person as LDIF, with further lines.
pub(crate) fn person(number: usize, lines: &str) -> String {
    format!(
        "dn: uid=u{number:06},{PEOPLE}\nobjectClass: inetOrgPerson\nuid: u{number:06}\ncn: Person {number}\nsn: Surname\n\
         givenName: Person\nmail: person{number}@example.com\nemployeeNumber: P{number:05}\ntitle: Clerk\n\
         telephoneNumber: +64 9 {number:07}\n{lines}\n"
    )
}

/// So many people from `first` on.
pub(crate) fn people(numbers: std::ops::Range<usize>) -> String {
    numbers.map(|number| person(number, "")).collect()
}
