//! The configuration as it is written: plain texts and numbers, nothing checked but their shape.
//!
//! None of these has `Debug`: they hold secrets.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use smol_str::SmolStr;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    pub(super) api: RawApi,
    pub(super) state: RawState,
    pub(super) control: RawControl,
    pub(super) status: RawStatus,
    pub(super) notify: RawNotify,
    pub(super) retention: RawRetention,
    pub(super) job: Vec<RawJob>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawApi {
    pub(super) base_url: Option<String>,
    pub(super) auth_url: Option<String>,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<String>,
    pub(super) client_secret_file: Option<String>,
    pub(super) api_key: Option<String>,
    pub(super) api_key_file: Option<String>,
    pub(super) api_key_scheme: Option<String>,
    #[serde(deserialize_with = "list_or_text")]
    pub(super) scopes: Vec<String>,
    pub(super) requests_per_minute: Option<i64>,
    pub(super) timeout: Option<String>,
    pub(super) page_size: Option<i64>,
    pub(super) ca_file: Option<String>,
    pub(super) proxy: Option<String>,
    pub(super) bulk_path: Option<String>,
    pub(super) issue_path: Option<String>,
    pub(super) org_groups_path: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawState {
    pub(super) dir: Option<String>,
    pub(super) full_pull: Option<String>,
    pub(super) user: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawControl {
    pub(super) socket: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawStatus {
    pub(super) listen: Option<String>,
    pub(super) url: Option<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub(super) hosts: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawNotify {
    pub(super) webhook: Option<String>,
    pub(super) mail: Option<RawMail>,
    pub(super) heartbeat: Option<String>,
    pub(super) ca_file: Option<String>,
    pub(super) proxy: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawMail {
    #[serde(deserialize_with = "one_or_more")]
    pub(super) to: Vec<String>,
    pub(super) from: Option<String>,
    pub(super) smtp: Option<String>,
    pub(super) start_tls: Option<bool>,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) password_file: Option<String>,
}

impl RawMail {
    /// An empty table turns mail off.
    pub(super) fn is_empty(&self) -> bool {
        let given = [&self.from, &self.smtp, &self.user, &self.password, &self.password_file];
        self.to.is_empty() && self.start_tls.is_none() && given.iter().all(|given| given.is_none())
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawRetention {
    pub(super) processed: Option<String>,
    pub(super) before_images: Option<String>,
    pub(super) runs: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawJob {
    pub(super) name: Option<String>,
    pub(super) target: Option<String>,
    pub(super) schedule: Option<String>,
    pub(super) time_zone: Option<String>,
    pub(super) key: Option<String>,
    pub(super) org_key: Option<String>,
    pub(super) match_on: Option<Vec<SmolStr>>,
    pub(super) include: Option<String>,
    pub(super) writes: Option<String>,
    pub(super) seed_only: Vec<SmolStr>,
    pub(super) on_drift: Option<String>,
    pub(super) on_bad_value: Option<String>,
    pub(super) protect: Vec<String>,
    pub(super) active_from: Option<String>,
    pub(super) active_until: Option<String>,
    pub(super) prefer: Option<String>,
    pub(super) values: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) source: RawSource,
    pub(super) map: BTreeMap<String, String>,
    pub(super) leavers: RawLeavers,
    pub(super) guard: RawGuard,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawSource {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) path: Option<String>,
    pub(super) pattern: Option<String>,
    pub(super) order: Option<String>,
    pub(super) expect_every: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) settle: Option<String>,
    pub(super) final_newline: Option<bool>,
    pub(super) size_max: Option<String>,
    pub(super) encoding: Option<String>,
    pub(super) delimiter: Option<String>,
    pub(super) header: Option<Scalar>,
    pub(super) optional: Vec<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub(super) url: Vec<String>,
    pub(super) start_tls: Option<bool>,
    pub(super) ca_file: Option<String>,
    pub(super) tls_verify: Option<bool>,
    pub(super) bind_dn: Option<String>,
    pub(super) bind_password: Option<String>,
    pub(super) bind_password_file: Option<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub(super) base: Vec<String>,
    pub(super) scope: Option<String>,
    pub(super) filter: Option<String>,
    pub(super) page_size: Option<i64>,
    pub(super) timeout: Option<String>,
    pub(super) total_timeout: Option<String>,
    pub(super) ignore_referrals: Vec<String>,
    pub(super) binary: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawLeavers {
    pub(super) action: Option<String>,
    pub(super) grace: Option<String>,
    pub(super) grace_reads: Option<i64>,
    pub(super) set: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawGuard {
    pub(super) max_leavers: Option<Scalar>,
    pub(super) max_updates: Option<Scalar>,
    pub(super) max_blanked: Option<Scalar>,
    pub(super) max_creates: Option<Scalar>,
    pub(super) max_missing: Option<Scalar>,
    pub(super) min_records: Option<i64>,
    pub(super) segment: Option<String>,
}

/// A text or a whole number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Text(String),
    Number(i64),
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl Visitor<'_> for Either {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a whole number")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(text.to_owned()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar::Number(number))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// Reads a list, or, as the environment has no lists, a text with spaces or commas between the entries.
fn list_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let split = |text: &str| text.split([' ', ',']).filter(|entry| !entry.is_empty()).map(str::to_owned).collect();
    deserializer.deserialize_any(Either { split })
}

/// Reads a list, or a text as the only entry of one.
fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    deserializer.deserialize_any(Either { split: |text: &str| vec![text.to_owned()] })
}

/// Takes a list, or a text that `split` makes one of.
struct Either<F> {
    split: F,
}

impl<'de, F: Fn(&str) -> Vec<String>> Visitor<'de> for Either<F> {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of texts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<String>, E> {
        Ok((self.split)(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<String>, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element()? {
            list.push(entry);
        }
        Ok(list)
    }
}
