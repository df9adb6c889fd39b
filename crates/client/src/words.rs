//! The service's words about a failure, safe to show: short, and without people or secrets (law 11).

use serde_json::Value;

/// The longest text, in characters.
pub(crate) const LENGTH_MAX: usize = 300;
/// Sent texts shorter than this are not looked for in what came back.
const SENT_MIN: usize = 3;
const HIDDEN: &str = "***";

/// The words of an error's body: a message of any usual shape, else its text. Nothing is decided by them.
pub(crate) fn words(body: &[u8], sent: Option<&Value>, secrets: &[&str]) -> String {
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(json) => message(&json, 0).unwrap_or_default(),
        Err(_) => without_tags(&String::from_utf8_lossy(body)),
    };
    let mut text = in_words(&text);
    let mut hidden: Vec<String> = secrets.iter().map(|secret| (*secret).to_owned()).collect();
    if let Some(sent) = sent {
        collect(sent, &mut hidden);
    }
    // As it would be shown: a line that was broken elsewhere says the same.
    hidden.iter_mut().for_each(|text| *text = in_words(text));
    // The longest first, or a part of it would be hidden and the rest stay.
    hidden.sort_by_key(|text| std::cmp::Reverse(text.len()));
    for value in hidden.iter().filter(|value| value.chars().count() >= SENT_MIN) {
        text = text.replace(value.as_str(), HIDDEN);
    }
    let words: Vec<&str> =
        text.split_whitespace().map(|word| if names_someone(word) { HIDDEN } else { word }).collect();
    let text = words.join(" ");
    match text.char_indices().nth(LENGTH_MAX) {
        None => text,
        Some((end, _)) => text[..end].to_owned(),
    }
}

/// A text with a blank between each two words, and nothing that a terminal would act on.
fn in_words(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first of the usual names that holds words; depth is limited.
fn message(json: &Value, depth: u8) -> Option<String> {
    if depth > 3 {
        return None;
    }
    match json {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().take(5).filter_map(|item| message(item, depth + 1)).collect();
            (!texts.is_empty()).then(|| texts.join("; "))
        }
        Value::Object(object) => ["message", "error_description", "error", "errors", "detail", "title", "reason"]
            .iter()
            .find_map(|name| object.get(*name).and_then(|value| message(value, depth + 1))),
        _ => None,
    }
}

/// An email address, or a number as long as a phone's.
fn names_someone(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    word.contains('@') || digits >= 5
}

fn without_tags(text: &str) -> String {
    let mut plain = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => {
                inside = false;
                plain.push(' ');
            }
            c if !inside => plain.push(c),
            _ => {}
        }
    }
    plain
}

fn collect(json: &Value, texts: &mut Vec<String>) {
    match json {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(object) => object.values().for_each(|item| collect(item, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_found_in_any_shape() {
        let check = |body: &str, expected: &str| assert_eq!(words(body.as_bytes(), None, &[]), expected, "{body}");
        check(r#"{"error":"name is required"}"#, "name is required");
        check(r#"{"message":"no","error":"other"}"#, "no");
        check(r#"{"errors":[{"message":"a"},{"message":"b"}]}"#, "a; b");
        check(r#"{"error":{"code":4,"message":"deep"}}"#, "deep");
        check(r#"{"staff":{"name":"x"}}"#, "");
        check("plain\r\ntext\u{7}", "plain text");
        check("<html><body><h1>Bad</h1> gateway</body></html>", "Bad gateway");
        check("", "");
        assert_eq!(words("x ".repeat(1_000).as_bytes(), None, &[]).chars().count(), 300);
    }

    #[test]
    fn law_11_people_and_secrets_are_left_out() {
        let sent = json!({"name": "Ada Lovelace", "cf": {"4": "Box 9"}, "title": "Dr"});
        let body = r#"{"error":"Ada Lovelace, ada@example.com, 64298385771 in Box 9 exists (key s3cret)"}"#;
        assert_eq!(words(body.as_bytes(), Some(&sent), &["s3cret"]), "***, *** *** in *** exists (key ***)");
        for body in ["Ada\r\n  Lovelace exists", "<b>Ada</b> Lovelace exists", r#"{"error":"Ada\tLovelace exists"}"#] {
            assert_eq!(words(body.as_bytes(), Some(&sent), &[]), "*** exists", "{body}");
        }
    }
}
