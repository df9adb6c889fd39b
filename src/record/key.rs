//! What identifies a record at its source, an entity at the service, and a job in the configuration.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::{SmolStr, ToSmolStr as _};

use super::sensitive::Sensitive;
use super::target::Target;

/// Identifies a record at its source for ever: a staff number, an entryUUID, an objectGUID. Never empty.
///
/// A key may be shown in logs; it is how they name a person (law 11). Written into a text it is marked as what it is
/// ([`Sensitive`]), so that it can be left out where no person may be named; [`Key::as_str`] is the bare key.
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

    /// Whether it is a UUID, as a directory gives one to each entry: it means the same person in every job.
    pub fn is_universal(&self) -> bool {
        const DASHES: [usize; 4] = [8, 13, 18, 23];
        let is_right = |(at, byte): (usize, u8)| match DASHES.contains(&at) {
            true => byte == b'-',
            false => byte.is_ascii_hexdigit(),
        };
        self.0.len() == 36 && self.0.bytes().enumerate().all(is_right)
    }

    /// The separator between the two keys of a membership.
    const SEPARATOR: &'static str = " @ ";

    /// The key of what joins two others, which no other two have: an `@` behind a space in the first one gets a backslash, so
    /// that the first ` @ ` is the one between them.
    pub fn joined(member: &Self, organization: &Self) -> Self {
        Self((member.membership_head() + organization.as_str()).into())
    }

    /// What the keys of this member's memberships begin with, and those of no one else's.
    pub fn membership_head(&self) -> String {
        let mut text = String::with_capacity(self.0.len() + Self::SEPARATOR.len());
        for c in self.0.chars() {
            if c == '@' && may_be_apart(&text) {
                text.push('\\');
            }
            text.push(c);
        }
        text + Self::SEPARATOR
    }

    /// The two keys that this one joins, where it is that of a membership; nothing in it tells whether it is.
    pub fn split_membership(&self) -> Option<(Self, Self)> {
        let (member, organization) = self.0.split_once(Self::SEPARATOR)?;
        let mut text = String::with_capacity(member.len());
        for c in member.chars() {
            if c == '@' && text.ends_with('\\') && may_be_apart(&text) {
                text.pop();
            }
            text.push(c);
        }
        Self::new(&text).zip(Self::new(organization))
    }

    /// The key of the member, where it is that of a membership.
    pub fn member(&self) -> Option<Self> {
        self.split_membership().map(|(member, _)| member)
    }

    /// Whether this record of `job` is that of `person`, or a membership of theirs.
    pub fn is_about(&self, job: &JobName, person: &Self) -> bool {
        match job.part_of() {
            Some(Target::Membership) => self.member().is_some_and(|member| member == *person),
            _ => self == person,
        }
    }

    /// The key of someone who is gone from `job`, whose keys are made of something else by now: no row has it.
    pub fn retired(&self, job: &JobName) -> Self {
        let retired = |key: &Self| Self(format!("{} (earlier key)", key.as_str()).into());
        match self.split_membership().filter(|_| job.part_of() == Some(Target::Membership)) {
            Some((member, organization)) => Self::joined(&retired(&member), &organization),
            None => retired(self),
        }
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether an `@` behind this text would look like one between two keys: behind a space, and backslashes if any.
fn may_be_apart(before: &str) -> bool {
    before.trim_end_matches('\\').ends_with(' ')
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Sensitive(&self.0).fmt(f)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// The name of a job in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobName(String);

impl JobName {
    /// The longest name, in characters.
    pub const LENGTH_MAX: usize = 64;

    /// The separator between the name of a job and that of a part of it.
    pub const SEPARATOR: char = '/';

    /// Makes a name of 1 to 64 ASCII letters, digits, `-`, `_` and `.`, beginning with a letter or digit; that of a part is
    /// followed by what the part manages.
    pub fn new(text: &str) -> Option<Self> {
        let whole = match text.split_once(Self::SEPARATOR) {
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
        Self(format!("{}{}{target}", self.root().0, Self::SEPARATOR))
    }

    /// The job's own name, whichever part this is.
    pub fn root(&self) -> Self {
        Self(self.0.split(Self::SEPARATOR).next().unwrap_or_default().to_owned())
    }

    /// What the part manages, where this names a part of a job.
    pub fn part_of(&self) -> Option<Target> {
        let (_, part) = self.0.split_once(Self::SEPARATOR)?;
        Target::ALL.iter().copied().find(|target| target.name() == part)
    }

    /// Whether it names a part of a job.
    pub fn is_part(&self) -> bool {
        self.0.contains(Self::SEPARATOR)
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

    /// Keys with every separator that is used somewhere between two keys, or between a key and another text.
    const ODD: [&str; 23] = [
        "Z1",
        "Z1 @ Q",
        "Z1 @ Q @ R",
        "Z1 \\@ Q",
        "Z1 \\\\@ Q",
        "Z1 @",
        "@ Q",
        "@",
        "Z1 @ @ Q",
        "Z1@Q",
        "Z1 @Q",
        "Z1@ Q",
        "Z1\\",
        "Z1 \\",
        "DOMAIN\\Z1",
        "Z1/Q",
        "Z1/membership",
        "membership Z1",
        "Z1:Q",
        "Z1|Q",
        "Z1, Q",
        "Z1  Q",
        "key Z1 \"é\"",
    ];

    #[test]
    fn two_keys_are_joined_as_no_others_are_and_come_apart_again() {
        let keys: Vec<Key> = ODD.iter().map(|text| Key::new(text).unwrap()).collect();
        let memberships = JobName::new("sites").unwrap().part(Target::Membership);
        let mut all = std::collections::BTreeSet::new();
        for member in &keys {
            for organization in &keys {
                let pair = Key::joined(member, organization);
                assert_eq!(pair.split_membership(), Some((member.clone(), organization.clone())), "{pair:?}");
                let heads = keys.iter().filter(|key| pair.as_str().starts_with(&key.membership_head()));
                assert!(heads.eq([member]), "{pair:?}");
                assert_eq!(Key::new(pair.as_str()), Some(pair.clone()), "it stays as it is when it is read back");
                for person in &keys {
                    assert_eq!(pair.is_about(&memberships, person), person == member, "{pair:?} {person:?}");
                }
                assert!(all.insert(pair), "{member:?} {organization:?}");
            }
        }
        let key = |text: &str| Key::new(text).unwrap();
        assert_eq!(Key::joined(&key("a@b.c"), &key("Acme @ Quay")).as_str(), "a@b.c @ Acme @ Quay");
        assert_eq!(Key::joined(&key("Z1 @ Q"), &key("Acme")).as_str(), "Z1 \\@ Q @ Acme");
        assert_eq!(key("0042").split_membership(), None);
    }

    #[test]
    fn a_record_is_about_its_person_and_a_membership_about_its_member() {
        let keys: Vec<Key> = ODD.iter().map(|text| Key::new(text).unwrap()).collect();
        let job = JobName::new("sites").unwrap();
        for own in &keys {
            for person in &keys {
                assert_eq!(own.is_about(&job, person), own == person, "{own:?} {person:?}");
                let is_member = own.split_membership().is_some_and(|(member, _)| member == *person);
                assert_eq!(own.is_about(&job.part(Target::Membership), person), is_member, "{own:?} {person:?}");
            }
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
        assert_eq!((part.as_str(), part.root().as_str(), part.is_part()), ("a/membership", "a", true));
    }
}
