//! What a refusal of Microsoft means, and what to do.

use serde_json::Value;

/// By number of an error of the token endpoint (`AADSTS…`): what to do.
const TOKEN: &[(u64, &str)] = &[
    (7_000_215, "the client secret is wrong; put its value, not its id, where client_secret_file says"),
    (7_000_222, "the client secret has expired; make another one in the app registration"),
    (700_016, "the tenant has no app of this client_id; check client_id and tenant"),
    (700_027, "the certificate is not the app's, or has expired; upload certificate_file to the app registration"),
    (90_002, "there is no such tenant; check tenant"),
    (900_023, "tenant is neither the id of a tenant nor one of its domains"),
    (7_000_112, "the app is disabled in the tenant"),
    (53_003, "a conditional access policy of the tenant refuses the app"),
];

/// What the token endpoint says by its answer: the numbers that it names, and what to do. Nothing of its own words is
/// shown, which quote what was sent.
pub(super) fn of_token(status: u16, body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let numbers: Vec<u64> =
        value.get("error_codes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64).collect();
    let hint = TOKEN.iter().find(|(number, _)| numbers.contains(number)).map(|(_, hint)| *hint);
    let named: Vec<String> = numbers.iter().map(|number| format!("AADSTS{number}")).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    let usual = match status {
        429 | 500.. => "it is busy or fails for a moment; the next run tries again",
        _ => "check tenant, client_id and its secret or certificate",
    };
    let hint = hint.unwrap_or(usual);
    format!("it answered {status}{named} and issued no token: {hint}")
}

/// The code where a link to a page is too old.
const PAGE_EXPIRED: &str = "Directory_ExpiredPageToken";

/// The code of an error of Microsoft Graph, where it is a plain word, with what puts it apart.
pub(super) fn code(body: &[u8]) -> String {
    word(body).map(|code| format!(" ({code})")).unwrap_or_default()
}

fn word(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let code = value.pointer("/error/code")?.as_str()?;
    let is_word = !code.is_empty() && code.len() <= 80 && code.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word.then(|| code.to_owned())
}

/// What to do about an answer of Microsoft Graph, with what puts it apart.
pub(super) fn hint(status: u16, body: &[u8], asks_groups: bool) -> &'static str {
    match (status, asks_groups) {
        (400, _) if word(body).is_some_and(|code| code == PAGE_EXPIRED) => {
            "; a page of the list is there no more: the next run begins again"
        }
        (400, _) => "; check `filter`, `select` and the names of properties in the mapping",
        (401, _) => "; it does not take the token: check graph_url and login_url",
        (403, true) => {
            "; give the app the application permissions User.Read.All and GroupMember.Read.All, with an administrator's consent"
        }
        (403, false) => "; give the app the application permission User.Read.All, with an administrator's consent",
        (404 | 410, true) => "; check `groups`, or a page of the list is there no more: the next run begins again",
        (404 | 410, false) => "; check graph_url, or a page of the list is there no more: the next run begins again",
        (429 | 503 | 504, _) => "; it is busy; the next run tries again",
        (300..400, _) => "; redirects are not followed: check graph_url",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_token_says_what_to_do_and_quotes_nothing() {
        for (codes, said) in [
            ("[7000215]", "the client secret is wrong"),
            ("[7000222]", "has expired"),
            ("[700016]", "no app of this client_id"),
            ("[90002]", "no such tenant"),
            ("[1]", "check tenant, client_id"),
            ("null", "check tenant, client_id"),
        ] {
            let body = format!(r#"{{"error":"x","error_codes":{codes},"error_description":"AADSTS: s3cret"}}"#);
            let text = of_token(401, body.as_bytes());
            assert!(text.contains(said) && !text.contains("s3cret"), "{text}");
        }
        assert!(of_token(502, b"<html>").contains("502 and issued no token: it is busy"));
    }

    #[test]
    fn law_11_of_an_error_only_a_plain_code_is_shown() {
        for (body, said) in [
            (r#"{"error":{"code":"Authorization_RequestDenied","message":"ana"}}"#, " (Authorization_RequestDenied)"),
            (r#"{"error":{"code":"ana@example.com"}}"#, ""),
            ("<html>", ""),
        ] {
            assert_eq!(code(body.as_bytes()), said);
        }
    }

    #[test]
    fn a_page_that_has_expired_is_no_mistake_of_the_configuration() {
        let body = br#"{"error":{"code":"Directory_ExpiredPageToken"}}"#;
        assert!(hint(400, body, false).contains("the next run begins again"));
        assert!(hint(400, b"{}", false).contains("check `filter`"));
    }
}
