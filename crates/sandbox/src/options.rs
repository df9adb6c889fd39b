//! The options of a sandbox.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;

use crate::clock::Clock;
use crate::credential::Restriction;
use crate::error::Error;
use crate::fault::Fault;
use crate::operation;

/// How a sandbox behaves. [`Options::default`] listens on a free loopback port and follows the specification.
#[derive(Clone)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The folder that keeps the entities across restarts; without one they are in memory only.
    pub data: Option<PathBuf>,
    /// How many people to make up, where there are none yet.
    pub seed_staff: u32,
    /// How many contractor members to make up, where there are none yet, with something in every other list.
    pub seed_contractors: u32,
    /// Requests allowed per minute and credential (specification, Limits); 0 for no limit.
    pub rate: u32,
    /// How a minute is counted.
    pub window: Window,
    /// What goes wrong on purpose.
    pub faults: Vec<Fault>,
    /// How long every answer is kept back.
    pub delay: Duration,
    /// The service's time is read here,
    pub clock: Clock,
    /// and lies so far ahead of it.
    pub clock_offset: SignedDuration,
    /// The most entities that a list answers with; a larger `limit` is clamped to it. Lists without `order` in their row
    /// can't be walked and are always whole.
    pub page_max: u32,
    /// Whether a list without hits is 404 instead of 200 with `[]`.
    pub empty_as_404: bool,
    /// Whether a second entity of the same kind (a person with the same email or employee id, say) is accepted instead
    /// of 409.
    pub accept_duplicates: bool,
    /// Whether a PUT that would answer 200 with the entity answers 204 without a body.
    pub put_without_body: bool,
    /// Whether phone numbers, emails and outer spaces are rewritten when they come in.
    pub normalize: bool,
    /// Whether `globalroaming_locations` is in answers, as a list of id and name.
    pub show_roaming: bool,
    /// Whether the account has the add-on for assets at first; without it they are forbidden.
    pub assets: bool,
    /// Whether a movement counts as a change of the person, whose `modified` it moves then.
    pub movement_touches_person: bool,
    /// How long a bearer token is good.
    pub token_lifetime: Duration,
    /// The API key.
    pub api_key: String,
    /// What the API key is restricted to.
    pub api_key_restrictions: Vec<Restriction>,
    /// What the API key may do besides; everything where there are neither restrictions nor scopes.
    pub api_key_scopes: Vec<String>,
    /// The OAuth client's id.
    pub client_id: String,
    /// The OAuth client's secret.
    pub client_secret: String,
    /// The OAuth client's scopes.
    pub scopes: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            data: None,
            seed_staff: 0,
            seed_contractors: 0,
            rate: 100,
            window: Window::Sliding,
            faults: Vec::new(),
            delay: Duration::ZERO,
            clock: Clock::system(),
            clock_offset: SignedDuration::ZERO,
            page_max: 5000,
            empty_as_404: false,
            accept_duplicates: false,
            put_without_body: false,
            normalize: false,
            show_roaming: false,
            assets: true,
            movement_touches_person: false,
            token_lifetime: Duration::from_secs(3600),
            api_key: "sandbox-key".to_owned(),
            api_key_restrictions: Vec::new(),
            api_key_scopes: Vec::new(),
            client_id: "sandbox-client".to_owned(),
            client_secret: "sandbox-secret".to_owned(),
            scopes: operation::scopes(),
        }
    }
}

/// Leaves the credentials out (law 11).
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("listen", &self.listen)
            .field("data", &self.data)
            .field("seed_staff", &self.seed_staff)
            .field("rate", &self.rate)
            .field("window", &self.window)
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}

/// How the rate limit counts a minute; the specification doesn't say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// Any 60 seconds.
    #[default]
    Sliding,
    /// Minutes that follow one another from the start of the sandbox.
    Fixed,
}

impl FromStr for Window {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "sliding" => Ok(Self::Sliding),
            "fixed" => Ok(Self::Fixed),
            _ => Err(Error::Window(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_11_debug_shows_no_credential() {
        let shown = format!("{:?}", Options::default());
        assert!(!shown.contains("sandbox-"), "{shown}");
    }

    #[test]
    fn a_window_is_named() {
        assert_eq!("sliding".parse::<Window>().unwrap(), Window::Sliding);
        assert_eq!("fixed".parse::<Window>().unwrap(), Window::Fixed);
        assert!("rolling".parse::<Window>().is_err());
    }
}
