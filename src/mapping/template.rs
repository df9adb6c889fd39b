//! One template: compiled, bound to columns, evaluated on a row.

use std::collections::BTreeSet;
use std::ops::Range;

use minijinja::{Environment, Expression, Template, Value};

use super::cells::visible;
use super::check::{Role, WHOLE_ROW, assigns, check, role};
use super::error::Error;
use super::growth::{check_growth, check_size};
use super::options::Vocabulary;
use super::outcome::{Rendered, VALUE_BYTES_MAX, from_text, from_value, reason};
use super::scan::{Piece, Scan, TokenKind, is_template, scan};
use crate::record::RowDefect;
use crate::source::{Name, Row};

/// One template of a job, found to be right.
pub(super) struct Compiled {
    /// Which one: `key`, `map.name`, …
    pub(super) place: String,
    /// The columns that it uses.
    pub(super) names: BTreeSet<Name>,
    /// Those of which it takes one value, if they have several.
    pub(super) of_one: BTreeSet<Name>,
    text: String,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// It holds no code.
    Literal,
    /// It is one column, through filters that are as quick without the engine.
    Column(Name, Vec<Plain>),
    /// It is one expression, here.
    Lone(Range<usize>),
    /// Text and code.
    Mixed,
}

/// A filter of the engine that takes nothing but text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    Lower,
    Upper,
    Trim,
}

impl Plain {
    fn named(name: &str) -> Option<Self> {
        match name {
            "lower" => Some(Self::Lower),
            "upper" => Some(Self::Upper),
            "trim" => Some(Self::Trim),
            _ => None,
        }
    }

    fn on(self, text: &str) -> String {
        match self {
            Self::Lower => text.to_lowercase(),
            Self::Upper => text.to_uppercase(),
            Self::Trim => text.trim().to_owned(),
        }
    }
}

impl Compiled {
    /// Compiles a template and adds it to the engine under its place.
    pub(super) fn new(
        environment: &mut Environment<'static>,
        place: &str,
        text: &str,
        words: Vocabulary<'_>,
    ) -> Result<Self, Vec<Error>> {
        let compiled =
            |names, of_one, shape| Self { place: place.to_owned(), names, of_one, text: text.to_owned(), shape };
        if !is_template(text) {
            return Ok(compiled(BTreeSet::new(), BTreeSet::new(), Shape::Literal));
        }
        let scan = scan(text);
        check_size(place, text, &scan).map_err(|error| vec![error])?;
        environment
            .add_template_owned(place.to_owned(), text.to_owned())
            .map_err(|error| vec![syntax(place, text, &error)])?;
        let mut checked = check(place, text, &scan, words);
        checked.faults.extend(check_growth(place, text, &scan));
        if !checked.faults.is_empty() {
            return Err(checked.faults);
        }
        let template = environment.get_template(place).map_err(|error| vec![syntax(place, text, &error)])?;
        let undeclared = template.undeclared_variables(false);
        let (mut names, mut of_one) = (checked.verbatim, checked.of_one);
        let is_column = |name: &String| !WHOLE_ROW.contains(&name.as_str()) && !words.is_lookup(name);
        let plain = undeclared.into_iter().chain(sliced(&scan)).filter(is_column).map(Name::Plain);
        of_one.extend(plain);
        names.extend(of_one.iter().cloned());
        let shape = shape(&scan, &names);
        Ok(compiled(names, of_one, shape))
    }

    /// The lookups whose columns it uses.
    pub(super) fn lookups(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter_map(|name| Some(name.joined()?.lookup.as_str()))
    }

    /// The column that it shows as it is.
    pub(super) fn lone_column(&self) -> Option<&Name> {
        let mut names = self.names.iter();
        let (Some(name), None) = (names.next(), names.next()) else { return None };
        let shows = match &self.shape {
            Shape::Column(_, filters) => filters.is_empty(),
            Shape::Lone(inner) => self.text[inner.clone()].trim().replace('\'', "\"") == name.to_string(),
            Shape::Literal | Shape::Mixed => false,
        };
        shows.then_some(name)
    }

    /// Whether the engine is needed for it.
    pub(super) fn needs_engine(&self) -> bool {
        matches!(self.shape, Shape::Lone(_) | Shape::Mixed)
    }

    /// Its result on variables that are no row; the error is a reason without any value of theirs.
    pub(super) fn on_variables(
        &self,
        environment: &Environment<'static>,
        variables: Value,
    ) -> Result<Rendered, RowDefect> {
        match &self.shape {
            Shape::Literal => from_text(&self.text, VALUE_BYTES_MAX),
            Shape::Mixed => {
                let text = environment.get_template(&self.place).and_then(|template| template.render(variables));
                text.map_err(|error| reason(&error)).and_then(|text| from_text(&text, VALUE_BYTES_MAX))
            }
            Shape::Column(..) | Shape::Lone(_) => {
                let inner = scan(&self.text).pieces.first().map_or(0..0, |piece| piece.inner.clone());
                let value = environment.compile_expression(&self.text[inner]).and_then(|code| code.eval(variables));
                value.map_err(|error| reason(&error)).and_then(|value| from_value(&value, VALUE_BYTES_MAX))
            }
        }
    }

