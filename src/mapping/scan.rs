//! The scanner of templates: from text to tokens.
//!
//! The template engine tells which names a template uses, but not which item of `source[…]`, nor which filter before it
//! runs. This reads the same text again, only as far as those questions need, after the engine has found it well-formed.

use std::ops::Range;

/// The code of a template, piece by piece.
pub(super) struct Scan<'t> {
    /// The contents of `{{ }}` and `{% %}`, in order.
    pub(super) pieces: Vec<Piece<'t>>,
    /// Whether there is anything but white space outside of them.
    pub(super) text_around: bool,
}

/// One `{{ }}` or `{% %}`.
pub(super) struct Piece<'t> {
    /// Whether it is `{% %}`.
    pub(super) block: bool,
    /// The position of the code in the template, without its marks.
    pub(super) inner: Range<usize>,
    /// Its tokens.
    pub(super) tokens: Vec<Token<'t>>,
}

/// A token and where it begins, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    /// What it is.
    pub(super) kind: TokenKind<'t>,
    /// Where it begins in the template.
    pub(super) at: usize,
}

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'t> {
    /// A name or a keyword.
    Word(&'t str),
    /// A text, with its quotes and escapes.
    Text(&'t str),
    /// A number.
    Number,
    /// Any other character.
    Sign(char),
}

impl<'t> Piece<'t> {
    /// The kind of the token at a position, where there is one.
    pub(super) fn kind(&self, at: usize) -> Option<TokenKind<'t>> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// The kind of the token before a position.
    pub(super) fn before(&self, at: usize) -> Option<TokenKind<'t>> {
        at.checked_sub(1).and_then(|at| self.kind(at))
    }
}

/// Reads a template that the engine has found well-formed.
pub(super) fn scan(text: &str) -> Scan<'_> {
    let mut scan = Scan { pieces: Vec::new(), text_around: false };
    let mut at = 0;
    while let Some((start, mark)) = next_mark(text, at) {
        scan.text_around |= !text[at..start].trim().is_empty();
        at = if mark == '#' {
            scan.text_around = true;
            text[start..].find("#}").map_or(text.len(), |end| start + end + 2)
        } else {
            let (piece, end) = piece(text, start + 2, mark == '%');
            scan.pieces.push(piece);
            end
        };
    }
    scan.text_around |= !text[at..].trim().is_empty();
    scan
}

/// Whether a text is a template at all; otherwise it is taken literally.
pub(super) fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

fn next_mark(text: &str, from: usize) -> Option<(usize, char)> {
    text[from..].match_indices('{').find_map(|(at, _)| {
        let mark = text[from + at + 1..].chars().next()?;
        matches!(mark, '{' | '%' | '#').then_some((from + at, mark))
    })
}

/// Reads the code that begins at `start`; the piece and the position behind its end mark.
fn piece(text: &str, start: usize, block: bool) -> (Piece<'_>, usize) {
    let start = start + usize::from(text[start..].starts_with(['-', '+']));
    let end_mark = if block { "%}" } else { "}}" };
    let (mut tokens, mut at, mut depth) = (Vec::new(), start, 0usize);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let trimmed = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        if depth == 0 && (rest.starts_with(end_mark) || trimmed.starts_with(end_mark)) {
            let end = at + (rest.len() - trimmed.len()) * usize::from(!rest.starts_with(end_mark)) + end_mark.len();
            return (Piece { block, inner: start..at, tokens }, end);
        }
        let (kind, length) = token(rest, c);
        match kind {
            Some(TokenKind::Sign('(' | '[' | '{')) => depth += 1,
            Some(TokenKind::Sign(')' | ']' | '}')) => depth = depth.saturating_sub(1),
            _ => {}
        }
        tokens.extend(kind.map(|kind| Token { kind, at }));
        at += length;
    }
    (Piece { block, inner: start..text.len(), tokens }, text.len())
}

/// The token that `rest` begins with, `None` for white space, and its length.
fn token(rest: &str, first: char) -> (Option<TokenKind<'_>>, usize) {
    let span = |belongs: &dyn Fn(char) -> bool| rest.find(|c| !belongs(c)).unwrap_or(rest.len());
    let in_word = |c: char| c == '_' || c.is_alphanumeric() || (!c.is_ascii() && !c.is_whitespace());
    match first {
        c if c.is_whitespace() => (None, span(&char::is_whitespace)),
        '"' | '\'' => {
            let length = text_length(rest, first);
            (Some(TokenKind::Text(&rest[..length])), length)
        }
        c if c.is_ascii_digit() => {
            (Some(TokenKind::Number), span(&|c| c == '.' || c == '_' || c.is_ascii_alphanumeric()))
        }
        c if in_word(c) => {
            let length = span(&in_word);
            (Some(TokenKind::Word(&rest[..length])), length)
        }
        c => (Some(TokenKind::Sign(c)), c.len_utf8()),
    }
}

fn text_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_code_of_a_template_is_found() {
        for (text, inner, text_around) in [
            ("{{ a }}", vec![" a "], false),
            (" {{- a -}} ", vec![" a "], false),
            ("x {{ a }}", vec![" a "], true),
            ("{{ a }}{{ '}}' }}", vec![" a ", " '}}' "], false),
            ("{{ {'a': {'b': 1}} }}", vec![" {'a': {'b': 1}} "], false),
            ("{% if a %}b{% endif %}", vec![" if a ", " endif "], true),
            ("{# {{ a }} #}{{ b }}", vec![" b "], true),
            ("{ {{ \"\\\"}}\" }}", vec![" \"\\\"}}\" "], true),
        ] {
            let scan = scan(text);
            let found: Vec<&str> = scan.pieces.iter().map(|piece| &text[piece.inner.clone()]).collect();
            assert_eq!((found, scan.text_around), (inner, text_around), "{text}");
        }
    }

    #[test]
    fn tokens_are_distinguished() {
        let scan = scan("{{ straße|f('x', 1.5) }}");
        let kinds: Vec<TokenKind<'_>> = scan.pieces[0].tokens.iter().map(|token| token.kind).collect();
        let (word, sign) = (TokenKind::Word, TokenKind::Sign);
        assert_eq!(
            kinds,
            [
                word("straße"),
                sign('|'),
                word("f"),
                sign('('),
                TokenKind::Text("'x'"),
                sign(','),
                TokenKind::Number,
                sign(')')
            ]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "[a {}%#'\"\\\\é|()-]{0,30}") {
            let scan = scan(&text);
            prop_assert!(scan.pieces.iter().all(|piece| piece.inner.end <= text.len()));
        }
    }
}
