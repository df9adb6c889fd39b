//! Notices that people receive.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::config::Notify;
use crate::record::JobName;
use crate::text::one_line;

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A job fails.
    Failed,
    /// Changes wait for a person.
    Held,
    /// A job could do only a part.
    Partial,
    /// A job's source misses more of its known people than it may.
    Missing,
    /// A job, or its source, is late.
    Overdue,
    /// A leaver has been on site for too long to be only at work.
    OnSite,
    /// The disk of the state is full.
    DiskFull,
    /// The daemon refused a new configuration.
    ConfigRefused,
    /// The status page can't be served.
    NoPage,
    /// The pages for decisions can't be served.
    NoDecisions,
    /// Nothing works: the daemon can't start, or can't read its state.
    Down,
    /// All is well again.
    Recovered,
    /// A summary of a job at a set time.
    Digest,
    /// A user tests whether notices arrive.
    Test,
}

/// A notice. It names no person (law 11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Tells it from others, also where it arrives twice.
    pub id: String,
    /// When it was noticed, by this machine's clock.
    pub at: Timestamp,
    /// What it is about.
    pub event: NoticeKind,
    /// The job; none where it is about all of them.
    pub job: Option<JobName>,
    /// The job's last run.
    pub run: Option<u64>,
    /// What happened, in a sentence.
    pub text: String,
    /// Why, one by one.
    pub reasons: Vec<String>,
    /// Rows that could not be used and were in no notice before.
    pub rows: Vec<RowNote>,
    /// The number of the set of held changes, where it is about one.
    pub held_set: Option<u64>,
    /// The time that a summary is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

/// A span of time: after the one, until the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Where it begins.
    pub since: Timestamp,
    /// Where it ends.
    pub until: Timestamp,
}

/// A row that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowNote {
    /// Its line, where the source has lines.
    pub line: Option<u64>,
    /// What is wrong, with the column or field.
    pub reason: String,
}

impl NoticeKind {
    /// Its name in notices.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Held => "held",
            Self::Partial => "partial",
            Self::Missing => "missing",
            Self::Overdue => "overdue",
            Self::OnSite => "on_site",
            Self::DiskFull => "disk_full",
            Self::ConfigRefused => "config_refused",
            Self::NoPage => "no_page",
            Self::NoDecisions => "no_decisions",
            Self::Down => "down",
            Self::Recovered => "recovered",
            Self::Digest => "digest",
            Self::Test => "test",
        }
    }
}

impl Notice {
    /// A notice of no job in particular, with nothing but a sentence.
    pub(super) fn new(at: Timestamp, event: NoticeKind, text: String) -> Self {
        Self {
            id: String::new(),
            at,
            event,
            job: None,
            run: None,
            text,
            reasons: Vec::new(),
            rows: Vec::new(),
            held_set: None,
            span: None,
        }
    }

    /// What a person can do about it, and where; none where the text says it.
    pub(super) fn advice(&self) -> Option<String> {
        let job = self.job.as_ref().map(JobName::as_str).unwrap_or_default();
        Some(match self.event {
            NoticeKind::Failed => format!(
                "mend what is named above; the next run tries again by itself. `rosterd check` looks at source and service, and `rosterd sync {job}` runs it now"
            ),
            NoticeKind::Partial => format!(
                "everybody else is up to date. Correct the named rows in the source, or see `rosterd queue list {job}` for what the service refused"
            ),
            NoticeKind::Overdue => {
                "see that the source still brings new content, or `rosterd status` for what keeps it".to_owned()
            }
            NoticeKind::DiskFull => "free space on that disk; what waits is sent then".to_owned(),
            NoticeKind::ConfigRefused => {
                "`rosterd check` names every mistake; `rosterd reload` takes the mended file".to_owned()
            }
            NoticeKind::NoPage => "`rosterd status` works meanwhile; see [status] listen".to_owned(),
            NoticeKind::NoDecisions => {
                "`rosterd approve` and `rosterd reject` work meanwhile; see [approvals] listen and socket".to_owned()
            }
            NoticeKind::Down => "`journalctl -u rosterd` says more; `rosterd status` names what helps".to_owned(),
            NoticeKind::Held
            | NoticeKind::Missing
            | NoticeKind::OnSite
            | NoticeKind::Recovered
            | NoticeKind::Digest
            | NoticeKind::Test => return None,
        })
    }

    /// All of it in lines.
    pub fn lines(&self) -> String {
        self.lines_as(one_line)
    }

    /// All of it in lines, each as `shown` shows it.
    fn lines_as(&self, shown: fn(&str) -> String) -> String {
        let mut text = shown(&self.text);
        for reason in &self.reasons {
            text.push_str("\n- ");
            text.push_str(&shown(reason));
        }
        for row in &self.rows {
            let line = row.line.map_or_else(|| "a row".to_owned(), |line| format!("line {line}"));
            text.push_str(&format!("\n- {line}: {}", shown(&row.reason.to_string())));
        }
        if let Some(advice) = self.advice() {
            text.push_str(&format!("\nWhat to do: {advice}."));
        }
        text
    }

