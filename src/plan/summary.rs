//! What a set of changes does as a whole, before it is read one by one.

use std::collections::BTreeMap;
use std::fmt;

use super::Change;
use crate::record::{Action, Value};
use crate::text::thousands;

/// How many different moves of one field are counted; a field that moves in more ways has none that stands out.
const MOVES_MAX: usize = 1000;
/// How many fields, and how many segments, are named; the rest is counted.
const NAMED_MAX: usize = 8;
/// From so many changes on, a field's most frequent move is shown where it is that of most of them.
const FREQUENT_MIN: u64 = 10;

/// How many people a set of changes makes, moves and removes, which fields move, and where those who leave are.
#[derive(Clone, Debug, Default)]
pub struct ChangeSummary {
    created: u64,
    updated: u64,
    left: u64,
    /// Memberships that begin, and that end: who goes to another organization is one of each, and no leaver.
    begun: u64,
    ended: u64,
    /// Of updates of people who stay.
    fields: BTreeMap<String, MovedField>,
    /// Of those who leave.
    segments: BTreeMap<String, u64>,
}

/// How one field moves.
#[derive(Clone, Debug, Default)]
struct MovedField {
    people: u64,
    cleared: u64,
    moves: BTreeMap<(Value, Value), u64>,
}

impl ChangeSummary {
    /// Counts one more change. A leaver counts as such also where leaving is an update.
    pub fn add(&mut self, change: &Change) {
        match change.wish.action {
            _ if change.wish.leaves() => self.add_leaver(&change.marks.segment),
            Action::Create => self.add_create(),
            Action::Update | Action::Delete => self.add_update(change.moves()),
        }
    }

    /// Counts someone who leaves, with their segment; an empty one is none.
    pub fn add_leaver(&mut self, segment: &str) {
        self.left += 1;
        if !segment.is_empty() {
            *self.segments.entry(segment.to_owned()).or_default() += 1;
        }
    }

    /// Counts an update by its fields, with what each would be instead of what.
    pub fn add_update<'a>(&mut self, moves: impl Iterator<Item = (&'a str, &'a Value, &'a Value)>) {
        self.updated += 1;
        for (field, from, to) in moves {
            self.fields.entry(field.to_owned()).or_default().add(from, to);
        }
    }

    /// Counts one that makes a person: what it sets is not summed up.
    pub fn add_create(&mut self) {
        self.created += 1;
    }

    /// Counts a membership that begins, or that ends.
    pub fn add_membership(&mut self, begins: bool) {
        if begins { self.begun += 1 } else { self.ended += 1 }
    }

    /// How many changes were counted.
    pub fn len(&self) -> u64 {
        self.created + self.updated + self.left + self.begun + self.ended
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A line for each kind of change. Values are shown of fields that `shows` allows.
    pub fn lines(&self, shows: impl Fn(&str) -> bool) -> Vec<String> {
        let mut lines = Vec::new();
        if self.left > 0 {
            let mut segments: Vec<(&String, u64)> =
                self.segments.iter().map(|(name, people)| (name, *people)).collect();
            segments.sort_by_key(|(_, people)| std::cmp::Reverse(*people));
            let named = segments.iter().map(|(name, people)| format!("{} of them in {name}", thousands(*people)));
            lines.push(listed(format!("{} to leave", thousands(self.left)), ", ", named));
        }
        if self.created > 0 {
            lines.push(format!("{} to come", thousands(self.created)));
        }
        for (count, what) in [(self.ended, "to end"), (self.begun, "to begin")] {
            let what = |many| format!("{} {many} {what}", thousands(count));
            match count {
                0 => {}
                1 => lines.push(what("membership")),
                _ => lines.push(what("memberships")),
            }
        }
        if self.updated > 0 {
            let mut fields: Vec<(&String, &MovedField)> = self.fields.iter().collect();
            fields.sort_by_key(|(_, moved)| std::cmp::Reverse(moved.people));
            let named = fields.iter().map(|(name, moved)| moved.described(name, shows(name)));
            lines.push(listed(format!("{} to change", thousands(self.updated)), ": ", named));
        }
        lines
    }
}

/// What is counted, and the first of what there is to say of it.
fn listed(counted: String, between: &str, named: impl ExactSizeIterator<Item = String>) -> String {
    let more = named.len().saturating_sub(NAMED_MAX);
    let named: Vec<String> = named.take(NAMED_MAX).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    if named.is_empty() { counted } else { format!("{counted}{between}{}{more}", named.join(", ")) }
}

