//! The columns of a source, in order.

use xxhash_rust::xxh3::xxh3_128;

use super::name::{Name, bare, snake};

/// The columns of a source: header names in order, without their outer white space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    names: Vec<String>,
    digest: u128,
    /// Whether names ignore case, as attributes of a directory do.
    folds: bool,
    /// How many are those of the source itself; the rest are those of lookups.
    own: usize,
}

/// The part of a row that a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// The column at this position.
    One(usize),
    /// No column.
    Missing,
    /// The columns at these positions: more than one answers to the name.
    Several(Vec<usize>),
}

impl Columns {
    /// How unlike a column's name may be and still be offered as the one that was meant.
    const NEAR: f64 = 0.66;
    /// How like a name is that holds the other one, of so many bytes at least.
    const HOLDS: f64 = 0.9;
    const WORD: usize = 4;

    /// Makes columns of header names.
    pub fn new<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Self {
        let names: Vec<String> = names.into_iter().map(|name| name.as_ref().trim().to_owned()).collect();
        let mut framed = Vec::new();
        for name in &names {
            framed.extend_from_slice(&(name.len() as u64).to_le_bytes());
            framed.extend_from_slice(name.as_bytes());
        }
        Self { digest: xxh3_128(&framed), own: names.len(), names, folds: false }
    }

    /// Makes columns of the names of attributes, which ignore case.
    pub fn of_attributes<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Self {
        Self { folds: true, ..Self::new(names) }
    }

    /// The same with columns of lookups behind them.
    #[must_use]
    pub fn with_lookups(&self, names: &[&str]) -> Self {
        let all = Self::new(self.names.iter().map(String::as_str).chain(names.iter().copied()));
        Self { folds: self.folds, own: self.own, ..all }
    }

    /// How many are those of the source itself.
    pub fn own(&self) -> usize {
        self.own
    }

    /// The names, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The digest of the names in their order.
    pub fn digest(&self) -> u128 {
        self.digest
    }

    /// Finds the column that `name` means.
    pub fn find(&self, name: &Name) -> Match {
        if name.joined().is_some() {
            let at = (self.own..self.names.len()).find(|at| self.names[*at] == name.as_str());
            return at.map_or(Match::Missing, Match::One);
        }
        let sought = bare(name.as_str());
        let means = |column: &str| if self.folds { bare(column) == sought } else { name.means(column) };
        let hits: Vec<usize> =
            self.names[..self.own].iter().enumerate().filter(|(_, column)| means(column)).map(|(at, _)| at).collect();
        match hits[..] {
            [] => Match::Missing,
            [one] => Match::One(one),
            _ => Match::Several(hits),
        }
    }

    /// The column whose name is most like `name`, if any is like it at all.
    pub fn nearest(&self, name: &Name) -> Option<&str> {
        let bare = |text: &str| snake(text).replace('_', "");
        let sought = bare(name.as_str());
        // A heading that only grew or shrank, as `Mobile` to `Mobile Phone`, is as like as any slip of the pen.
        let holds = |one: &str, other: &str| other.len() >= Self::WORD && one.contains(other);
        let likeness = |column: &str| {
            let held = if holds(&sought, column) || holds(column, &sought) { Self::HOLDS } else { 0.0 };
            strsim::normalized_damerau_levenshtein(&sought, column).max(held)
        };
        self.names
            .iter()
            .map(|column| (likeness(&bare(column)), column))
            .filter(|(likeness, _)| *likeness >= Self::NEAR)
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .map(|(_, column)| column.as_str())
    }

    /// Says that `name` is missing, and which column may be the one that was meant.
    pub fn lacks(&self, name: &Name) -> String {
        match self.nearest(name) {
            Some(near) => format!("column `{}` is missing; there is `{near}`", name.as_str()),
            None => format!("column `{}` is missing", name.as_str()),
        }
    }

    /// Says that the columns at `hits` all answer to `name`, and what to do.
    pub fn doubled(&self, name: &Name, hits: &[usize]) -> String {
        let mut own: Vec<&str> = hits.iter().filter_map(|at| self.names.get(*at)).map(String::as_str).collect();
        own.dedup();
        if let [one] = own[..] {
            return format!("{} columns are called `{one}`; give each a name of its own", hits.len());
        }
        let listed = own.iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(" and ");
        format!("the columns {listed} both answer to `{name}`; say which, as source[{:?}]", own[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_found_by_name() {
        let columns = Columns::new(["Employee No", "Email", "E-Mail", "email ", "Site", "Site"]);
        for (name, found) in [
            (Name::Plain("employee_no".into()), Match::One(0)),
            (Name::Verbatim("Employee No".into()), Match::One(0)),
            (Name::Plain("e_mail".into()), Match::One(2)),
            (Name::Plain("email".into()), Match::Several(vec![1, 3])),
            (Name::Plain("Email".into()), Match::One(1)),
            (Name::Verbatim("Site".into()), Match::Several(vec![4, 5])),
            (Name::Plain("phone".into()), Match::Missing),
        ] {
            assert_eq!(columns.find(&name), found, "{name}");
        }
    }

    #[test]
    fn a_missing_column_is_named_beside_the_one_that_is_there() {
        let columns = Columns::new(["Employee No", "E-Mail", "Job Title", "Mobile Phone"]);
        for (name, said) in [
            ("Email", "column `Email` is missing; there is `E-Mail`"),
            ("employee_nr", "column `employee_nr` is missing; there is `Employee No`"),
            ("locker", "column `locker` is missing"),
            ("job", "column `job` is missing"),
            ("mobile", "column `mobile` is missing; there is `Mobile Phone`"),
        ] {
            assert_eq!(columns.lacks(&Name::Plain(name.into())), said);
        }
    }

    #[test]
    fn two_columns_of_one_name_are_distinguished_by_their_own() {
        let columns = Columns::new(["Email", "email", "Site", "Site"]);
        assert_eq!(
            columns.doubled(&Name::Plain("email".into()), &[0, 1]),
            "the columns `Email` and `email` both answer to `email`; say which, as source[\"Email\"]"
        );
        assert_eq!(
            columns.doubled(&Name::Plain("site".into()), &[2, 3]),
            "2 columns are called `Site`; give each a name of its own"
        );
    }

    #[test]
    fn the_digest_tells_where_a_name_ends() {
        assert_ne!(Columns::new(["ab", "c"]).digest(), Columns::new(["a", "bc"]).digest());
        assert_ne!(Columns::new(["a", "b"]).digest(), Columns::new(["b", "a"]).digest());
    }
}
