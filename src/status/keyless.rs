//! Reasons without keys.

/// What a key is put in place by.
const HIDDEN: &str = "…";

/// What comes before a key in a reason.
const BEFORE: &[&str] = &["of key ", "to key ", "as key ", "whose key ", ": key "];

/// What may follow a key in a reason, as it was written.
const AFTER: &[&str] = &[
    " of job ",
    " both fit ",
    " have the same ",
    ", who is in the source too",
    " is gone from the source",
    ", and leaves here once",
];

/// What comes before keys that are not called so: the note on edits at the service names them in brackets.
const DRIFT: (&str, &str) = (" edited at the service (", "), which stays until");

/// A pause says since when, and then who asked for it, which is a user's name.
const PAUSES: &[&str] = &["paused since ", "stopped since "];

/// A reason as it may stand where nobody is to be named (law 11): what follows is cut out from where it names a key to where
/// words of this program go on. Rather too much is cut than too little.
pub fn keyless(reason: &str) -> String {
    if let Some((before, rest)) = reason.split_once(" by ")
        && PAUSES.iter().any(|word| before.contains(word))
        && let Some(end) = rest.find([';', ':'])
    {
        return format!("{before}{}", &rest[end..]);
    }
    if let Some((before, rest)) = reason.split_once(DRIFT.0)
        && let Some((_, after)) = rest.rsplit_once(DRIFT.1)
    {
        return format!("{} edited at the service, which stays until{}", keyless(before), keyless(after));
    }
    let named = BEFORE.iter().filter_map(|before| Some(reason.find(before)? + before.len())).min();
    let Some((before, rest)) = named.map(|at| reason.split_at(at)) else { return reason.to_owned() };
    // The last one: a key may hold any of these itself.
    let after = AFTER.iter().filter_map(|after| rest.rfind(after)).min();
    // A reason may name several keys; whatever stands between them goes with them.
    let after = after.map(|at| &rest[at..]).filter(|after| !after.contains("key "));
    format!("{before}{HIDDEN}{}", after.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_11_a_reason_is_told_without_its_keys() {
        for (reason, expected) in [
            ("max_leavers: 50 people would leave, 3 are allowed", "max_leavers: 50 people would leave, 3 are allowed"),
            (
                "email fits the person with id 5, who belongs to key Ana of job x of job staff",
                "email fits the person with id 5, who belongs to key … of job staff",
            ),
            (
                "this record and that of key Ana both fit the person with id 7",
                "this record and that of key … both fit the person with id 7",
            ),
            (
                "moves to job b as key Ana, and leaves here once they are there",
                "moves to job b as key …, and leaves here once they are there",
            ),
            ("moved to job b and leave here: key Ana, key Bo and 3 more", "moved to job b and leave here: key …"),
            (
                "the job's mapping, filter, key or match_on changed",
                "the job's mapping, filter, key or match_on changed",
            ),
            (
                "paused since 2027-06-10T02:30:00Z by ana; `rosterd resume` lets changes go again",
                "paused since 2027-06-10T02:30:00Z; `rosterd resume` lets changes go again",
            ),
            ("undoing run 3: key Ana", "undoing run 3: key …"),
            (
                "on_drift: 2 people were edited at the service (Ana: name; Bo (x), which stays until: title), which stays until the source changes",
                "on_drift: 2 people were edited at the service, which stays until the source changes",
            ),
        ] {
            assert_eq!(keyless(reason), expected);
        }
    }
}
