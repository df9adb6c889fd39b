//! Puts all mutants of a source file into it at once, each behind a condition, so that one build serves them all.
//!
//! A mutant is what cargo-mutants lists: another operator, a function that returns at once, an arm that never matches. Here each
//! becomes `if on(number) { mutated } else { original }` in a form that evaluates operands once and in the same order. A mutant
//! whose form does not compile is left out by the caller, who knows from the range of each piece which one it was.
//!
//! Rejected: a build for each mutant, as cargo-mutants makes it. It needs no such forms and misses none, but takes two days.

use std::collections::HashMap;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// One mutant, as `cargo mutants --list --json` prints it, with its place in that list.
#[derive(Clone, Debug, serde::Deserialize)]
pub struct Mutant {
    #[serde(skip)]
    pub number: usize,
    pub name: String,
    pub file: String,
    pub span: Span,
    pub replacement: String,
    pub genre: String,
}

#[derive(Clone, Debug, serde::Deserialize)]
pub struct Span {
    pub start: Place,
}

/// Both count from one; columns are characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

/// Text of the woven file that belongs to mutants.
pub struct Piece {
    pub range: Range<usize>,
    pub mutants: Vec<usize>,
}

/// A file with its mutants: what was written for them, and what each of them surrounds.
pub struct Woven {
    pub text: String,
    pub pieces: Vec<Piece>,
    pub wraps: Vec<Piece>,
    /// What is matched on, with the arms that get a guard: those no longer count where the compiler wants all cases covered.
    pub matched: Vec<Piece>,
    pub found: Vec<usize>,
}

/// What is written at a place of the original file. Of several at one place the closing ones come first, from the inside out, and
/// then the opening ones, from the outside in.
struct Edit {
    at: usize,
    removed: usize,
    opens: bool,
    extent: usize,
    parts: Vec<(String, Vec<usize>)>,
}

struct Weaver<'a> {
    source: &'a str,
    sought: HashMap<(&'static str, Place), Vec<&'a Mutant>>,
    edits: Vec<Edit>,
    wraps: Vec<(Range<usize>, Vec<usize>)>,
    matched: Vec<(Range<usize>, Vec<usize>)>,
    found: Vec<usize>,
}

/// Writes these mutants into a file.
pub fn weave(source: &str, mutants: &[&Mutant]) -> Result<Woven, syn::Error> {
    let file = syn::parse_file(source)?;
    let mut weaver = Weaver {
        source,
        sought: HashMap::new(),
        edits: Vec::new(),
        wraps: Vec::new(),
        matched: Vec::new(),
        found: Vec::new(),
    };
    for &mutant in mutants {
        let genre = ["FnValue", "BinaryOperator", "UnaryOperator", "MatchArm", "MatchArmGuard", "StructField"]
            .into_iter()
            .find(|genre| *genre == mutant.genre);
        let Some(genre) = genre else { continue };
        weaver.sought.entry((genre, mutant.span.start)).or_default().push(mutant);
    }
    weaver.visit_file(&file);
    Ok(weaver.written())
}

fn on(number: usize) -> String {
    format!("crate::mutant__::on({number})")
}

/// `if on(1) { … } else if on(2) { … } else { original }`, each branch a part of its own.
fn branches(
    mutants: &[&Mutant],
    all: &[usize],
    mutated: impl Fn(&Mutant) -> String,
    original: String,
) -> Vec<(String, Vec<usize>)> {
    let mut parts: Vec<(String, Vec<usize>)> = mutants
        .iter()
        .map(|mutant| (format!("if {} {{ {} }} else ", on(mutant.number), mutated(mutant)), vec![mutant.number]))
        .collect();
    parts.push((format!("{{ {original} }}"), all.to_vec()));
    parts
}

