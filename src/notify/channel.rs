//! The ways of notices.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::notice::{Notice, NoticeKind};
use crate::record::JobName;

/// A way on which notices go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Channel {
    /// `notify.webhook`.
    Webhook,
    /// `notify.mail`.
    Mail,
    /// `job.notify.mail_to`.
    JobMail(JobName),
}

impl Channel {
    /// Whether a notice goes this way: a summary is for the recipients of its job, who get nothing of other jobs.
    pub(super) fn takes(&self, notice: &Notice) -> bool {
        match self {
            Self::Webhook | Self::Mail => notice.event != NoticeKind::Digest,
            Self::JobMail(job) => notice.job.as_ref() == Some(job),
        }
    }

    /// Its name in metrics.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Mail | Self::JobMail(_) => "mail",
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Webhook | Self::Mail => f.write_str(self.kind()),
            Self::JobMail(job) => write!(f, "mail of job {job}"),
        }
    }
}
