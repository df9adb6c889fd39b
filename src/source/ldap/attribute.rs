//! The attributes that a mapping needs: what is asked for, and what becomes of what comes.
//!
//! Names ignore case. A template's `given_name` may be `givenName` or `given-name` at the server, which ignores names
//! that it does not know: both are asked for, and an answer is recognized by its bare name.

use std::collections::HashMap;
use std::sync::Arc;

use super::options::Options;
use crate::source::{Columns, Name, RequiredColumns, bare};

/// The variable that holds an entry's own name.
pub(super) const DN: &str = "dn";

/// What identifies an entry for ever: of RFC 4530, of Active Directory, of 389 Directory Server.
pub(super) const IDENTITIES: [&str; 3] = ["entryUUID", "objectGUID", "nsUniqueId"];

/// Attributes that hold no text, by their bare names. Their values are shown as base64.
const BINARY: &[&str] = &[
    "audio",
    "cacertificate",
    "jpegphoto",
    "logonhours",
    "msdsconsistencyguid",
    "msexchmailboxguid",
    "ntsecuritydescriptor",
    "objectguid",
    "objectsid",
    "photo",
    "sidhistory",
    "thumbnailphoto",
    "usercertificate",
    "userpkcs12",
    "usersmimecertificate",
];

/// Names of the same attribute (RFC 4519, RFC 4524), by their bare names: a server may answer with another name than it
/// was asked for.
const ALIASES: &[&[&str]] = &[
    &["c", "countryname"],
    &["cn", "commonname"],
    &["co", "friendlycountryname"],
    &["dc", "domaincomponent"],
    &["facsimiletelephonenumber", "fax"],
    &["givenname", "gn"],
    &["homephone", "hometelephonenumber"],
    &["l", "localityname"],
    &["mail", "rfc822mailbox"],
    &["mobile", "mobiletelephonenumber"],
    &["o", "organizationname"],
    &["ou", "organizationalunitname"],
    &["pager", "pagertelephonenumber"],
    &["sn", "surname"],
    &["st", "stateorprovincename"],
    &["street", "streetaddress"],
    &["uid", "userid"],
];

/// How many underscores of a name may each be a dash or nothing.
const UNDERSCORES_MAX: usize = 4;

/// The attributes that a mapping needs.
pub(super) struct Attributes {
    /// One for each attribute, named as the mapping spells it.
    pub(super) columns: Arc<Columns>,
    /// The names that the server is asked for.
    pub(super) asked: Vec<String>,
    /// Of each column: whether an entry must have it.
    pub(super) required: Vec<bool>,
    /// Of each column: whether it holds no text.
    pub(super) binary: Vec<bool>,
    /// The column of an entry's own name.
    pub(super) dn: Option<usize>,
    by_bare: HashMap<String, usize>,
    /// What names of the server were found to mean.
    met: HashMap<String, Option<usize>>,
}

impl Attributes {
    pub(super) fn new(wanted: &RequiredColumns, options: &Options) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut required = Vec::new();
        let mut by_bare: HashMap<String, usize> = HashMap::new();
        let mut asked: Vec<String> = IDENTITIES.iter().map(|name| (*name).to_owned()).collect();
        for need in &wanted.needs {
            let spelled = need.name.as_str().trim();
            let at = *by_bare.entry(bare(spelled)).or_insert_with(|| {
                names.push(spelled.to_owned());
                required.push(false);
                names.len() - 1
            });
            // Of several spellings the one with a capital is the attribute's own, most likely.
            if spelled.contains(char::is_uppercase) && !names[at].contains(char::is_uppercase) {
                names[at] = spelled.to_owned();
            }
            required[at] |= !need.optional;
            asked.extend(spellings(&need.name));
        }
        let dn = by_bare.get(DN).copied();
        dn.into_iter().for_each(|at| required[at] = false);
        asked.retain(|name| !name.eq_ignore_ascii_case(DN));
        asked.sort_by_key(|name| name.to_lowercase());
        asked.dedup_by(|one, other| one.eq_ignore_ascii_case(other));
        let binary = names.iter().map(|name| is_binary(name, options)).collect();
        let columns = Arc::new(Columns::of_attributes(names));
        Self { columns, asked, required, binary, dn, by_bare, met: HashMap::new() }
    }

    /// The column of an attribute as the server spells it.
    pub(super) fn column(&mut self, name: &str) -> Option<usize> {
        if let Some(known) = self.met.get(name) {
            return *known;
        }
        let bare = bare(name);
        let also = || {
            let group = ALIASES.iter().find(|group| group.contains(&bare.as_str()))?;
            group.iter().find_map(|alias| self.by_bare.get(*alias))
        };
        let found = self.by_bare.get(&bare).or_else(also).copied().filter(|at| Some(*at) != self.dn);
        self.met.insert(name.to_owned(), found);
        found
    }
}

