//! The names of columns in templates.

use std::fmt;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// How a template calls a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// As a variable: the column's own name, or that name in lower snake case.
    Plain(String),
    /// As `source["…"]`: the column's own name.
    Verbatim(String),
    /// As `NAME.column` or `NAME["…"]`: a column of the lookup NAME.
    Joined(JoinedName),
}

/// How a template calls a column of a lookup.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JoinedName {
    /// The lookup.
    pub lookup: String,
    /// The column, as its own source has it.
    pub column: Box<Name>,
    /// Both: the name of the column in a joined row.
    shown: String,
}

impl JoinedName {
    /// Makes the name of a lookup's column.
    pub fn new(lookup: &str, column: Name) -> Self {
        let shown = format!("{lookup}.{}", column.as_str());
        Self { lookup: lookup.to_owned(), column: Box::new(column), shown }
    }

    /// The name of the column in a joined row.
    pub fn as_str(&self) -> &str {
        &self.shown
    }
}

impl Name {
    /// The name without its spelling in a template.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Plain(name) | Self::Verbatim(name) => name,
            Self::Joined(name) => name.as_str(),
        }
    }

    /// The same as a column of a lookup, where it is one.
    pub fn joined(&self) -> Option<&JoinedName> {
        match self {
            Self::Joined(name) => Some(name),
            Self::Plain(_) | Self::Verbatim(_) => None,
        }
    }

    /// Whether a column called `column` is meant. Unicode form and outer white space don't matter.
    pub fn means(&self, column: &str) -> bool {
        match self {
            Self::Plain(name) => same(name, column) || same(name, &snake(column)),
            Self::Verbatim(name) => same(name, column),
            // It is no column of the source itself.
            Self::Joined(_) => false,
        }
    }
}

/// The name as a template spells it.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(name) => f.write_str(name),
            Self::Verbatim(name) => write!(f, "source[{name:?}]"),
            Self::Joined(JoinedName { lookup, column, .. }) => match column.as_ref() {
                Self::Verbatim(name) => write!(f, "{lookup}[{name:?}]"),
                _ => f.write_str(self.as_str()),
            },
        }
    }
}

/// A column that a mapping uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRequirement {
    /// How it is called.
    pub name: Name,
    /// Whether the source may lack it; its value is empty then.
    pub optional: bool,
}

/// The columns that a mapping uses: what a header must hold to be one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequiredColumns {
    /// Each column once.
    pub needs: Vec<ColumnRequirement>,
    /// Those of them that hold photos, whose cells are longer than any text.
    pub photos: Vec<Name>,
    /// Those of them that the key is made of.
    pub keys: Vec<Name>,
}

impl RequiredColumns {
    /// Adds what another mapping uses. A column that one of them needs must be there.
    pub fn add(&mut self, other: &Self) {
        for need in &other.needs {
            match self.needs.iter_mut().find(|own| own.name == need.name) {
                Some(own) => own.optional &= need.optional,
                None => self.needs.push(need.clone()),
            }
        }
        self.keys.extend(other.keys.iter().filter(|name| !self.keys.contains(name)).cloned().collect::<Vec<_>>());
        self.photos.extend(other.photos.iter().filter(|name| !self.photos.contains(name)).cloned().collect::<Vec<_>>());
    }

    /// The names that a source must have, those that `optional` lists left out.
    pub fn required<'a>(&'a self, optional: &'a [String]) -> impl Iterator<Item = &'a Name> {
        self.needs
            .iter()
            .filter(|need| !need.optional && !optional.iter().any(|column| need.name.means(column)))
            .map(|need| &need.name)
    }
}

/// A column's name in lower snake case: `Employee No` → `employee_no`, `givenName` → `given_name`, `E-Mail` → `e_mail`.
///
/// Whatever no identifier can hold becomes one `_`, none at either end; a leading digit gets one in front. Empty where
/// nothing is left.
pub fn snake(column: &str) -> String {
    let chars: Vec<char> = column.nfc().collect();
    let mut out = String::with_capacity(column.len() + 4);
    for (at, &c) in chars.iter().enumerate() {
        if !(c.is_alphanumeric() || (at > 0 && is_combining_mark(c))) {
            if !out.is_empty() && !out.ends_with('_') {
                out.push('_');
            }
            continue;
        }
        let before = at.checked_sub(1).map(|at| chars[at]);
        let after = chars.get(at + 1);
        let hump = c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if (hump && !out.ends_with('_')) || (out.is_empty() && c.is_numeric()) {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    if out.len() > 1 && out.ends_with('_') {
        out.pop();
    }
    out
}

/// The name of an attribute without what distinguishes no two attributes: case, dashes, underscores, the order of its
/// options, and the option `binary`, which is a way of transfer. `givenName`, `GivenName` and `given_name` are one.
pub fn bare(name: &str) -> String {
    let mut parts = name
        .trim()
        .split(';')
        .map(|part| part.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect::<String>());
    let mut out = parts.next().unwrap_or_default();
    let mut options: Vec<String> = parts.filter(|option| option != "binary" && !option.is_empty()).collect();
    options.sort();
    for option in options {
        out.push(';');
        out.push_str(&option);
    }
    out
}

fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    one == other || (!(one.is_ascii() && other.is_ascii()) && one.nfc().eq(other.nfc()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_column_has_a_name_in_snake_case() {
        for (column, name) in [
            ("Employee No", "employee_no"),
            ("givenName", "given_name"),
            ("E-Mail", "e_mail"),
            ("employeeID", "employee_id"),
            ("HTTPServer", "http_server"),
            ("Address2Line", "address2_line"),
            ("Line1", "line1"),
            ("  Cost  centre (old) ", "cost_centre_old"),
            ("Straße Nr.", "straße_nr"),
            ("姓名", "姓名"),
            ("2nd Phone", "_2nd_phone"),
            ("E\u{301}tage", "étage"),
            ("#", ""),
            ("", ""),
        ] {
            assert_eq!(snake(column), name, "{column}");
        }
    }

    #[test]
    fn an_attribute_is_one_however_it_is_spelled() {
        for (one, other, same) in [
            ("givenName", "given_name", true),
            ("GIVENNAME", "givenname", true),
            ("mS-DS-ConsistencyGuid", "ms_ds_consistency_guid", true),
            ("userCertificate;binary", "userCertificate", true),
            ("cn;lang-de;x-a", "CN;X-A;lang-DE", true),
            ("cn;lang-de", "cn", false),
            ("cn", "sn", false),
        ] {
            assert_eq!(bare(one) == bare(other), same, "{one} {other}");
        }
    }

    #[test]
    fn a_name_means_a_column() {
        let plain = |name: &str| Name::Plain(name.to_owned());
        let verbatim = |name: &str| Name::Verbatim(name.to_owned());
        for (name, column, means) in [
            (plain("givenName"), "givenName", true),
            (plain("given_name"), "givenName", true),
            (plain("givenname"), "givenName", false),
            (verbatim("Employee No"), "Employee No ", true),
            (verbatim("employee_no"), "Employee No", false),
            (verbatim("Etage\u{301}"), "Etag\u{e9}", true),
        ] {
            assert_eq!(name.means(column), means, "{name} {column}");
        }
    }

    proptest! {
        #[test]
        fn snake_case_is_stable(column in "[A-Za-z0-9À-žА-я _#.-]{0,20}") {
            let once = snake(&column);
            let twice = snake(&once);
            prop_assert_eq!(twice.trim_matches('_'), once.trim_matches('_'));
        }
    }
}
