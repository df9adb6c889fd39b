//! Attributes that come in parts: `member;range=0-1499` (Active Directory, [MS-ADTS] 3.1.1.3.1.3.3).

/// A part of an attribute's values.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ValueRange {
    /// The attribute with its other options.
    pub(super) name: String,
    /// The number of the next value; `None` where this part is the last.
    pub(super) next: Option<u64>,
}

/// Reads the option `range` of an attribute's name; `None` where it has none, or one that says nothing.
pub(super) fn part(name: &str) -> Option<ValueRange> {
    // Most attributes have no options at all.
    if !name.contains(';') {
        return None;
    }
    let is_range = |option: &str| option.get(..6).is_some_and(|head| head.eq_ignore_ascii_case("range="));
    let range = name.split(';').skip(1).find(|option| is_range(option))?;
    let rest: Vec<&str> = name.split(';').filter(|option| !is_range(option)).collect();
    let (_, last) = range[6..].split_once('-')?;
    let next = match last {
        "*" => None,
        last => Some(last.parse::<u64>().ok()?.checked_add(1)?),
    };
    Some(ValueRange { name: rest.join(";"), next })
}

/// The name under which the values from one on are asked for.
pub(super) fn asked(name: &str, next: u64) -> String {
    format!("{name};range={next}-*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_76_a_part_says_where_the_next_begins() {
        for (name, found) in [
            ("member;range=0-1499", Some(("member", Some(1500)))),
            ("member;range=1500-*", Some(("member", None))),
            ("Member;RANGE=0-9", Some(("Member", Some(10)))),
            ("cn;lang-de;range=0-9", Some(("cn;lang-de", Some(10)))),
            ("member", None),
            ("cn;lang-de", None),
            ("member;range=x", None),
            ("member;range=0-18446744073709551615", None),
        ] {
            let part = part(name);
            assert_eq!(part.as_ref().map(|part| (part.name.as_str(), part.next)), found, "{name}");
        }
        assert_eq!(asked("member", 1500), "member;range=1500-*");
    }
}
