//! Text in a page: nothing of it is markup, and nothing of it steers how the rest is read.

use minijinja::{AutoEscape, Environment, Error, Output, State, Value};

use crate::text::{Markup, markup_of};

/// A sentence with commands between backticks, as a page shows it.
pub fn sentence(words: &str) -> String {
    let part = |(at, part): (usize, &str)| {
        let part = markup_of(part);
        if at % 2 == 1 { format!("<code>{part}</code>") } else { part }
    };
    let is_whole = words.matches('`').count().is_multiple_of(2);
    if is_whole { words.split('`').enumerate().map(part).collect() } else { markup_of(words) }
}

/// Templates of pages: whatever is put into them is text, save what is marked as safe. `NAME | sentence` sets commands apart.
pub fn templates(named: &[(&'static str, &'static str)]) -> Environment<'static> {
    let mut templates = Environment::new();
    templates.set_auto_escape_callback(|_| AutoEscape::Html);
    templates.set_formatter(write);
    templates.add_filter("sentence", |words: String| Value::from_safe_string(sentence(&words)));
    for (name, text) in named {
        templates.add_template(name, text).expect("the templates of this program can be read");
    }
    templates
}

fn write(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_undefined() || value.is_none() {
        return Ok(());
    }
    let shown = value.to_string();
    let written = if value.is_safe() { out.write_str(&shown) } else { write!(out, "{}", Markup(&shown)) };
    Ok(written?)
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::*;

    #[test]
    fn commands_in_a_sentence_are_set_apart_and_nothing_of_it_is_markup() {
        assert_eq!(sentence("paused; `rosterd resume` <b>"), "paused; <code>rosterd resume</code> &lt;b&gt;");
        assert_eq!(sentence("one ` of it"), "one ` of it");
    }

    #[test]
    fn a_template_shows_text_as_text() {
        let templates = templates(&[("t", "{{ a }}|{{ none }}|{{ b | sentence }}|{{ c }}")]);
        let made = templates.get_template("t").unwrap().render(context! {
            a => "<b>\u{202e}&\"'",
            none => (),
            b => "`x` <i>",
            c => Value::from_safe_string("<hr>".to_owned()),
        });
        assert_eq!(made.unwrap(), "&lt;b&gt;\u{fffd}&amp;&quot;&#39;||<code>x</code> &lt;i&gt;|<hr>");
    }
}
