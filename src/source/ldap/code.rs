//! Result codes (RFC 4511, appendix A) in words.

use std::io;

use crate::fault::chain;
use crate::record::Sensitive;
use crate::tls;

/// The search reached its end, or the bind was taken.
pub(super) const SUCCESS: u32 = 0;
pub(super) const OPERATIONS_ERROR: u32 = 1;
pub(super) const PROTOCOL_ERROR: u32 = 2;
pub(super) const TIME_LIMIT: u32 = 3;
pub(super) const SIZE_LIMIT: u32 = 4;
pub(super) const AUTH_METHOD: u32 = 7;
pub(super) const STRONGER_AUTH: u32 = 8;
pub(super) const REFERRAL: u32 = 10;
pub(super) const ADMIN_LIMIT: u32 = 11;
pub(super) const UNAVAILABLE_CRITICAL_EXTENSION: u32 = 12;
pub(super) const CONFIDENTIALITY: u32 = 13;
pub(super) const CONSTRAINT: u32 = 19;
pub(super) const NO_SUCH_OBJECT: u32 = 32;
pub(super) const INAPPROPRIATE_AUTH: u32 = 48;
pub(super) const INVALID_CREDENTIALS: u32 = 49;
const INVALID_NAME: u32 = 34;
pub(super) const INSUFFICIENT_ACCESS: u32 = 50;
pub(super) const BUSY: u32 = 51;
pub(super) const UNAVAILABLE: u32 = 52;
pub(super) const UNWILLING: u32 = 53;

/// What is said where an answer has parts in the wrong place.
pub(super) const GARBLED: &str = "the server's answer can't be understood; is this an LDAP server?";
/// What is said where there is no connection any more.
pub(super) const CLOSED: &str = "the connection was closed";

/// How much of what a server says is shown.
const SAID_MAX: usize = 200;

/// The code with its name.
pub(super) fn words(code: u32) -> String {
    let name = match code {
        OPERATIONS_ERROR => "operations error",
        PROTOCOL_ERROR => "protocol error",
        TIME_LIMIT => "time limit exceeded",
        SIZE_LIMIT => "size limit exceeded",
        AUTH_METHOD => "authentication method not supported",
        STRONGER_AUTH => "stronger authentication required",
        REFERRAL => "referral",
        ADMIN_LIMIT => "administrative limit exceeded",
        UNAVAILABLE_CRITICAL_EXTENSION => "unavailable critical extension",
        CONFIDENTIALITY => "confidentiality required",
        CONSTRAINT => "constraint violation",
        NO_SUCH_OBJECT => "no such object",
        34 => "invalid DN syntax",
        INAPPROPRIATE_AUTH => "inappropriate authentication",
        INVALID_CREDENTIALS => "invalid credentials",
        INSUFFICIENT_ACCESS => "insufficient access rights",
        BUSY => "busy",
        UNAVAILABLE => "unavailable",
        UNWILLING => "unwilling to perform",
        80 => "other error",
        _ => "unknown code",
    };
    format!("{name}, result code {code}")
}

/// What the server says besides, fit to stand behind a sentence; nothing where it says nothing.
pub(super) fn said(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SAID_MAX).collect();
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(" ({})", Sensitive(text)) }
}

/// Whether a bind was refused for its name or password: any other refusal of Active Directory's comes after it found the
/// password right, or looked at none.
pub(super) fn is_wrong(code: u32, text: &str) -> bool {
    let other = ["530", "531", "532", "533", "701", "773", "775"];
    code == INVALID_CREDENTIALS && data(text).is_none_or(|data| !other.contains(&data))
}

/// Active Directory's own number of a refused bind.
fn data(text: &str) -> Option<&str> {
    text.split("data ").nth(1).map(|rest| rest.split([',', ' ']).next().unwrap_or_default())
}

