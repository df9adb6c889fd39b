//! Every key that a configuration may have, and what its value looks like.

/// What the value of a key looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Number,
    Flag,
    List,
    TextOrNumber,
    TextOrList,
    /// A table whose keys are in [`KNOWN`].
    Table,
    /// A list of such tables.
    Tables,
    /// A table with any keys and texts for values.
    Texts,
    /// A table with any keys and such tables for values.
    Lookups,
}

impl Shape {
    /// What to write, for a message.
    pub(super) fn described(self) -> &'static str {
        match self {
            Self::Text => "a text in quotes",
            Self::Number => "a whole number",
            Self::Flag => "true or false",
            Self::List => "a list of texts",
            Self::TextOrNumber => "a text in quotes or a whole number",
            Self::TextOrList => "a text in quotes or a list of texts",
            Self::Table | Self::Texts => "a table",
            Self::Tables => "a list of tables",
            Self::Lookups => "a table of tables",
        }
    }
}

/// Every key that is accepted. A key of `[[job]]` is written without the job's number.
pub(super) const KNOWN: &[(&str, Shape)] = &[
    ("api", Shape::Table),
    ("api.base_url", Shape::Text),
    ("api.auth_url", Shape::Text),
    ("api.client_id", Shape::Text),
    ("api.client_secret", Shape::Text),
    ("api.client_secret_file", Shape::Text),
    ("api.api_key", Shape::Text),
    ("api.api_key_file", Shape::Text),
    ("api.api_key_scheme", Shape::Text),
    ("api.scopes", Shape::List),
    ("api.requests_per_minute", Shape::Number),
    ("api.timeout", Shape::Text),
    ("api.page_size", Shape::Number),
    ("api.ca_file", Shape::Text),
    ("api.proxy", Shape::Text),
    ("api.bulk_path", Shape::Text),
    ("api.issue_path", Shape::Text),
    ("api.org_groups_path", Shape::Text),
    ("state", Shape::Table),
    ("state.dir", Shape::Text),
    ("state.full_pull", Shape::Text),
    ("state.user", Shape::Text),
    ("control", Shape::Table),
    ("control.socket", Shape::Text),
    ("status", Shape::Table),
    ("status.listen", Shape::Text),
    ("status.url", Shape::Text),
    ("status.hosts", Shape::TextOrList),
    ("notify", Shape::Table),
    ("notify.webhook", Shape::Text),
    ("notify.mail", Shape::Table),
    ("notify.mail.to", Shape::TextOrList),
    ("notify.mail.from", Shape::Text),
    ("notify.mail.smtp", Shape::Text),
    ("notify.mail.start_tls", Shape::Flag),
    ("notify.mail.user", Shape::Text),
    ("notify.mail.password", Shape::Text),
    ("notify.mail.password_file", Shape::Text),
    ("notify.heartbeat", Shape::Text),
    ("notify.ca_file", Shape::Text),
    ("notify.proxy", Shape::Text),
    ("retention", Shape::Table),
    ("retention.processed", Shape::Text),
    ("retention.before_images", Shape::Text),
    ("retention.runs", Shape::Text),
    ("job", Shape::Tables),
    ("job.name", Shape::Text),
    ("job.target", Shape::Text),
    ("job.schedule", Shape::Text),
    ("job.time_zone", Shape::Text),
    ("job.key", Shape::Text),
    ("job.org_key", Shape::Text),
    ("job.match_on", Shape::List),
    ("job.include", Shape::Text),
    ("job.active_from", Shape::Text),
    ("job.active_until", Shape::Text),
    ("job.prefer", Shape::Text),
    ("job.writes", Shape::Text),
    ("job.seed_only", Shape::List),
    ("job.on_drift", Shape::Text),
    ("job.on_bad_value", Shape::Text),
    ("job.protect", Shape::List),
    ("job.values", Shape::Lookups),
    ("job.source", Shape::Table),
    ("job.source.type", Shape::Text),
    ("job.source.path", Shape::Text),
    ("job.source.pattern", Shape::Text),
    ("job.source.order", Shape::Text),
    ("job.source.expect_every", Shape::Text),
    ("job.source.mode", Shape::Text),
    ("job.source.settle", Shape::Text),
    ("job.source.final_newline", Shape::Flag),
    ("job.source.size_max", Shape::Text),
    ("job.source.encoding", Shape::Text),
    ("job.source.delimiter", Shape::Text),
    ("job.source.header", Shape::TextOrNumber),
    ("job.source.optional", Shape::List),
    ("job.source.url", Shape::TextOrList),
    ("job.source.start_tls", Shape::Flag),
    ("job.source.ca_file", Shape::Text),
    ("job.source.tls_verify", Shape::Flag),
    ("job.source.bind_dn", Shape::Text),
    ("job.source.bind_password", Shape::Text),
    ("job.source.bind_password_file", Shape::Text),
    ("job.source.base", Shape::TextOrList),
    ("job.source.scope", Shape::Text),
    ("job.source.filter", Shape::Text),
    ("job.source.page_size", Shape::Number),
    ("job.source.timeout", Shape::Text),
    ("job.source.total_timeout", Shape::Text),
    ("job.source.ignore_referrals", Shape::List),
    ("job.source.binary", Shape::List),
    ("job.map", Shape::Texts),
    ("job.leavers", Shape::Table),
    ("job.leavers.action", Shape::Text),
    ("job.leavers.grace", Shape::Text),
    ("job.leavers.grace_reads", Shape::Number),
    ("job.leavers.set", Shape::Texts),
    ("job.guard", Shape::Table),
    ("job.guard.max_leavers", Shape::TextOrNumber),
    ("job.guard.max_updates", Shape::TextOrNumber),
    ("job.guard.max_blanked", Shape::TextOrNumber),
    ("job.guard.max_creates", Shape::TextOrNumber),
    ("job.guard.max_missing", Shape::TextOrNumber),
    ("job.guard.min_records", Shape::Number),
    ("job.guard.segment", Shape::Text),
];

/// Keys whose values are never quoted, wherever they stand (law 11).
pub(super) const SECRETS: &[&str] =
    &["api.client_secret", "api.api_key", "job.source.bind_password", "notify.mail.password"];

/// The shape of a known key.
pub(super) fn shape(key: &str) -> Option<Shape> {
    KNOWN.iter().find(|(known, _)| *known == key).map(|(_, shape)| *shape)
}

/// The last names of the known keys right below `table` (`""` for the top).
pub(super) fn below(table: &str) -> impl Iterator<Item = &'static str> {
    KNOWN.iter().filter_map(move |(key, _)| match key.rsplit_once('.') {
        Some((parent, name)) => (parent == table).then_some(name),
        None => table.is_empty().then_some(*key),
    })
}

/// The table in which a key of that last name is known, as it is written in a file.
pub(super) fn home_of(name: &str) -> Option<String> {
    let mut homes = KNOWN.iter().filter_map(|(key, _)| key.rsplit_once('.').filter(|(_, last)| *last == name));
    let (parent, _) = homes.next()?;
    Some(if parent == "job" { "[[job]]".to_owned() } else { format!("[{parent}]") })
}
