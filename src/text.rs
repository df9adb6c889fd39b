//! Numbers as people read them.

/// A number with what it counts.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A number as people read it: 1,204.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_grouped_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1204, "1,204"), (12_000, "12,000"), (1_000_000, "1,000,000")] {
            assert_eq!(thousands(number), text);
        }
    }
}
