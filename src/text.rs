//! Numbers, lists and texts as people read them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::{self, Display, Write as _};

/// A number with what it counts.
pub(crate) fn counted(count: impl Display, one: &str, many: &str) -> String {
    let count = count.to_string();
    format!("{count} {}", if count == "1" { one } else { many })
}

/// A number as people read it: 1,204.
pub(crate) fn thousands(number: impl Display) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// The first `max` of a list; the rest is counted.
pub(crate) fn some_of(items: impl ExactSizeIterator<Item = String>, max: usize) -> String {
    let more = items.len().saturating_sub(max);
    let listed = items.take(max).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{listed} and {more} more") } else { listed }
}

/// Whether a character begins a line, or is obeyed without being seen.
pub(crate) fn is_wild(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Text of others as a part of one line.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if is_wild(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// A text as it stands in a page of HTML: nothing of it is markup, and what turns the direction of writing is shown, not obeyed.
pub(crate) struct Markup<'a>(pub(crate) &'a str);

impl fmt::Display for Markup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                    f.write_char('\u{fffd}')?
                }
                c if c.is_control() => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A text as a page shows it.
pub(crate) fn markup_of(text: &str) -> String {
    Markup(text).to_string()
}

/// A moment as a clock on the wall shows it in a time zone, to the minute.
pub fn clock_time(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%-d %b %Y, %H:%M %Z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_begins_no_line_and_hides_nothing() {
        assert_eq!(
            one_line("Ann\r\n9 wait\u{2028}x\u{202e}y\tz\u{200b}é"),
            "Ann\u{fffd}\u{fffd}9 wait\u{fffd}x\u{fffd}y\u{fffd}z\u{fffd}é"
        );
    }

    #[test]
    fn a_number_is_grouped_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1204, "1,204"), (12_000, "12,000"), (1_000_000, "1,000,000")] {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn the_rest_of_a_list_is_counted() {
        let some = |max| some_of(["a", "b", "c"].map(str::to_owned).into_iter(), max);
        assert_eq!([some(3), some(2), some(1)], ["a, b, c", "a, b and 1 more", "a and 2 more"]);
    }
}
