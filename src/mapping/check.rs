//! Checks a template that is well-formed for mistakes.

use std::collections::BTreeSet;

use super::engine::{BLOCKS, FILTERS, KEYWORDS, TESTS, text_of_literal};
use super::error::Error;
use super::filters::{check_date_format, knows_country};
use super::options::Vocabulary;
use super::scan::{Piece, Scan, TokenKind};
use crate::source::{JoinedName, Name};

/// The variables that hold the whole row.
pub(super) const WHOLE_ROW: [&str; 2] = ["source", "all"];

/// What one template was found to hold.
#[derive(Default)]
pub(super) struct TemplateFindings {
    /// The columns that it names through `source[…]`, `all[…]` or a lookup.
    pub(super) verbatim: BTreeSet<Name>,
    /// Those of them of which it takes one value, if they have several.
    pub(super) of_one: BTreeSet<Name>,
    /// Everything that is wrong with it.
    pub(super) faults: Vec<Error>,
}

/// Checks a template's words: only filters, tests, tables and countries that there are, columns only by names that can be
/// known beforehand.
pub(super) fn check(place: &str, text: &str, scan: &Scan<'_>, words: Vocabulary<'_>) -> TemplateFindings {
    let mut check = Check { place, text, words, found: TemplateFindings::default() };
    for piece in &scan.pieces {
        check.piece(piece);
    }
    check.found
}

struct Check<'c> {
    place: &'c str,
    text: &'c str,
    words: Vocabulary<'c>,
    found: TemplateFindings,
}

impl Check<'_> {
    fn piece(&mut self, piece: &Piece<'_>) {
        if piece.block {
            self.block(piece);
        }
        for at in 0..piece.tokens.len() {
            let Some(TokenKind::Word(word)) = piece.kind(at) else { continue };
            match role(piece, at) {
                Role::Filter => self.filter(piece, at, word),
                Role::Test if !TESTS.contains(&word) => {
                    self.fault(piece, at, unknown("test", word, TESTS.iter().copied()));
                }
                Role::Test | Role::Attribute => {}
                Role::Variable if WHOLE_ROW.contains(&word) => self.whole_row(piece, at, word),
                Role::Variable if self.words.is_lookup(word) => self.of_lookup(piece, at, word),
                Role::Variable if word == "self" => {
                    self.fault(piece, at, "`self` is a word of the template language; write source[\"self\"]");
                }
                Role::Variable if piece.kind(at + 1) == Some(TokenKind::Sign('(')) && !KEYWORDS.contains(&word) => {
                    let said = format!("there is no function `{word}`; templates know the row and filters only");
                    self.fault(piece, at, said);
                }
                Role::Variable => {}
            }
        }
    }

    fn fault(&mut self, piece: &Piece<'_>, at: usize, reason: impl Into<String>) {
        let offset = piece.tokens.get(at).map_or(piece.inner.start, |token| token.at);
        self.found.faults.push(Error::within(self.place, self.text, offset, reason));
    }

    fn filter(&mut self, piece: &Piece<'_>, at: usize, word: &str) {
        if !FILTERS.contains(&word) {
            self.fault(piece, at, unknown("filter", word, FILTERS.iter().copied()));
        }
        let literal = match (piece.kind(at + 1), piece.kind(at + 2)) {
            (Some(TokenKind::Sign('(')), Some(TokenKind::Text(literal))) => text_of_literal(literal),
            _ => return,
        };
        match word {
            "lookup" if !self.words.tables.contains_key(&literal) => {
                let reason = unknown("table", &literal, self.words.tables.keys().map(String::as_str));
                self.fault(piece, at + 2, format!("{reason}; tables are given as `values.{literal} = {{ … }}`"));
            }
            "phone" if !knows_country(&literal) => {
                self.fault(piece, at + 2, format!("`{literal}` is no country; it takes two letters of ISO 3166"));
            }
            "date" => {
                if let Err(reason) = check_date_format(&literal) {
                    self.fault(piece, at + 2, reason);
                }
            }
            _ => {}
        }
    }

    /// `source["…"]` and `source.name` can be known beforehand; the row as a whole, or an item worked out, cannot.
    fn whole_row(&mut self, piece: &Piece<'_>, at: usize, word: &str) {
        let name = match (piece.kind(at + 1), piece.kind(at + 2), piece.kind(at + 3)) {
            (Some(TokenKind::Sign('[')), Some(TokenKind::Text(literal)), Some(TokenKind::Sign(']'))) => {
                text_of_literal(literal)
            }
            (Some(TokenKind::Sign('.')), Some(TokenKind::Word(name)), _) => name.to_owned(),
            _ => {
                self.fault(piece, at, format!("`{word}` takes a column's name in quotes: {word}[\"…\"]"));
                return;
            }
        };
        let name = Name::Verbatim(name);
        if word == "source" {
            self.found.of_one.insert(name.clone());
        }
        self.found.verbatim.insert(name);
    }

    /// `NAME.column` and `NAME["…"]`, where NAME is a lookup.
    fn of_lookup(&mut self, piece: &Piece<'_>, at: usize, word: &str) {
        let column = match (piece.kind(at + 1), piece.kind(at + 2), piece.kind(at + 3)) {
            (Some(TokenKind::Sign('[')), Some(TokenKind::Text(literal)), Some(TokenKind::Sign(']'))) => {
                Name::Verbatim(text_of_literal(literal))
            }
            (Some(TokenKind::Sign('.')), Some(TokenKind::Word(name)), _) => Name::Plain(name.to_owned()),
            _ => {
                let said = format!("`{word}` is a lookup and takes a column's name: {word}.mail or {word}[\"…\"]");
                self.fault(piece, at, said);
                return;
            }
        };
        self.found.verbatim.insert(Name::Joined(JoinedName::new(word, column)));
    }

    fn block(&mut self, piece: &Piece<'_>) {
        let Some(TokenKind::Word(tag)) = piece.kind(0) else { return };
        if !BLOCKS.contains(&tag) {
            self.fault(piece, 0, format!("`{{% {tag} %}}` cannot be used here; there are if, for, set and with"));
        }
        if matches!(tag, "set" | "with") {
            self.assignment(piece);
        }
    }

    /// A name that is set from itself would no longer be known to be a column.
    fn assignment(&mut self, piece: &Piece<'_>) {
        let mut targets = Vec::new();
        let mut depth = 0usize;
        for at in 1..piece.tokens.len() {
            match piece.kind(at) {
                Some(TokenKind::Sign('(' | '[' | '{')) => depth += 1,
                Some(TokenKind::Sign(')' | ']' | '}')) => depth = depth.saturating_sub(1),
                Some(TokenKind::Word(word)) if depth == 0 && assigns(piece, at) => targets.push(word),
                _ => {}
            }
        }
        for at in 1..piece.tokens.len() {
            if let Some(TokenKind::Word(word)) = piece.kind(at)
                && targets.contains(&word)
                && role(piece, at) == Role::Variable
                && !assigns(piece, at)
            {
                self.fault(piece, at, format!("`{word}` is set and used in one place; give it another name"));
            }
        }
    }
}