    /// Makes it ready for rows; `column` finds the column of a name.
    pub(super) fn ready<'m>(
        &'m self,
        environment: &'m Environment<'static>,
        column: impl Fn(&Name) -> Option<usize>,
    ) -> Result<Ready<'m>, Error> {
        let failed = |error: minijinja::Error| syntax(&self.place, &self.text, &error);
        Ok(match &self.shape {
            Shape::Literal => Ready::Literal(&self.text),
            Shape::Column(name, filters) => Ready::Column(column(name), filters),
            Shape::Lone(inner) => {
                let code = self.text[inner.clone()].to_owned();
                Ready::Lone(environment.compile_expression_owned(code).map_err(failed)?)
            }
            Shape::Mixed => Ready::Mixed(environment.get_template(&self.place).map_err(failed)?),
        })
    }
}

/// A template that is ready for rows.
pub(super) enum Ready<'m> {
    Literal(&'m str),
    Column(Option<usize>, &'m [Plain]),
    Lone(Expression<'m, 'static>),
    Mixed(Template<'m, 'm>),
}

impl Ready<'_> {
    /// Its result on a row, at most `bytes_max` bytes; the error is a reason without any value of the row. `variables`
    /// is asked for the row as the engine sees it, where the engine is needed.
    pub(super) fn on(
        &self,
        row: &Row,
        bytes_max: usize,
        variables: impl FnOnce() -> Value,
    ) -> Result<Rendered, RowDefect> {
        match self {
            Self::Literal(text) => from_text(text, bytes_max),
            Self::Column(column, filters) => {
                let text = column.map_or("", |column| visible(row.cell(column)));
                match filters {
                    [] => from_text(text, bytes_max),
                    [first, rest @ ..] => {
                        from_text(&rest.iter().fold(first.on(text), |text, filter| filter.on(&text)), bytes_max)
                    }
                }
            }
            Self::Lone(expression) => expression
                .eval(variables())
                .map_err(|error| reason(&error))
                .and_then(|value| from_value(&value, bytes_max)),
            Self::Mixed(template) => template
                .render(variables())
                .map_err(|error| reason(&error))
                .and_then(|text| from_text(&text, bytes_max)),
        }
    }
}

/// The variables of which a part is taken, as in `name[:3]`, and that no tag sets: the engine does not list them.
fn sliced(scan: &Scan<'_>) -> BTreeSet<String> {
    let (mut sliced, mut set) = (BTreeSet::new(), BTreeSet::new());
    for piece in &scan.pieces {
        let tag = if piece.block { piece.kind(0) } else { None };
        let loops_to = (1..piece.tokens.len()).find(|at| piece.kind(*at) == Some(TokenKind::Word("in")));
        for at in 0..piece.tokens.len() {
            let Some(TokenKind::Word(word)) = piece.kind(at) else { continue };
            let is_set = match tag {
                Some(TokenKind::Word("set" | "with")) => at > 0 && assigns(piece, at),
                Some(TokenKind::Word("for")) => at > 0 && loops_to.is_some_and(|end| at < end),
                _ => false,
            };
            if is_set {
                set.insert(word.to_owned());
            } else if role(piece, at) == Role::Variable && is_slice(piece, at + 1) {
                sliced.insert(word.to_owned());
            }
        }
    }
    sliced.retain(|word| !set.contains(word));
    sliced
}

/// Whether a slice begins at a token: a bracket with a colon in it, and not in a bracket of its own.
fn is_slice(piece: &Piece<'_>, at: usize) -> bool {
    if piece.kind(at) != Some(TokenKind::Sign('[')) {
        return false;
    }
    let mut depth = 0usize;
    for at in at..piece.tokens.len() {
        match piece.kind(at) {
            Some(TokenKind::Sign('(' | '[' | '{')) => depth += 1,
            Some(TokenKind::Sign(')' | ']' | '}')) if depth == 1 => return false,
            Some(TokenKind::Sign(')' | ']' | '}')) => depth -= 1,
            Some(TokenKind::Sign(':')) if depth == 1 => return true,
            _ => {}
        }
    }
    false
}

/// `{{ column }}`, `{{ source["column"] }}` and either `| lower` need no engine, `{{ expression }}` keeps its type.
fn shape(scan: &Scan<'_>, names: &BTreeSet<Name>) -> Shape {
    let [piece] = &scan.pieces[..] else { return Shape::Mixed };
    if piece.block || scan.text_around {
        return Shape::Mixed;
    }
    let kinds: Vec<TokenKind<'_>> = piece.tokens.iter().map(|token| token.kind).collect();
    let filters = match &kinds[..] {
        [TokenKind::Word("source"), TokenKind::Sign('['), TokenKind::Text(_), TokenKind::Sign(']'), filters @ ..] => {
            plain(filters)
        }
        [TokenKind::Word(_), filters @ ..] => plain(filters),
        _ => None,
    };
    match names.first().zip(filters) {
        Some((name, filters)) => Shape::Column(name.clone(), filters),
        None => Shape::Lone(piece.inner.clone()),
    }
}