/// What to do about a refused bind, as far as the code or Active Directory's own number (`data 52e`) tells.
pub(super) fn bind_hint(code: u32, text: &str) -> &'static str {
    match (data(text), code) {
        (Some("525"), _) => "there is no such user; check bind_dn",
        (Some("52e"), _) => "the password or the name is wrong; check bind_dn and bind_password_file",
        (Some("530"), _) => "the account may not sign in at this time",
        (Some("531"), _) => "the account may not sign in from this machine",
        (Some("532"), _) => "the account's password has expired; set a new one",
        (Some("533"), _) => "the account is disabled",
        (Some("701"), _) => "the account has expired",
        (Some("773"), _) => "the account must change its password first",
        (Some("775"), _) => "the account is locked; unlock it before the next run",
        (_, INVALID_CREDENTIALS) => "check bind_dn and bind_password_file",
        (_, INVALID_NAME) => "bind_dn is no name of an entry; write it like cn=rosterd,ou=services,dc=example,dc=com",
        (_, STRONGER_AUTH | CONFIDENTIALITY) => "the server wants TLS; use ldaps:// or start_tls = true",
        (_, CONSTRAINT) => {
            "the account is locked after wrong passwords, most likely; unlock it, and check bind_password_file"
        }
        (_, INAPPROPRIATE_AUTH) => {
            "the entry of bind_dn has no password at the server, or binds without one are off there"
        }
        (_, UNWILLING) => "the account is locked or disabled, most likely; what the server says is in brackets",
        _ => "ask the administrator of the server",
    }
}

/// What to do about a refused bind by a client certificate.
pub(super) fn external_bind_hint(code: u32) -> &'static str {
    match code {
        AUTH_METHOD | INAPPROPRIATE_AUTH => {
            "the server asked for no client certificate in TLS or takes none to sign in; have both turned on there \
             (OpenLDAP: TLSVerifyClient; 389 Directory Server: nsSSLClientAuth)"
        }
        INVALID_CREDENTIALS | NO_SUCH_OBJECT | INSUFFICIENT_ACCESS => {
            "the server knows no account for the client certificate, or doesn't trust its authority; have its subject mapped to \
             the account that reads people (OpenLDAP: authz-regexp; 389 Directory Server: certmap.conf)"
        }
        STRONGER_AUTH | CONFIDENTIALITY => "the server wants TLS; use ldaps:// or start_tls = true",
        UNWILLING => "the account is locked or disabled, most likely; what the server says is in brackets",
        _ => "ask the administrator of the server",
    }
}

/// What else may be wrong where a connection ended during a bind by a client certificate. Some servers just close it.
pub(super) const EXTERNAL_BIND_GONE: &str =
    "; if that is so every time, the server does not take the client certificate, and its log says why";

/// What an error of the library means for people.
pub(super) fn described(error: &ldap3::LdapError) -> String {
    use ldap3::LdapError;
    match error {
        LdapError::Io { source } => broken(source),
        LdapError::Timeout { .. } => "no answer in time".to_owned(),
        LdapError::EndOfStream
        | LdapError::OpSend { .. }
        | LdapError::ResultRecv { .. }
        | LdapError::IdScrubSend { .. }
        | LdapError::MiscSend { .. } => CLOSED.to_owned(),
        LdapError::LdapResult { result } => format!("{}{}", words(result.rc), said(&result.text)),
        other => explained(&other.to_string()),
    }
}

/// Why a connection broke, for people.
pub(super) fn broken(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return CLOSED.to_owned();
    }
    let told = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()).map_or("", alert_hint);
    format!("{}{told}", explained(&chain(error)))
}

/// What to do where the server ended TLS for the sake of a client certificate.
fn alert_hint(error: &rustls::Error) -> &'static str {
    use rustls::AlertDescription as Alert;
    let rustls::Error::AlertReceived(alert) = error else { return "" };
    match alert {
        Alert::CertificateRequired => {
            "; the server wants a client certificate: set client_cert_file and client_key_file"
        }
        Alert::BadCertificate
        | Alert::UnsupportedCertificate
        | Alert::CertificateRevoked
        | Alert::CertificateExpired
        | Alert::CertificateUnknown
        | Alert::UnknownCA
        | Alert::AccessDenied => {
            "; the server does not take the client certificate: it must be one for clients, in its time, and of an authority \
             that the server trusts, with those between them in client_cert_file"
        }
        _ => "",
    }
}

