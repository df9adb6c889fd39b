//! The findings of `check`, and how they are shown.

use serde_json::json;

use crate::cli::ui::{Paint, Ui, sanitize};

/// One thing that was looked at.
pub(crate) struct Finding {
    what: String,
    pub(crate) verdict: Verdict,
    /// What was seen, and what is wrong with it.
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    /// Worth a look; everything else works all the same.
    Doubtful,
    Wrong,
}

impl Verdict {
    /// Its name, in lines and documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Doubtful => "warning",
            Self::Wrong => "wrong",
        }
    }
}

impl Finding {
    pub(crate) fn new(what: impl Into<String>, verdict: Verdict, text: String) -> Self {
        Self { what: what.into(), verdict, text }
    }

    pub(crate) fn of(what: impl Into<String>, result: Result<String, String>) -> Self {
        match result {
            Ok(text) => Self::new(what, Verdict::Good, text),
            Err(text) => Self::new(what, Verdict::Wrong, text),
        }
    }
}

/// Shows all that was found.
pub(crate) fn show(ui: &Ui, findings: &[Finding]) {
    if ui.json {
        let checks: Vec<_> = findings
            .iter()
            .map(|finding| {
                let Finding { what, verdict, text } = finding;
                json!({"what": what, "ok": *verdict != Verdict::Wrong, "verdict": verdict.name(), "message": text})
            })
            .collect();
        ui.document(&json!({"version": 1, "checks": checks}));
        return;
    }
    for finding in findings {
        let paint = match finding.verdict {
            Verdict::Good => Paint::Green,
            Verdict::Doubtful => Paint::Yellow,
            Verdict::Wrong => Paint::Red,
        };
        let label = ui.paint(paint, finding.verdict.name());
        ui.line(format!("{}: {label}: {}", sanitize(&finding.what), sanitize(&finding.text)));
    }
}