fn is_binary(name: &str, options: &Options) -> bool {
    let plain = bare(name.split(';').next().unwrap_or_default());
    let says_so = name.split(';').skip(1).any(|option| option.eq_ignore_ascii_case("binary"));
    says_so || BINARY.contains(&plain.as_str()) || options.binary.iter().any(|other| bare(other) == plain)
}

/// What a name of a template may be called at the server.
fn spellings(name: &Name) -> Vec<String> {
    let text = name.as_str().trim();
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ';'))
    };
    let parts: Vec<&str> = text.split('_').collect();
    let spelled = match name {
        Name::Verbatim(_) if !text.contains('_') => vec![text.to_owned()],
        _ if parts.len() > UNDERSCORES_MAX + 1 => vec![parts.concat(), parts.join("-")],
        _ => {
            let mut spelled = vec![parts[0].to_owned()];
            for part in &parts[1..] {
                spelled = spelled.iter().flat_map(|head| [format!("{head}{part}"), format!("{head}-{part}")]).collect();
            }
            spelled
        }
    };
    spelled.into_iter().filter(|text| is_name(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::ColumnRequirement;

    fn attributes(names: &[Name]) -> Attributes {
        let needs = names.iter().map(|name| ColumnRequirement { name: name.clone(), optional: false }).collect();
        let (server, _) = super::super::Server::parse("ldap://localhost").unwrap();
        Attributes::new(
            &RequiredColumns { needs, ..RequiredColumns::default() },
            &Options::at(vec![server], vec!["dc=x".into()]),
        )
    }

    fn plain(name: &str) -> Name {
        Name::Plain(name.into())
    }

    fn verbatim(name: &str) -> Name {
        Name::Verbatim(name.into())
    }

    #[test]
    fn a_template_s_name_finds_its_attribute() {
        for (name, attribute, found) in [
            (plain("given_name"), "givenName", true),
            (plain("givenName"), "GIVENNAME", true),
            (plain("givenname"), "givenName", true),
            (verbatim("givenName"), "givenname", true),
            (plain("m_s_ds_consistency_guid"), "mS-DS-ConsistencyGuid", true),
            (plain("surname"), "sn", true),
            (plain("streetAddress"), "street", true),
            (verbatim("cn;lang-de"), "cn;lang-de", true),
            (plain("cn"), "cn;lang-de", false),
            (plain("userCertificate"), "userCertificate;binary", true),
            (plain("cn"), "sn", false),
            (plain("dn"), "dn", false),
        ] {
            assert_eq!(
                attributes(std::slice::from_ref(&name)).column(attribute).is_some(),
                found,
                "{name} {attribute}"
            );
        }
    }

    #[test]
    fn spellings_of_one_attribute_are_one_column() {
        let names = [plain("given_name"), plain("givenName"), verbatim("GIVENNAME"), plain("dn"), plain("sn")];
        let all = attributes(&names);
        assert_eq!(all.columns.names(), ["givenName", "dn", "sn"]);
        assert_eq!((all.dn, all.required.clone()), (Some(1), vec![true, false, true]));
        assert_eq!(all.asked, ["entryUUID", "given-name", "givenname", "nsUniqueId", "objectGUID", "sn"]);
    }

    #[test]
    fn both_names_of_an_attribute_may_be_wanted_apart() {
        // Active Directory has two attributes of these names.
        let mut all = attributes(&[plain("street"), plain("streetAddress")]);
        assert_eq!((all.column("street"), all.column("streetAddress")), (Some(0), Some(1)));
    }

    #[test]
    fn fault_76_what_is_no_text_is_known_by_its_name() {
        let all = attributes(&[plain("jpeg_photo"), plain("objectGUID"), verbatim("x;binary"), plain("mail")]);
        assert_eq!(all.binary, [true, true, true, false]);
    }
}