/// Whether the word at a position is followed by a lone `=`, or by other names before one.
pub(super) fn assigns(piece: &Piece<'_>, at: usize) -> bool {
    match (piece.kind(at + 1), piece.kind(at + 2)) {
        (Some(TokenKind::Sign('=')), after) => after != Some(TokenKind::Sign('=')),
        (Some(TokenKind::Sign(',')), Some(TokenKind::Word(_))) => assigns(piece, at + 2),
        _ => false,
    }
}

/// The kind of a word, by the text before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Filter,
    Test,
    Attribute,
    Variable,
}

pub(super) fn role(piece: &Piece<'_>, at: usize) -> Role {
    let word = |at: usize, word: &str| piece.before(at) == Some(TokenKind::Word(word));
    match piece.before(at) {
        Some(TokenKind::Sign('|')) => Role::Filter,
        Some(TokenKind::Sign('.')) => Role::Attribute,
        Some(TokenKind::Word("is")) if piece.kind(at) != Some(TokenKind::Word("not")) => Role::Test,
        Some(TokenKind::Word("not")) if word(at - 1, "is") => Role::Test,
        _ => Role::Variable,
    }
}

/// Says that there is no such thing, and which one may have been meant.
pub(super) fn unknown<'n>(what: &str, word: &str, names: impl Iterator<Item = &'n str>) -> String {
    const NEAR: f64 = 0.5;
    let near = names
        .map(|name| (strsim::normalized_damerau_levenshtein(word, name), name))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    match near {
        Some((_, name)) => format!("there is no {what} `{word}`; did you mean `{name}`?"),
        None => format!("there is no {what} `{word}`"),
    }
}
