//! A chart of runs, drawn here: bars whose parts differ without colour, and the same numbers as a table.

use std::fmt::{self, Write as _};

use crate::text::{markup_of, thousands};

/// One bar: a run.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What it is called, such as `run 12, 23 Nov 2026, 10:00 UTC`.
    pub name: String,
    /// How the run ended, in a word.
    pub word: String,
    /// Whether it failed: then its numbers say little.
    pub failed: bool,
    /// People in the source.
    pub people: u64,
    /// People who came, changed, left and wait.
    pub parts: [u64; 4],
}

/// What the parts of a bar are called, and the pattern that fills each.
const PARTS: [(&str, &str); 4] = [("came", "came"), ("changed", "moved"), ("left", "left"), ("held", "held")];

/// The width of a bar and of the gap behind it, in units of the picture.
const WIDTH: usize = 12;
const GAP: usize = 4;
/// Room for so many bars: few of them are as wide as many.
const BARS: usize = 30;
/// The height of the picture; a failed run has a mark instead of a bar.
const HEIGHT: f64 = 64.0;

/// Draws the bars, the last one at the right, as HTML: a picture with a title, a legend, and a table to be opened. Heights go by
/// the square root, so that a run of three is seen beside a run of ten thousand.
pub fn chart(bars: &[Bar]) -> String {
    let mut html = String::new();
    draw(bars, &mut html).expect("memory takes everything");
    html
}

fn draw(bars: &[Bar], html: &mut String) -> fmt::Result {
    let most = bars.iter().map(Bar::sum).max().unwrap_or(0).max(1);
    let width = bars.len().max(BARS) * (WIDTH + GAP);
    let sums = |part: usize| thousands(bars.iter().map(|bar| bar.parts[part]).sum::<u64>());
    write!(
        html,
        "<figure class=\"chart\">\n<svg viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" aria-label=\"The last {} runs: {} came, {} changed, {} left\">\n",
        bars.len(),
        sums(0),
        sums(1),
        sums(2)
    )?;
    html.push_str(PATTERNS);
    for (at, bar) in bars.iter().enumerate() {
        let left = at * (WIDTH + GAP);
        write!(html, "<g><title>{}</title>", markup_of(&bar.described()))?;
        if bar.failed {
            let (right, middle) = (left + WIDTH, HEIGHT - 8.0);
            write!(
                html,
                "<path class=\"failed\" d=\"M{left} {middle}L{right} {HEIGHT}M{right} {middle}L{left} {HEIGHT}\"/>"
            )?;
        } else {
            let whole = (bar.sum() as f64 / most as f64).sqrt() * (HEIGHT - 2.0);
            let mut bottom = HEIGHT;
            for (count, (_, class)) in bar.parts.iter().zip(PARTS).filter(|(count, _)| **count > 0) {
                let height = whole * *count as f64 / bar.sum() as f64;
                bottom -= height;
                write!(
                    html,
                    "<rect class=\"{class}\" x=\"{left}\" y=\"{bottom:.1}\" width=\"{WIDTH}\" height=\"{height:.1}\"/>"
                )?;
            }
            write!(html, "<rect class=\"base\" x=\"{left}\" y=\"{}\" width=\"{WIDTH}\" height=\"1\"/>", HEIGHT - 1.0)?;
        }
        html.push_str("</g>\n");
    }
    html.push_str("</svg>\n<figcaption>");
    for (name, class) in PARTS {
        write!(
            html,
            "<span><svg viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"12\" height=\"12\"/></svg> {name}</span> "
        )?;
    }
    html.push_str("</figcaption>\n<details><summary>The last runs as a table</summary>\n<table>\n<thead><tr><th>Run</th><th>How</th><th>People</th>");
    PARTS.iter().try_for_each(|(name, _)| write!(html, "<th>{name}</th>"))?;
    html.push_str("</tr></thead>\n<tbody>\n");
    for bar in bars.iter().rev() {
        write!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td>",
            markup_of(&bar.name),
            markup_of(&bar.word),
            thousands(bar.people)
        )?;
        bar.parts.iter().try_for_each(|count| write!(html, "<td>{}</td>", thousands(*count)))?;
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n</details>\n</figure>\n");
    Ok(())
}

/// Solid, hatched, crossed and hollow: they differ in black and white, too.
const PATTERNS: &str = "<defs>\
    <pattern id=\"hatch\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"2\" height=\"4\" fill=\"currentColor\"/></pattern>\
    <pattern id=\"dots\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\"><circle cx=\"2\" cy=\"2\" r=\"1.2\" fill=\"currentColor\"/></pattern>\
    </defs>\n";

impl Bar {
    fn sum(&self) -> u64 {
        self.parts.iter().sum()
    }

    fn described(&self) -> String {
        let parts: Vec<String> =
            self.parts.iter().zip(PARTS).map(|(count, (name, _))| format!("{} {name}", thousands(*count))).collect();
        format!("{}: {}, {} people, {}", self.name, self.word, thousands(self.people), parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(parts: [u64; 4], failed: bool) -> Bar {
        Bar { name: "run <1>".into(), word: "done".into(), failed, people: 1200, parts }
    }

    #[test]
    fn each_part_has_its_share_and_every_run_a_row() {
        let html = chart(&[
            bar([0, 0, 0, 0], false),
            bar([3, 1, 0, 0], false),
            bar([0, 0, 1, 0], false),
            bar([9, 9, 9, 9], true),
        ]);
        let picture = html.split("</svg>").next().unwrap();
        assert_eq!(picture.matches("class=\"base\"").count(), 3, "{picture}");
        assert!(picture.contains("class=\"came\" x=\"16\""), "{picture}");
        assert!(picture.contains("<path class=\"failed\""), "{picture}");
        assert_eq!(html.matches("<tr>").count(), 5);
        assert!(html.contains("run &lt;1&gt;: done, 1,200 people, 3 came, 1 changed, 0 left, 0 held"), "{html}");
        assert!(!html.contains("<1>") && !html.contains("NaN"), "{html}");
        assert!(!chart(&[]).contains("NaN"));
    }
}