/// A chain of plain filters; none where there is anything else.
fn plain(tokens: &[TokenKind<'_>]) -> Option<Vec<Plain>> {
    let chain = tokens.chunks(2).map(|link| match link {
        [TokenKind::Sign('|'), TokenKind::Word(name)] => Plain::named(name),
        _ => None,
    });
    chain.collect()
}

fn syntax(place: &str, text: &str, error: &minijinja::Error) -> Error {
    let reason = match error.detail() {
        Some(detail) => detail.to_owned(),
        None => error.kind().to_string(),
    };
    match (error.range(), error.line()) {
        (Some(range), _) => Error::within(place, text, range.start, reason),
        (None, Some(line)) => {
            let start = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
            Error::within(place, text, start, reason)
        }
        (None, None) => Error::whole(place, reason),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    use super::*;
    use crate::mapping::engine::environment;
    use crate::mapping::options::Tables;

    #[test]
    fn a_slice_names_its_column() {
        for (text, names) in [
            ("{{ a[:3] }}", &["a"][..]),
            ("{{ a[1:] ~ b }}", &["a", "b"]),
            ("{{ a[0] }} {{ (b)[0] }}", &["a", "b"]),
            ("{% set x = a[:3] %}{{ x[1:] }}", &["a"]),
            ("{% for x in a | split %}{{ x[:1] }}{% endfor %}", &["a"]),
            ("{{ a | replace('x', b[2:4]) }}", &["a", "b"]),
        ] {
            let tables = Arc::new(Tables::new());
            let mut environment = environment(Arc::clone(&tables), TimeZone::UTC);
            let words = Vocabulary { tables: &tables, lookups: &[] };
            let compiled = Compiled::new(&mut environment, "map.name", text, words);
            let compiled = compiled.unwrap_or_else(|faults| panic!("{text}: {faults:?}"));
            let found: Vec<&str> = compiled.names.iter().map(Name::as_str).collect();
            assert_eq!(found, names, "{text}");
        }
    }

    #[test]
    fn a_template_is_no_more_than_it_needs_to_be() {
        let plain = |name: &str| Name::Plain(name.to_owned());
        for (text, shape) in [
            ("Ana", Shape::Literal),
            ("{ a }", Shape::Literal),
            ("{{ a }}", Shape::Column(plain("a"), vec![])),
            (" {{- straße -}} ", Shape::Column(plain("straße"), vec![])),
            ("{{ source[\"E-Mail\"] }}", Shape::Column(Name::Verbatim("E-Mail".into()), vec![])),
            ("{{ source['E-Mail'] | trim }}", Shape::Column(Name::Verbatim("E-Mail".into()), vec![Plain::Trim])),
            ("{{ a | lower }}", Shape::Column(plain("a"), vec![Plain::Lower])),
            ("{{ a|upper|trim }}", Shape::Column(plain("a"), vec![Plain::Upper, Plain::Trim])),
            ("{{ a | lower ~ 'x' }}", Shape::Lone(2..19)),
            ("{{ a | trim('x') }}", Shape::Lone(2..17)),
            ("{{ a | squeeze }}", Shape::Lone(2..15)),
            ("{{ true }}", Shape::Lone(2..8)),
            ("{{ a }} {{ b }}", Shape::Mixed),
            ("{{ a }}!", Shape::Mixed),
            ("{% if a %}1{% endif %}", Shape::Mixed),
        ] {
            let compiled = Compiled::new(
                &mut environment(Arc::default(), TimeZone::UTC),
                "x",
                text,
                Vocabulary::of_tables(&Tables::new()),
            );
            assert_eq!(compiled.ok().unwrap().shape, shape, "{text}");
        }
    }

    proptest! {
        /// What needs no engine is what the engine makes of it.
        #[test]
        fn a_plain_filter_is_the_engines_own(text in r"[\s\PC]{0,12}|[ßİǅΣς \t]{0,6}") {
            let mut environment = environment(Arc::default(), TimeZone::UTC);
            for template in ["{{ a }}", "{{ a | lower }}", "{{ a | upper }}", "{{ a | trim }}", "{{ a | trim | lower | upper }}"] {
                let compiled = Compiled::new(&mut environment, "x", template, Vocabulary::of_tables(&Tables::new())).ok().unwrap();
                let Shape::Column(_, filters) = &compiled.shape else { panic!("{template}") };
                let by_engine = compiled.on_variables(&environment, minijinja::context! { a => text.as_str() });
                let short = filters.iter().fold(text.clone(), |text, filter| filter.on(&text));
                prop_assert!(by_engine == from_text(&short, VALUE_BYTES_MAX), "{template}");
            }
        }
    }
}
