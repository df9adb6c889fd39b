//! How large a template may make its values, and how deep it may nest; checked before the first row.
//!
//! The engine counts steps, not bytes, so a short template could take gigabytes within its fuel, or the stack. Three rules
//! bound both: code has a limited number of operators, a piece of it uses a limited number of values (what is set counts as
//! what it is made of), and `*` takes numbers only, for it repeats texts and lists. What filters make is bounded where it is
//! made (`filters::bounded`), what is printed by the formatter.

use std::collections::HashMap;

use super::check::{Role, WHOLE_ROW, assigns, role};
use super::engine::KEYWORDS;
use super::error::Error;
use super::scan::{Piece, Scan, TokenKind};

/// The longest template, in bytes.
const TEMPLATE_BYTES_MAX: usize = 64 * 1024;
/// The most pieces of code, and the most operators in one of them: each may nest in the one before.
const PIECES_MAX: usize = 250;
const OPERATORS_MAX: usize = 500;
/// The most values that one piece of code uses.
const VALUES_MAX: u64 = 250;
/// The longest text around the code of a template that loops, in bytes.
const LOOPED_BYTES_MAX: usize = 2 * 1024;
/// Filters that give a number.
const NUMBERS: &[&str] = &["abs", "count", "float", "int", "length", "round"];

/// Checks what must hold before the engine may see a template.
pub(super) fn check_size(place: &str, text: &str, scan: &Scan<'_>) -> Result<(), Error> {
    let operators = |piece: &Piece<'_>| piece.tokens.iter().filter(|token| is_operator(token.kind)).count();
    let nests = scan.pieces.len() > PIECES_MAX || scan.pieces.iter().any(|piece| operators(piece) > OPERATORS_MAX);
    match () {
        () if text.len() > TEMPLATE_BYTES_MAX => {
            let reason =
                format!("the template has more than {} KiB; long lists go into `values`", TEMPLATE_BYTES_MAX / 1024);
            Err(Error::whole(place, reason))
        }
        () if nests => {
            let reason = format!(
                "the template has more than {PIECES_MAX} pieces of code, or more than {OPERATORS_MAX} operators in one; long \
                 lists go into `values`"
            );
            Err(Error::whole(place, reason))
        }
        () => Ok(()),
    }
}

/// Everything by which a well-formed template may make its values too large.
pub(super) fn check_growth(place: &str, text: &str, scan: &Scan<'_>) -> Vec<Error> {
    let fault = |piece: &Piece<'_>, at: usize, reason: &str| {
        let offset = piece.tokens.get(at).map_or(piece.inner.start, |token| token.at);
        Error::within(place, text, offset, reason)
    };
    let mut faults = Vec::new();
    let mut values = Values::default();
    for piece in &scan.pieces {
        if values.of(piece) > VALUES_MAX {
            faults.push(fault(piece, 0, "this piece of code puts too many values together"));
        }
        let signs = (0..piece.tokens.len()).filter(|at| is_times(piece, *at));
        let bare = signs.filter(|at| !is_product_of_numbers(piece, *at));
        faults.extend(bare.map(|at| fault(piece, at, "`*` takes numbers; make them of text with `int` or `float`")));
    }
    let code: usize = scan.pieces.iter().map(|piece| piece.inner.len()).sum();
    let loops = scan.pieces.iter().any(|piece| piece.block && piece.kind(0) == Some(TokenKind::Word("for")));
    if loops && text.len() - code > LOOPED_BYTES_MAX {
        faults.push(Error::whole(place, "there is too much text around the code of a template that loops"));
    }
    faults
}

fn is_operator(kind: TokenKind<'_>) -> bool {
    match kind {
        TokenKind::Sign(sign) => !matches!(sign, ',' | ':' | ')' | ']' | '}'),
        TokenKind::Word(word) => KEYWORDS.contains(&word),
        TokenKind::Text(_) | TokenKind::Number => false,
    }
}

/// How many values what is set so far is made of.
#[derive(Default)]
struct Values<'t> {
    set: HashMap<&'t str, u64>,
    /// The names that are being set from what is printed, with the values so far.
    captures: Vec<(&'t str, u64)>,
}

