//! Suggests the known name that an unknown one probably means.

/// Finds the known name nearest to `unknown`; `None` where no one is near enough to be worth naming.
///
/// Case and the difference between `-` and `_` don't count; otherwise one slip in three characters is forgiven.
pub fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let wanted = folded(unknown);
    known
        .map(|name| (strsim::osa_distance(&wanted, &folded(name)), name))
        .filter(|(distance, name)| *distance <= slips_allowed(wanted.chars().count().max(name.chars().count())))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name.to_owned())
}

fn folded(name: &str) -> String {
    name.to_lowercase().replace(['-', ' '], "_")
}

fn slips_allowed(length: usize) -> usize {
    (length / 3).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_forgiven_and_a_stranger_is_not() {
        let known = ["max_leavers", "max_updates", "min_records", "key", "base_url"];
        for (unknown, expected) in [
            ("max_leaver", Some("max_leavers")),
            ("max-updates", Some("max_updates")),
            ("Base_URL", Some("base_url")),
            ("keys", Some("key")),
            ("photograph", None),
            ("", None),
        ] {
            assert_eq!(nearest(unknown, known.into_iter()).as_deref(), expected, "{unknown}");
        }
    }

    #[test]
    fn nothing_known_gives_nothing() {
        assert_eq!(nearest("key", std::iter::empty()), None);
    }
}
