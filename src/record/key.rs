//! What identifies a record at its source, an entity at the service, and a job in the configuration.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::{SmolStr, ToSmolStr as _};

use super::private::Private;
use super::target::Target;

/// Identifies a record at its source for ever: a staff number, an entryUUID, an objectGUID. Never empty.
///
/// A key may be shown in logs; it is how they name a person (law 11). Written into a text it is marked as what it is
/// ([`Private`]), so that it can be left out where nobody is to be named; [`Key::as_str`] is the bare key.
///
/// Up to 23 bytes lie in the key itself, which takes 24; a copy of a longer one shares its text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(SmolStr);

impl Key {
    /// Makes a key of `text` without its outer white space; `None` where nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_smolstr()))
    }

    /// What stands between the two keys of a membership.
    pub const APART: &'static str = " @ ";

    /// The two keys that the key of a membership is made of, without their outer white space; `None` where one is empty.
    pub fn halves(text: &str) -> Option<(Self, Self)> {
        let (member, organization) = text.split_once(Self::APART)?;
        Self::new(member).zip(Self::new(organization))
    }

    /// The key of what joins two others.
    pub fn joined(member: &Self, organization: &Self) -> Self {
        Self([member.as_str(), Self::APART, organization.as_str()].concat().into())
    }

    /// Whether this record of `job` is that of `person`, or a membership of theirs.
    pub fn is_about(&self, job: &JobName, person: &Self) -> bool {
        let member = || Self::halves(self.as_str()).is_some_and(|(member, _)| member == *person);
        self == person || (job.part_of() == Some(Target::Membership) && member())
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Private(&self.0).fmt(f)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Identifies an entity at the service: a positive int32 (specification, Conventions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RemoteId(i32);

impl RemoteId {
    /// Makes an id of a number that fits int32 and is above zero (0 means "none" in places).
    pub fn new(number: i64) -> Option<Self> {
        i32::try_from(number).ok().filter(|id| *id > 0).map(Self)
    }

    /// The id as a number.
    pub fn get(self) -> i32 {
        self.0
    }
}

impl fmt::Display for RemoteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The name of a job in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobName(String);

impl JobName {
    /// The longest name, in characters.
    pub const LENGTH_MAX: usize = 64;

    /// What stands between the name of a job and that of a part of it.
    pub const APART: char = '/';

    /// Makes a name of 1 to 64 ASCII letters, digits, `-`, `_` and `.`, beginning with a letter or digit; that of a part is
    /// followed by what the part manages.
    pub fn new(text: &str) -> Option<Self> {
        let whole = match text.split_once(Self::APART) {
            Some((whole, part)) => Target::ALL.iter().any(|target| target.name() == part).then_some(whole)?,
            None => text,
        };
        Self::fits(whole).then(|| Self(text.to_owned()))
    }

    fn fits(text: &str) -> bool {
        text.len() <= Self::LENGTH_MAX
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    }

    /// The name of the part of this job that manages `target`, in whose name its state is kept.
    pub fn part(&self, target: Target) -> Self {
        Self(format!("{}{}{target}", self.whole().0, Self::APART))
    }

    /// The job's own name, whichever part this is.
    pub fn whole(&self) -> Self {
        Self(self.0.split(Self::APART).next().unwrap_or_default().to_owned())
    }

    /// What the part manages, where this names a part of a job.
    pub fn part_of(&self) -> Option<Target> {
        let (_, part) = self.0.split_once(Self::APART)?;
        Target::ALL.iter().copied().find(|target| target.name() == part)
    }

    /// Whether it names a part of a job.
    pub fn is_part(&self) -> bool {
        self.0.contains(Self::APART)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_empty_and_never_padded() {
        assert_eq!(Key::new("  \t"), None);
        assert_eq!(Key::new(" 0042 ").unwrap().as_str(), "0042");
    }

    #[test]
    fn a_membership_is_about_its_member() {
        let key = |text: &str| Key::new(text).unwrap();
        let pair = Key::joined(&key("0042"), &key("Acme @ Quay"));
        assert_eq!(Key::halves(" 0042  @  Acme @ Quay"), Some((key("0042"), key("Acme @ Quay"))));
        for text in ["0042", " @ Acme", "0042 @ ", "0042 @"] {
            assert_eq!(Key::halves(text), None, "{text}");
        }
        let job = JobName::new("sites").unwrap();
        assert!(pair.is_about(&job.part(Target::Membership), &key("0042")));
        assert!(!pair.is_about(&job, &key("0042")) && !pair.is_about(&job.part(Target::Membership), &key("004")));
        assert!(key("0042").is_about(&job, &key("0042")));
    }

    #[test]
    fn an_id_is_a_positive_int32() {
        for (number, fits) in [(1, true), (0, false), (-4, false), (i64::from(i32::MAX), true), (1 << 31, false)] {
            assert_eq!(RemoteId::new(number).is_some(), fits, "{number}");
        }
    }

    #[test]
    fn a_job_name_is_fit_for_a_file_name() {
        for (text, fits) in [
            ("employees", true),
            ("", false),
            ("a/b", false),
            ("-x", false),
            (".hid", false),
            ("a.b-c_1", true),
            ("a/membership", true),
            ("a/x", false),
            ("/membership", false),
        ] {
            assert_eq!(JobName::new(text).is_some(), fits, "{text}");
        }
        let part = JobName::new("a").unwrap().part(Target::Membership);
        assert_eq!((part.as_str(), part.whole().as_str(), part.is_part()), ("a/membership", "a", true));
    }
}