/// Adds what to do where a certificate is not trusted.
fn explained(text: &str) -> String {
    // The library's link to its own documentation does not help the reader of this message.
    let text = text.split(": https://docs.rs/").next().unwrap_or(text);
    format!("{text}{}", tls::hint(text, "ca_file"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::reveal;

    #[test]
    fn fault_78_a_refused_bind_says_what_to_do() {
        let ad = |data: &str| {
            format!("80090308: LdapErr: DSID-0C09044E, comment: AcceptSecurityContext error, data {data}, v2580")
        };
        for (code, text, said) in [
            (INVALID_CREDENTIALS, ad("775"), "locked"),
            (INVALID_CREDENTIALS, ad("52e"), "wrong"),
            (INVALID_CREDENTIALS, String::new(), "bind_password_file"),
            (INVALID_NAME, "invalid DN".to_owned(), "bind_dn is no name"),
            (STRONGER_AUTH, String::new(), "TLS"),
            (CONSTRAINT, "Exceed password retry limit. Please try later.".to_owned(), "locked"),
            (INAPPROPRIATE_AUTH, String::new(), "no password"),
            (UNWILLING, "Account inactivated.".to_owned(), "disabled"),
            (80, String::new(), "ask"),
        ] {
            assert!(bind_hint(code, &text).contains(said), "{code} {text}");
        }
    }

    #[test]
    fn a_refused_bind_by_a_certificate_says_what_to_do() {
        for (code, said) in [
            (AUTH_METHOD, "asked for no client certificate"),
            (INAPPROPRIATE_AUTH, "TLSVerifyClient"),
            (INVALID_CREDENTIALS, "certmap.conf"),
            (UNWILLING, "disabled"),
            (80, "ask"),
        ] {
            let hint = external_bind_hint(code);
            assert!(hint.contains(said) && !hint.contains("bind_dn") && !hint.contains("password"), "{code}: {hint}");
        }
        use rustls::{AlertDescription as Alert, Error};
        for (error, said) in [
            (Error::AlertReceived(Alert::CertificateRequired), "set client_cert_file and client_key_file"),
            (Error::AlertReceived(Alert::UnknownCA), "does not take the client certificate"),
            (Error::AlertReceived(Alert::CertificateExpired), "in its time"),
            (Error::AlertReceived(Alert::InternalError), ""),
        ] {
            let text = broken(&io::Error::new(io::ErrorKind::InvalidData, error));
            assert!(text.contains(said) && text.contains("certificate") != said.is_empty(), "{text}");
        }
    }

    #[test]
    fn a_broken_connection_says_what_to_do_and_names_no_page_of_a_library() {
        for (text, word, never) in [
            (
                "peer closed connection without sending TLS close_notify: https://docs.rs/rustls/latest/x",
                "peer closed",
                "docs.rs",
            ),
            (
                "invalid peer certificate: certificate not valid for name \"dc1\"; certificate is not valid for any names",
                "subjectAltName",
                "as its certificate does",
            ),
            (
                "invalid peer certificate: certificate not valid for name \"dc1\"; certificate is only valid for DnsName(\"a\")",
                "as its certificate does",
                "subjectAltName",
            ),
            ("invalid peer certificate: UnknownIssuer", "ca_file", "as its certificate does"),
        ] {
            let said = explained(text);
            assert!(said.contains(word) && !said.contains(never), "{said}");
        }
    }

    #[test]
    fn what_a_server_says_is_short_and_on_one_line() {
        assert_eq!(reveal(&said("a\nb")), " (a b)");
        assert_eq!(said(" "), "");
        assert!(said(&"x".repeat(5000)).len() < 250);
    }
}
