//! The filter language of `q` (specification, Common behaviour). It has no escaping, so a value that would change the
//! meaning of the whole is refused.

use jiff::civil::Date;
use thiserror::Error;

use crate::RemoteId;

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// It is the value.
    Equals,
    /// It begins with the value; of a name, the first or the last one does.
    StartsWith,
    /// It is more, or later.
    Above,
    /// It is less, or earlier.
    Below,
    /// It matches a pattern in which `%` means any number of characters.
    Matches,
}

/// Terms that all apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    terms: Vec<String>,
}

/// Why a filter can't be built. Holds no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The field's name is none.
    #[error("{field:?} can't be the name of a field")]
    Field {
        /// The name given.
        field: String,
    },
    /// The value is empty, or would be read as more than a value.
    #[error(
        "the value for {field} is empty or holds one of , : % < > ~, which the filter can't escape; compare it yourself"
    )]
    Value {
        /// The field.
        field: String,
    },
}

impl Operator {
    /// Its sign.
    pub const fn sign(self) -> char {
        match self {
            Self::Equals => ':',
            Self::StartsWith => '%',
            Self::Above => '>',
            Self::Below => '<',
            Self::Matches => '~',
        }
    }
}

impl Filter {
    /// Adds a term. `field` is a name as answers have it.
    pub fn and(mut self, field: &str, operator: Operator, value: &str) -> Result<Self, FilterError> {
        let named = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if field.is_empty() || !field.chars().all(named) {
            return Err(FilterError::Field { field: field.to_owned() });
        }
        let special = |c: char| match c {
            '%' => operator != Operator::Matches,
            c => matches!(c, ',' | ':' | '<' | '>' | '~') || c.is_control(),
        };
        if value.is_empty() || value.contains(special) {
            return Err(FilterError::Value { field: field.to_owned() });
        }
        self.terms.push(format!("{field}{}{value}", operator.sign()));
        Ok(self)
    }

    /// Only what has an id above this one.
    pub fn id_above(mut self, id: RemoteId) -> Self {
        self.terms.push(format!("id>{id}"));
        self
    }

    /// Only what a field places after a day.
    pub fn after(self, field: &str, day: Date) -> Result<Self, FilterError> {
        self.and(field, Operator::Above, &day.to_string())
    }

    /// Only employees or members with that token (specification, Common behaviour).
    pub fn token(number: &str) -> Result<Self, FilterError> {
        Self::default().and("token", Operator::Equals, number)
    }

    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// What is sent as `q`.
    pub(crate) fn text(&self) -> String {
        self.terms.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_can_t_change_the_filter() {
        let check = |field: &str, operator: Operator, value: &str, expected: Option<&str>| {
            let built = Filter::default().and(field, operator, value);
            assert_eq!(built.ok().map(|filter| filter.text()).as_deref(), expected, "{field} {value}");
        };
        check("name", Operator::StartsWith, "An", Some("name%An"));
        check("name", Operator::Matches, "%n%a", Some("name~%n%a"));
        check("staff_count", Operator::Above, "10", Some("staff_count>10"));
        check("created", Operator::Below, "2026-01-31", Some("created<2026-01-31"));
        check("name", Operator::Equals, "O'Neil & Söhne", Some("name:O'Neil & Söhne"));
        for value in ["", "a,id:1", "a:b", "50%", "a<b", "a>b", "a~b", "a\nb"] {
            check("name", Operator::Equals, value, None);
        }
        check("name", Operator::Matches, "a,b", None);
        for field in ["", "na me", "a:b", "name%"] {
            check(field, Operator::Equals, "a", None);
        }
    }

    #[test]
    fn terms_all_apply() {
        let filter = Filter::token("C1BB7F").unwrap().after("created", "2026-02-03".parse().unwrap()).unwrap();
        let filter = filter.id_above(RemoteId::new(7).unwrap());
        assert_eq!(filter.text(), "token:C1BB7F,created>2026-02-03,id>7");
    }
}
