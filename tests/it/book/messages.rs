//! Every message that the pages on troubles and on reports quote is one of the program.

use super::{files, read};

/// The placeholder of a value in a text of the program.
const VALUE: char = '\0';

/// The texts of the program as they are shown: continued lines joined, `{…}` as [`VALUE`].
fn texts() -> Vec<String> {
    let mut texts = Vec::new();
    let sentences = files("src", "toml");
    for file in ["src", "crates"].iter().flat_map(|folder| files(folder, "rs")).chain(sentences) {
        let joined = read(&file).split("\\\n").map(str::trim_start).collect::<Vec<_>>().concat();
        // Every second part between quotes is a text; a part that ends in a backslash goes on behind its quote.
        let mut inside = false;
        let mut text = String::new();
        for part in joined.split('"') {
            text += part;
            if inside && part.ends_with('\\') {
                text.pop();
                text.push('"');
                continue;
            }
            if inside {
                texts.push(with_values(&text));
            }
            text.clear();
            inside = !inside;
        }
    }
    assert!(texts.len() > 1000, "only {} texts", texts.len());
    texts
}

fn with_values(text: &str) -> String {
    let mut parts = text.split('{');
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push(VALUE);
        shown += part.split_once('}').map_or(part, |(_, rest)| rest);
    }
    shown
}

/// What a quoted message says for sure: the parts between `…` and words in capitals.
fn pieces(message: &str) -> Vec<String> {
    let is_name = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase())
    };
    let mut pieces = vec![Vec::new()];
    for word in message.split(' ') {
        // `NAME` may stand in backquotes: then the quotes are part of the word, and nothing is lost.
        if word.contains('…') || is_name(word) {
            pieces.push(Vec::new());
        } else if let Some(piece) = pieces.last_mut() {
            piece.push(word);
        }
    }
    let pieces = pieces.into_iter().map(|words| words.join(" "));
    pieces.filter(|piece| piece.chars().filter(|c| c.is_alphabetic()).count() > 2).collect()
}

/// The messages in the first cell of a row; `` `` `` stands around one that has a backquote itself.
fn quoted(row: &str) -> Vec<String> {
    let Some(cell) = row.strip_prefix("| ").and_then(|row| row.split(" | ").next()) else { return Vec::new() };
    if let Some((_, rest)) = cell.split_once("``") {
        return rest.split_once("``").map(|(message, _)| message.trim().to_owned()).into_iter().collect();
    }
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_message_that_is_quoted_is_one_of_the_program() {
    let texts = texts();
    let troubles = read("docs/troubleshooting.md");
    let (troubles, _) = troubles.split_once("## Exit codes").unwrap();
    let messages: Vec<String> = troubles.lines().chain(read("docs/hr-report.md").lines()).flat_map(quoted).collect();
    assert!(messages.len() > 50, "only {} messages", messages.len());
    let unknown = |piece: &String| !texts.iter().any(|text| text.contains(piece.as_str()));
    let wrong: Vec<(String, Vec<String>)> = messages
        .into_iter()
        .map(|message| (message.clone(), pieces(&message).into_iter().filter(unknown).collect::<Vec<_>>()))
        .filter(|(_, missing)| !missing.is_empty())
        .collect();
    assert_eq!(wrong, []);
}
