//! Decisions in the browser: who logs in how, and who may do what.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use reqwest::Url;

use crate::record::JobName;
use crate::secret::SecretSource;

/// The pages on which people decide.
#[derive(Clone, Debug)]
pub struct Approvals {
    /// Where people see them: scheme, host and port.
    pub url: Url,
    /// How people log in, and where the pages answer.
    pub login: Login,
    /// Who may do what; no one without a rule.
    pub rules: Vec<Rule>,
    /// More leavers than these at once are approved only soon after a login.
    pub fresh_login_leavers: u64,
    /// How many people must approve before anything is released: one or two.
    pub people: u8,
}

impl Approvals {
    /// Where the pages answer by default.
    pub const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9465);
    /// The default of `fresh_login_leavers`.
    pub const FRESH_LOGIN_LEAVERS: u64 = 10;

    /// The page of what a job holds.
    pub fn page_of(&self, job: &JobName) -> String {
        format!("{}held/{}", self.url, job.root())
    }

    /// Where the provider sends people back to.
    pub fn callback(&self) -> String {
        format!("{}callback", self.url)
    }
}

/// How people log in.
#[derive(Clone, Debug)]
pub enum Login {
    /// At a provider of OpenID Connect.
    Provider(Provider),
    /// At a proxy on this machine, which says who they are.
    Proxy(Proxy),
}

/// A provider of OpenID Connect.
#[derive(Clone, Debug)]
pub struct Provider {
    /// Where the pages answer: an address of this machine itself.
    pub listen: SocketAddr,
    /// Its name, and where its description lies; compared to the letter.
    pub issuer: String,
    /// Who asks.
    pub client_id: String,
    /// What proves it.
    pub secret: SecretSource,
    /// The claim that names a user in the rules.
    pub user_claim: String,
    /// The claim that lists groups.
    pub groups_claim: String,
    /// What is asked for besides `openid`.
    pub scopes: Vec<String>,
    /// Certificates of authorities that are trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// The proxy to the provider.
    pub proxy: Option<String>,
}

impl Provider {
    /// The claim that names a user, by default: an address that the provider has verified.
    pub const USER_CLAIM: &'static str = "email";
    /// The claim that lists groups, by default.
    pub const GROUPS_CLAIM: &'static str = "groups";
    /// What is asked for by default.
    pub const SCOPES: [&'static str; 2] = ["profile", "email"];
}

/// A proxy that logs people in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// The socket on which the pages answer.
    pub socket: PathBuf,
    /// The account of the proxy's processes; no other is answered.
    pub account: String,
    /// The header that names the user.
    pub user_header: String,
    /// The header that lists groups, with commas between them.
    pub groups_header: Option<String>,
}

/// What a group or a user may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Who it is about.
    pub who: Who,
    /// Which jobs it is about; `None` for all of them.
    pub jobs: Option<BTreeSet<JobName>>,
    /// What they may do.
    pub may: BTreeSet<Right>,
}

/// Who a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// The members of a group.
    Group(String),
    /// One user.
    User(String),
}

/// What may be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// To see what is held.
    See,
    /// To release it; who may do that sees it too.
    Approve,
    /// To drop it, likewise.
    Reject,
    /// To pause the job and let it go on.
    Pause,
}
