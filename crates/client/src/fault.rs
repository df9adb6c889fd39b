//! Formats an error with its chain of causes for people.

use std::error::Error;

/// An error and its causes on one line, the outermost first. A cause that its effect already ends with is not repeated.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        source: Option<Box<Link>>,
    }

    #[test]
    fn a_chain_names_each_cause_once() {
        let link = |text, source: Option<Link>| Link { text, source: source.map(Box::new) };
        let error =
            link("reading staff failed", Some(link("connection refused", Some(link("connection refused", None)))));
        assert_eq!(chain(&error), "reading staff failed: connection refused");
    }
}
