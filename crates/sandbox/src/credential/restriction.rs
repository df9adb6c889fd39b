//! What an API key may be restricted to (specification, API key).

use std::fmt;
use std::str::FromStr;

use super::super::error::Error;

/// What an API key may do. Assets, inductions, communities and questions belong to none of the named restrictions: they
/// are for unrestricted keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restriction {
    /// Everything.
    Unrestricted,
    /// Locations, access points and departments; zones are parts of locations.
    Locations,
    /// Notifications.
    Notifications,
    /// Certifications and their holders.
    Certifications,
    /// Contractor organizations and members.
    Contractors,
    /// Employees.
    Staff,
    /// Visitors.
    Visitors,
}

/// Every restriction, its name, and its domain of scopes.
const NAMES: &[(Restriction, &str, Option<&str>)] = &[
    (Restriction::Unrestricted, "unrestricted", None),
    (Restriction::Locations, "locations", Some("location")),
    (Restriction::Notifications, "notifications", Some("notification")),
    (Restriction::Certifications, "certifications", Some("certification")),
    (Restriction::Contractors, "contractors", Some("contractor")),
    (Restriction::Staff, "staff", Some("staff")),
    (Restriction::Visitors, "visitors", Some("visitor")),
];

impl Restriction {
    /// The scopes that it means; `None` means all scopes.
    pub(super) fn scopes(self) -> Option<[String; 2]> {
        let domain = NAMES.iter().find(|(own, ..)| *own == self).and_then(|(.., domain)| *domain)?;
        Some([format!("{domain}:read"), format!("{domain}:write")])
    }
}

impl fmt::Display for Restriction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(own, ..)| own == self).map_or("", |(_, name, _)| name))
    }
}

impl FromStr for Restriction {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = NAMES.iter().find(|(_, name, _)| *name == text);
        found.map(|(restriction, ..)| *restriction).ok_or_else(|| Error::Restriction {
            name: text.to_owned(),
            known: NAMES.iter().map(|(_, name, _)| *name).collect::<Vec<_>>().join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::operation::scopes;
    use super::*;

    #[test]
    fn a_restriction_is_named_and_means_scopes_that_exist() {
        for (restriction, name, _) in NAMES {
            assert_eq!((name.parse::<Restriction>().unwrap(), restriction.to_string().as_str()), (*restriction, *name));
            for scope in restriction.scopes().into_iter().flatten() {
                assert!(scopes().contains(&scope), "{scope}");
            }
        }
        let error = "assets".parse::<Restriction>().unwrap_err().to_string();
        assert!(error.contains("assets") && error.contains("visitors"), "{error}");
    }
}