impl MovedField {
    fn add(&mut self, from: &Value, to: &Value) {
        self.people += 1;
        self.cleared += u64::from(to.is_empty());
        let way = (from.clone(), to.clone());
        if self.moves.len() < MOVES_MAX || self.moves.contains_key(&way) {
            *self.moves.entry(way).or_default() += 1;
        }
    }

    fn described(&self, name: &str, shows: bool) -> String {
        let mut text = format!("{name} of {}", thousands(self.people));
        let frequent = self.moves.iter().max_by_key(|(_, people)| **people);
        if self.cleared > 0 {
            text.push_str(&format!(" (cleared: {})", thousands(self.cleared)));
        } else if let Some(((from, to), people)) = frequent.filter(|(_, people)| **people >= FREQUENT_MIN && shows)
            && people * 2 > self.people
        {
            text.push_str(&format!(" ({} times {} → {})", thousands(*people), Shown(from), Shown(to)));
        }
        text
    }
}

struct Shown<'a>(&'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("nothing") } else { write!(f, "“{}”", self.0.shown()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Delta;
    use crate::record::{DesiredState, Key, RowMetadata, Values};

    fn change(action: Action, segment: &str, moves: &[(&str, &str, &str)]) -> Change {
        let value = |text: &str| Value::text(text);
        let fields = moves
            .iter()
            .map(|(field, from, to)| ((*field).into(), Delta { from: value(from), to: value(to) }))
            .collect();
        Change {
            key: Key::new("4711").unwrap(),
            wish: DesiredState { action, id: None, fields: Values::default(), leaver: false },
            fields,
            line: None,
            known: true,
            approved: false,
            marks: RowMetadata { segment: segment.to_owned(), ..RowMetadata::default() },
        }
    }

    #[test]
    fn a_set_is_told_by_kind_field_and_segment() {
        let mut summary = ChangeSummary::default();
        assert!(summary.is_empty() && summary.lines(|_| true).is_empty());
        for number in 0..990 {
            let from = if number < 700 { "Clerk" } else { "Guard" };
            summary.add(&change(Action::Update, "Days", &[("title", from, "Officer")]));
        }
        summary.add(&change(Action::Update, "Days", &[("mobile", "1", ""), ("email", "a", "b")]));
        (0..9).for_each(|_| summary.add(&change(Action::Delete, "", &[])));
        (0..3).for_each(|_| summary.add(&change(Action::Delete, "Night shift", &[])));
        summary.add(&change(Action::Create, "", &[]));
        assert!(!summary.is_empty());
        assert_eq!(summary.len(), 1004);
        assert_eq!(
            summary.lines(|field| field != "mobile"),
            [
                "12 to leave, 3 of them in Night shift",
                "1 to come",
                "991 to change: title of 990 (700 times “Clerk” → “Officer”), email of 1, mobile of 1 (cleared: 1)",
            ]
        );
        assert!(summary.lines(|_| false)[2].starts_with("991 to change: title of 990, "));
    }

    #[test]
    fn who_goes_to_another_organization_is_no_leaver() {
        let mut summary = ChangeSummary::default();
        [true, false, false].into_iter().for_each(|begins| summary.add_membership(begins));
        assert_eq!(
            (summary.len(), summary.lines(|_| true)),
            (3, vec!["2 memberships to end".to_owned(), "1 membership to begin".to_owned()])
        );
    }

    #[test]
    fn a_move_is_named_that_most_of_them_make() {
        let mut summary = ChangeSummary::default();
        (0..10).for_each(|_| summary.add(&change(Action::Update, "", &[("title", "Clerk", "Officer")])));
        (0..10).for_each(|_| summary.add(&change(Action::Update, "", &[("title", "Guard", "Officer")])));
        assert_eq!(summary.lines(|_| true), ["20 to change: title of 20"]);
        summary.add(&change(Action::Update, "", &[("title", "Clerk", "Officer")]));
        assert_eq!(summary.lines(|_| true), ["21 to change: title of 21 (11 times “Clerk” → “Officer”)"]);
    }

    #[test]
    fn a_field_that_moves_in_many_ways_takes_little_memory() {
        let mut summary = ChangeSummary::default();
        for number in 0..3000 {
            let number = number.to_string();
            summary.add(&change(Action::Update, "", &[("email", &number, &format!("{number}@example.com"))]));
        }
        assert_eq!(summary.fields["email"].moves.len(), MOVES_MAX);
        assert_eq!(summary.lines(|_| true), ["3,000 to change: email of 3,000"]);
    }
}