impl<'t> Values<'t> {
    /// The number of values that a piece uses; what it sets is remembered.
    fn of(&mut self, piece: &Piece<'t>) -> u64 {
        let mut count = 0u64;
        let mut targets = Vec::new();
        for (at, token) in piece.tokens.iter().enumerate() {
            let TokenKind::Word(word) = token.kind else { continue };
            if role(piece, at) != Role::Variable || KEYWORDS.contains(&word) || (piece.block && at == 0) {
                continue;
            }
            let is_target = piece.block && (assigns(piece, at) || is_looped(piece, at));
            if is_target {
                targets.push(word);
            } else if !WHOLE_ROW.contains(&word) || piece.kind(at + 1).is_some() {
                count = count.saturating_add(self.set.get(word).copied().unwrap_or(1));
            }
        }
        for (_, so_far) in &mut self.captures {
            *so_far = so_far.saturating_add(count);
        }
        match piece.kind(0) {
            Some(TokenKind::Word("set")) if piece.block && targets.is_empty() => {
                if let Some(TokenKind::Word(name)) = piece.kind(1) {
                    self.captures.push((name, 0));
                }
            }
            Some(TokenKind::Word("endset")) if piece.block => {
                if let Some((name, count)) = self.captures.pop() {
                    self.remember(name, count);
                }
            }
            _ => targets.into_iter().for_each(|name| self.remember(name, count)),
        }
        count
    }

    fn remember(&mut self, name: &'t str, count: u64) {
        let known = self.set.entry(name).or_default();
        *known = (*known).max(count).max(1);
    }
}

/// Whether the word at a position is a name that a loop gives to its entries.
fn is_looped(piece: &Piece<'_>, at: usize) -> bool {
    piece.kind(0) == Some(TokenKind::Word("for"))
        && (1..at).all(|before| piece.kind(before) != Some(TokenKind::Word("in")))
}

/// Whether there is a lone `*` at a position.
fn is_times(piece: &Piece<'_>, at: usize) -> bool {
    let sign = Some(TokenKind::Sign('*'));
    piece.kind(at) == sign && piece.kind(at + 1) != sign && piece.before(at) != sign
}

/// Whether both sides of a `*` can be nothing but numbers.
fn is_product_of_numbers(piece: &Piece<'_>, at: usize) -> bool {
    let starts = (0..at).filter(|start| begins_operand(piece, *start));
    let left = starts.filter_map(|start| operand(piece, start)).filter(|operand| operand.end == at);
    let left: Vec<bool> = left.map(|operand| operand.is_number).collect();
    let right = operand(piece, at + 1).is_some_and(|operand| operand.is_number);
    right && !left.is_empty() && left.into_iter().all(|is_number| is_number)
}

/// Whether an operand may begin at a position: not within one, as a filter or what it takes does.
fn begins_operand(piece: &Piece<'_>, at: usize) -> bool {
    match (piece.before(at), piece.kind(at)) {
        (_, Some(TokenKind::Word(_))) => role(piece, at) == Role::Variable,
        (Some(TokenKind::Word(before)), Some(TokenKind::Sign('(' | '['))) => KEYWORDS.contains(&before),
        (Some(TokenKind::Sign(')' | ']')), Some(TokenKind::Sign('['))) => false,
        (_, Some(_)) => true,
        (_, None) => false,
    }
}

/// Where an operand ends, and whether it can be nothing but a number.
struct Operand {
    end: usize,
    is_number: bool,
}