impl<'a> Weaver<'a> {
    fn take(&mut self, genre: &'static str, span: proc_macro2::Span) -> Vec<&'a Mutant> {
        let start = span.start();
        let taken =
            self.sought.remove(&(genre, Place { line: start.line, column: start.column + 1 })).unwrap_or_default();
        self.found.extend(taken.iter().map(|mutant| mutant.number));
        taken
    }

    fn open(&mut self, whole: &Range<usize>, parts: Vec<(String, Vec<usize>)>) {
        self.edits.push(Edit { at: whole.start, removed: 0, opens: true, extent: whole.len(), parts });
    }

    fn close(&mut self, whole: &Range<usize>, parts: Vec<(String, Vec<usize>)>) {
        self.edits.push(Edit { at: whole.end, removed: 0, opens: false, extent: whole.len(), parts });
    }

    fn replace(&mut self, range: Range<usize>, text: &str, all: &[usize]) {
        self.edits.push(Edit {
            at: range.start,
            removed: range.len(),
            opens: true,
            extent: 0,
            parts: vec![(text.to_owned(), all.to_vec())],
        });
    }

    fn written(self) -> Woven {
        // An inner one is found before the outer one of the same extent.
        let mut order: Vec<usize> = (0..self.edits.len()).collect();
        order.sort_by_key(|index| {
            let edit = &self.edits[*index];
            if edit.opens {
                (edit.at, true, usize::MAX - edit.extent, usize::MAX - index)
            } else {
                (edit.at, false, edit.extent, *index)
            }
        });
        let mut text = String::with_capacity(self.source.len() * 2);
        let mut pieces = Vec::new();
        // Where each place of the original has come to lie: for the ranges that mutants surround.
        let mut moved: Vec<(usize, usize)> = vec![(0, 0)];
        let mut read = 0;
        for edit in order.iter().map(|index| &self.edits[*index]) {
            text.push_str(&self.source[read..edit.at]);
            for (part, mutants) in &edit.parts {
                let start = text.len();
                text.push_str(part);
                pieces.push(Piece { range: start..text.len(), mutants: mutants.clone() });
            }
            read = edit.at + edit.removed;
            moved.push((read, text.len()));
        }
        text.push_str(&self.source[read..]);
        let place = |original: usize| {
            let index = moved.partition_point(|(from, _)| *from <= original) - 1;
            moved[index].1 + (original - moved[index].0)
        };
        let moved = |ranges: &[(Range<usize>, Vec<usize>)]| {
            ranges
                .iter()
                .map(|(range, mutants)| Piece { range: place(range.start)..place(range.end), mutants: mutants.clone() })
                .collect()
        };
        Woven { text, pieces, wraps: moved(&self.wraps), matched: moved(&self.matched), found: self.found }
    }

    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let Some(first) = block.stmts.first() else { return };
        // Its value and that of the mutant have two types, of which a function can have one only.
        if self.source[signature.output.span().byte_range()].contains("impl ") {
            return;
        }
        let mutants = self.take("FnValue", first.span());
        if mutants.is_empty() {
            return;
        }
        let at = first.span().byte_range();
        let parts = mutants
            .iter()
            .map(|mutant| {
                (format!("if {} {{ return {}; }} ", on(mutant.number), mutant.replacement), vec![mutant.number])
            })
            .collect();
        self.open(&(at.start..block.span().byte_range().end), parts);
    }
}

