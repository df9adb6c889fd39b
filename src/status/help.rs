//! Where the book says what to do.

use super::snapshot::{JobView, SourceFamily};
use crate::reconcile::Status;

/// The page of the book about trouble.
const TROUBLE: &str = "Troubleshooting";

/// A section of that page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Source(SourceFamily),
    Waits,
    Service,
    Machine,
}

impl Section {
    #[cfg(test)]
    const ALL: [Self; 9] = [
        Self::Source(SourceFamily::File),
        Self::Source(SourceFamily::Workbook),
        Self::Source(SourceFamily::Web),
        Self::Source(SourceFamily::Directory),
        Self::Source(SourceFamily::Tenant),
        Self::Source(SourceFamily::Inbox),
        Self::Waits,
        Self::Service,
        Self::Machine,
    ];

    /// Its heading.
    fn name(self) -> &'static str {
        match self {
            Self::Source(SourceFamily::File) => "The source",
            Self::Source(SourceFamily::Workbook) => "A workbook",
            Self::Source(SourceFamily::Web) => "A file of a web server",
            Self::Source(SourceFamily::Directory) => "A directory",
            Self::Source(SourceFamily::Tenant) => "Microsoft Entra ID",
            Self::Source(SourceFamily::Inbox) => "An inbox",
            Self::Waits => "What waits for a person",
            Self::Service => "The service",
            Self::Machine => "This machine",
        }
    }
}

/// What helps with a job; nothing where it is well.
pub(super) fn of(job: &JobView) -> Option<String> {
    let source = Section::Source(job.source);
    let inbox = job.inbox.as_ref().is_some_and(Result::is_err);
    let sections: &[Section] = match job.standing() {
        Some(Status::Failed) => &[source, Section::Service],
        _ if job.overdue.is_some() || inbox => &[source],
        Some(Status::Held) => &[Section::Waits],
        Some(Status::Partial) => &[source, Section::Waits],
        Some(Status::Done) if job.missing.as_ref().is_some_and(|missing| missing.too_many) => &[Section::Waits],
        Some(Status::Done) | None => &[],
    };
    let named: Vec<String> = sections.iter().map(|section| format!("“{}”", section.name())).collect();
    (!named.is_empty()).then(|| format!("What to do: the book, {TROUBLE}, {}.", named.join(" and ")))
}

/// What helps with the disk.
pub(super) fn machine() -> Option<String> {
    Some(format!("What to do: the book, {TROUBLE}, “{}”.", Section::Machine.name()))
}

/// What helps with notices.
pub(super) fn notices() -> Option<String> {
    Some("What to do: the book, Monitoring, “Notices”.".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_that_is_named_is_in_the_book() {
        let page = include_str!("../../docs/troubleshooting.md");
        for section in Section::ALL {
            assert!(page.contains(&format!("\n## {}\n", section.name())), "{section:?}");
        }
        assert!(include_str!("../../docs/monitoring.md").contains("\n## Notices\n"));
    }
}