/// The operand that begins at a position: a sign, a value, what is taken of it, and filters.
fn operand(piece: &Piece<'_>, start: usize) -> Option<Operand> {
    let mut at = start;
    while matches!(piece.kind(at), Some(TokenKind::Sign('-' | '+'))) {
        at += 1;
    }
    let (mut end, mut is_number) = match piece.kind(at)? {
        TokenKind::Number => (at + 1, true),
        TokenKind::Text(_) => (at + 1, false),
        TokenKind::Word(word) => (at + 1, role(piece, at) == Role::Attribute && !KEYWORDS.contains(&word)),
        TokenKind::Sign('(') => {
            let end = closing(piece, at)?;
            (end, is_sum(piece, at + 1, end - 1))
        }
        TokenKind::Sign('[' | '{') => (closing(piece, at)?, false),
        TokenKind::Sign(_) => return None,
    };
    loop {
        match (piece.kind(end), piece.kind(end + 1)) {
            (Some(TokenKind::Sign('.')), Some(TokenKind::Word(_))) => (end, is_number) = (end + 2, false),
            (Some(TokenKind::Sign('[')), _) => (end, is_number) = (closing(piece, end)?, false),
            (Some(TokenKind::Sign('|')), Some(TokenKind::Word(filter))) => {
                (end, is_number) = (end + 2, NUMBERS.contains(&filter));
                if piece.kind(end) == Some(TokenKind::Sign('(')) {
                    end = closing(piece, end)?;
                }
            }
            _ => return Some(Operand { end, is_number }),
        }
    }
}

/// Whether the text between two positions is a sum or product of numbers.
fn is_sum(piece: &Piece<'_>, mut at: usize, end: usize) -> bool {
    loop {
        match operand(piece, at) {
            Some(operand) if operand.is_number && operand.end == end => return true,
            Some(operand) if operand.is_number && operand.end < end => at = operand.end,
            _ => return false,
        }
        while matches!(piece.kind(at), Some(TokenKind::Sign('+' | '-' | '*' | '/' | '%'))) && at < end {
            at += 1;
        }
    }
}

/// The position behind the bracket that closes the one at a position.
fn closing(piece: &Piece<'_>, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for at in open..piece.tokens.len() {
        match piece.kind(at) {
            Some(TokenKind::Sign('(' | '[' | '{')) => depth += 1,
            Some(TokenKind::Sign(')' | ']' | '}')) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::scan::scan;

    #[test]
    fn times_takes_numbers_only() {
        for (template, fits) in [
            ("{{ fte | float * 40 }}", true),
            ("{{ 40 * fte | float }}", true),
            ("{{ (a | int + b | trim | int) * 2 }}", true),
            ("{{ a | int * -1 * (2 + 3) }}", true),
            ("{{ a ~ b | int * 3 }}", true),
            ("{{ a | int(default=0) * 3 }}", true),
            ("{{ a | round(2) * 3 }}", true),
            ("{{ a | trim(2) * 3 }}", false),
            ("{{ 2 ** 3 }}", true),
            ("{{ source['a'] | int * 2 }}", true),
            ("{{ 'a' * 1000 }}", false),
            ("{{ a * 1000 }}", false),
            ("{{ 1000 * a }}", false),
            ("{{ a * b | int }}", false),
            ("{{ [a] * 1000 }}", false),
            ("{{ ('a') * 1000 }}", false),
            ("{{ (a if 1 else 2) * 1000 }}", false),
            ("{{ (1, 2) * 1000 }}", false),
            ("{{ a | int | string * 1000 }}", false),
            ("{{ all['a'] * 1000 }}", false),
            ("{% set b = a %}{{ b * 1000 }}", false),
        ] {
            assert_eq!(check_growth("x", template, &scan(template)).is_empty(), fits, "{template}");
        }
    }

    #[test]
    fn what_is_set_counts_as_what_it_is_made_of() {
        let doubled = |times: usize, how: &dyn Fn(usize) -> String| {
            let text: String = (0..times).map(how).collect();
            check_growth("x", &text, &scan(&text)).is_empty()
        };
        for (name, how) in [
            ("set", (|n| format!("{{% set a{} = a{n} ~ a{n} %}}", n + 1)) as fn(usize) -> String),
            ("a block", |n| format!("{{% set a{} %}}{{{{ a{n} }}}}{{{{ a{n} }}}}{{% endset %}}", n + 1)),
            ("with", |n| format!("{{% with a{} = a{n} ~ a{n} %}}", n + 1)),
            ("a loop", |n| format!("{{% for a{} in [a{n} ~ a{n}] %}}", n + 1)),
        ] {
            assert!(doubled(7, &how) && !doubled(30, &how), "{name}");
        }
    }
}