fn binds(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => {
            matches!(binary.op, syn::BinOp::And(_)) && (binds(&binary.left) || binds(&binary.right))
        }
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Weaver<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.body(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.body(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.body(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        use syn::BinOp;
        visit::visit_expr_binary(self, binary);
        let logical = matches!(binary.op, BinOp::And(_) | BinOp::Or(_));
        if logical && (binds(&binary.left) || binds(&binary.right)) {
            return;
        }
        let mutants = self.take("BinaryOperator", binary.op.span());
        if mutants.is_empty() {
            return;
        }
        let (left, op, right) =
            (binary.left.span().byte_range(), binary.op.span().byte_range(), binary.right.span().byte_range());
        let whole = left.start..right.end;
        let all: Vec<usize> = mutants.iter().map(|mutant| mutant.number).collect();
        self.wraps.push((whole.clone(), all.clone()));
        let sign = &self.source[op.clone()];
        match binary.op {
            BinOp::Eq(_) | BinOp::Ne(_) => {
                self.open(&whole, vec![("((".into(), all.clone())]);
                self.close(&whole, vec![(format!(") ^ {})", on(all[0])), all)]);
            }
            BinOp::And(_) | BinOp::Or(_) => {
                let on = on(all[0]);
                self.open(&whole, vec![("(((".into(), all.clone())]);
                self.close(&left, vec![(format!(") != {on}"), all.clone())]);
                self.open(&right, vec![("(".into(), all.clone())]);
                self.close(&whole, vec![(format!(") != {on}) != {on})"), all)]);
            }
            BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_) => {
                let (l, r) = (&self.source[left], &self.source[right]);
                let mut parts: Vec<(String, Vec<usize>)> = vec![("{ ".into(), all.clone())];
                for mutant in &mutants {
                    parts.push((
                        format!("if {} {{ {l} {} {r}; }} else ", on(mutant.number), mutant.replacement)
                            .replace('\n', " "),
                        vec![mutant.number],
                    ));
                }
                parts.push(("{ ".into(), all.clone()));
                self.open(&whole, parts);
                self.close(&whole, vec![(" } }".into(), all)]);
            }
            _ => {
                // A comparison leaves its operands where they are.
                let compares = matches!(binary.op, BinOp::Lt(_) | BinOp::Gt(_) | BinOp::Le(_) | BinOp::Ge(_));
                let by = if compares { "&(" } else { "(" };
                let parts = branches(
                    &mutants,
                    &all,
                    |mutant| format!("l__ {} r__", mutant.replacement),
                    format!("l__ {sign} r__"),
                );
                self.open(&whole, vec![(format!("(match ({by}"), all.clone())]);
                self.replace(op, &format!("), {by}"), &all);
                self.close(
                    &whole,
                    [vec![(")) { (l__, r__) => ".into(), all.clone())], parts, vec![(" })".into(), all)]].concat(),
                );
            }
        }
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        visit::visit_expr_unary(self, unary);
        let mutants = self.take("UnaryOperator", unary.op.span());
        let [mutant] = mutants[..] else { return };
        let (op, whole) = (unary.op.span().byte_range(), unary.span().byte_range());
        let (on, all) = (on(mutant.number), vec![mutant.number]);
        self.wraps.push((whole.clone(), all.clone()));
        let sign = &self.source[op.clone()];
        self.edits.push(Edit {
            at: op.start,
            removed: op.len(),
            opens: true,
            extent: whole.len(),
            parts: vec![("({ let e__ = ".into(), all.clone())],
        });
        self.close(&whole, vec![(format!("; if {on} {{ e__ }} else {{ {sign}e__ }} }})"), all)]);
    }

    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        let before = self.found.len();
        visit::visit_expr_match(self, expr);
        self.matched.push((expr.expr.span().byte_range(), self.found[before..].to_vec()));
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        visit::visit_arm(self, arm);
        let pattern = arm.pat.span().byte_range();
        let whole = arm.span().byte_range();
        if let Some((_, guard)) = &arm.guard {
            let mutants = self.take("MatchArmGuard", guard.span());
            if mutants.is_empty() {
                return;
            }
            let all: Vec<usize> = mutants.iter().map(|mutant| mutant.number).collect();
            let range = guard.span().byte_range();
            self.wraps.push((range.clone(), all.clone()));
            let wanted = |value: &str| {
                mutants
                    .iter()
                    .find(|mutant| mutant.replacement == value)
                    .map_or("false".to_owned(), |mutant| on(mutant.number))
            };
            let (yes, no) = (wanted("true"), wanted("false"));
            self.open(&range, vec![(format!("({yes} || ("), all.clone())]);
            self.close(&range, vec![(format!(")) && !{no}"), all)]);
            return;
        }
        let mutants = self.take("MatchArm", arm.span());
        let [mutant] = mutants[..] else { return };
        self.wraps.push((whole, vec![mutant.number]));
        self.close(&pattern, vec![(format!(" if !{} ", on(mutant.number)), vec![mutant.number])]);
    }

    fn visit_expr_struct(&mut self, literal: &'ast syn::ExprStruct) {
        visit::visit_expr_struct(self, literal);
        let Some(rest) = &literal.rest else { return };
        let rest = self.source[rest.span().byte_range()].replace('\n', " ");
        for field in &literal.fields {
            let mutants = self.take("StructField", field.span());
            let ([mutant], syn::Member::Named(name)) = (&mutants[..], &field.member) else { continue };
            let all = vec![mutant.number];
            let range = field.expr.span().byte_range();
            let named = if field.colon_token.is_none() { format!("{name}: ") } else { String::new() };
            self.wraps.push((range.clone(), all.clone()));
            self.open(
                &range,
                vec![(format!("{named}if {} {{ ({rest}).{name} }} else {{ ", on(mutant.number)), all.clone())],
            );
            self.close(&range, vec![(" }".into(), all)]);
        }
    }
}