    /// Where a person decides about it, where it is about what a job holds. The address acts on nothing by itself, and holds
    /// nothing that would open the page: filters of mail follow links before people do.
    fn decided_at(&self, options: &Notify) -> Option<String> {
        self.held_set?;
        Some(options.approvals.as_ref()?.page_of(self.job.as_ref()?))
    }

    /// Where to go on, a line each.
    pub(super) fn links(&self, options: &Notify) -> Vec<String> {
        self.decided_at(options).into_iter().chain(options.page.clone()).collect()
    }

    /// The document that a webhook gets: `text` is all of it in lines, for chats to show.
    pub(super) fn document(&self, host: &str, options: &Notify) -> serde_json::Value {
        let mut document = serde_json::to_value(self).expect("a notice is made of types that JSON holds");
        document["version"] = 1.into();
        document["host"] = host.into();
        document["account"] = options.account.clone().into();
        document["summary"] = self.text.clone().into();
        document["page"] = options.page.clone().into();
        document["decide"] = self.decided_at(options).into();
        let links: String = self.links(options).iter().map(|link| format!("\n{link}")).collect();
        document["text"] = (self.lines_as(for_chats) + &links).into();
        document
    }
}

/// What Slack, Mattermost and Teams show as it is. In a reason there may be what others wrote, such as the name of a
/// file: it must mention no user, be no link and begin no line of its own.
fn for_chats(text: &str) -> String {
    /// Has no width; it parts what has a meaning together.
    const NOTHING: char = '\u{200b}';
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Slack's links and calls; the other two show these entities likewise.
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '@' => shown.extend([c, NOTHING]),
            // Links and pictures of Markdown.
            ']' => shown.extend([c, NOTHING]),
            '!' => shown.extend([c, NOTHING]),
            c if c.is_control() => shown.push(char::REPLACEMENT_CHARACTER),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Approvals, Login, Proxy};

    #[test]
    fn what_others_wrote_mentions_no_one_and_leads_nowhere_in_a_chat() {
        let file = "<!channel> @everyone @here [x](https://evil.example.net) ![x](y) <https://evil.example.net|x> &amp; a\n- b.xlsx";
        let row = RowNote { line: Some(2), reason: file.to_owned() };
        let at = Timestamp::UNIX_EPOCH;
        let text = format!("job staff failed: {file}");
        let notice =
            Notice { reasons: vec![file.to_owned()], rows: vec![row], ..Notice::new(at, NoticeKind::Failed, text) };
        let document = notice.document("host", &Notify::default());
        let shown = document["text"].as_str().unwrap();
        for meaning in ["<", ">", "@everyone", "@here", "](", "![", "\n- b", "&amp; a"] {
            assert!(!shown.contains(meaning), "{meaning:?} in {shown}");
        }
        assert_eq!(shown.lines().count(), 4, "what happened, why, the row, what to do: {shown}");
        let plain = shown.replace('\u{200b}', "").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        assert_eq!(plain.lines().next(), Some(&*format!("job staff failed: {}", file.replace('\n', "\u{fffd}"))));
        assert_eq!(document["reasons"][0], file, "programs get what was written");
    }

    #[test]
    fn what_is_held_leads_to_its_page_and_to_nothing_that_acts() {
        let url = "https://roster.example.com".parse().unwrap();
        let approvals = Approvals {
            url,
            login: Login::Proxy(Proxy {
                socket: "/run/x.sock".into(),
                account: "www-data".into(),
                user_header: "x-remote-user".into(),
                groups_header: None,
            }),
            rules: Vec::new(),
            fresh_login_leavers: 10,
            people: 1,
        };
        let page = Some("https://status.example.com/".to_owned());
        let options = Notify { approvals: Some(approvals), page, ..Notify::default() };
        let of = |event: NoticeKind, held_set: Option<u64>| Notice {
            job: JobName::new("employees"),
            held_set,
            ..Notice::new(Timestamp::UNIX_EPOCH, event, "job employees".to_owned())
        };
        let held = of(NoticeKind::Held, Some(3)).document("host", &options);
        assert_eq!(held["decide"], "https://roster.example.com/held/employees");
        assert_eq!(
            held["text"],
            "job employees\nhttps://roster.example.com/held/employees\nhttps://status.example.com/"
        );
        let other = of(NoticeKind::Recovered, None).document("host", &options);
        assert_eq!(other["decide"], serde_json::Value::Null);
        assert_eq!(other["text"], "job employees\nhttps://status.example.com/");
    }
}
