//! Every key that a configuration may have: the type of its value, its default, and its description.

use std::borrow::Cow;

/// What the value of a key looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
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
    /// A table with any names and tables for values, whose keys are in [`KNOWN`] without the name.
    Named,
}

impl Shape {
    /// What to write, for a message.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::Text => "a text in quotes",
            Self::Number => "a whole number",
            Self::Flag => "true or false",
            Self::List => "a list of texts",
            Self::TextOrNumber => "a text in quotes or a whole number",
            Self::TextOrList => "a text in quotes or a list of texts",
            Self::Table | Self::Texts => "a table",
            Self::Tables => "a list of tables",
            Self::Lookups | Self::Named => "a table of tables",
        }
    }
}

/// A kind of source that has keys of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// A file of this machine: `path` of type "csv".
    File,
    /// A file of a web server: `url` of type "csv".
    Web,
    Directory,
    /// A tenant: type "entra".
    Tenant,
}

impl SourceKind {
    /// As messages call it.
    fn described(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Web => "`url` of a file",
            Self::Directory => "type = \"ldap\"",
            Self::Tenant => "type = \"entra\"",
        }
    }
}

/// A key that is accepted.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its name from the top of the file on. A key of `[[job]]` is written without the job's number.
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// The kinds of source that have it; none where every kind has it, or it is no source's.
    sources: &'static [SourceKind],
    /// What counts where it is not set, as it would be written; `None` where nothing does.
    pub(crate) default: Option<&'static str>,
    /// What it says, in one sentence or two.
    pub(crate) about: &'static str,
}

macro_rules! keys {
    (@default) => { None };
    (@default $default:tt) => { Some(stringify!($default)) };
    ($($name:literal $shape:ident $(of $($source:ident)+)? $(= $default:tt)? : $about:literal;)*) => {
        &[$(Key {
            name: $name,
            shape: Shape::$shape,
            sources: &[$($(SourceKind::$source),+)?],
            default: keys!(@default $($default)?),
            about: $about,
        }),*]
    };
}

/// Every key that is accepted. The reference of the configuration and its manual page are made of this table.
pub(crate) const KNOWN: &[Key] = keys! {
    "api" Table: "The account at the service, and how it is asked.";
    "api.base_url" Text:
        "Where the service answers, with the version at the end; https, or http for this machine itself.";
    "api.auth_url" Text: "Where tokens are issued, for a client.";
    "api.client_id" Text: "Who calls, as a client.";
    "api.client_secret" Text: "The client's secret; the file is then its owner's only.";
    "api.client_secret_file" Text:
        "A file with the client's secret; without both, systemd's credential `client_secret`.";
    "api.api_key" Text: "The other kind of credential; the file is then its owner's only.";
    "api.api_key_file" Text: "A file with the API key; without both, systemd's credential `api_key`.";
    "api.api_key_scheme" Text = "header":
        "How the key is sent: `header` (Authorization: APIKEY) or `basic` (user name of HTTP Basic).";
    "api.scopes" List: "What tokens are asked to allow; without it all that the client may do.";
    "api.credentials" Tables:
        "Several credentials of the same account, each with a limit of its own, for large first loads that the service's vendor agreed to.";
    "api.credentials.auth_url" Text: "Where its tokens are issued; without it, `api.auth_url`.";
    "api.credentials.client_id" Text: "Who calls, as a client.";
    "api.credentials.client_secret" Text: "The client's secret; the file is then its owner's only.";
    "api.credentials.client_secret_file" Text: "A file with the client's secret.";
    "api.credentials.api_key" Text: "The other kind of credential; the file is then its owner's only.";
    "api.credentials.api_key_file" Text: "A file with the API key.";
    "api.credentials.api_key_scheme" Text = "header": "How the key is sent, as for `api.api_key_scheme`.";
    "api.credentials.scopes" List: "What its tokens are asked to allow.";
    "api.requests_per_minute" Number = 100: "The most requests in any 60 seconds.";
    "api.timeout" Text = "60s": "The longest that one request may take.";
    "api.page_size" Number = 1000: "How many entities are asked for at once.";
    "api.ca_file" Text: "Certificates (PEM) trusted besides the system's.";
    "api.proxy" Text: "The proxy to the service; none is taken from the environment.";
    "api.bulk_path" Text:
        "The path of the bulk upload of employees, such as `/staff`: left out of the specification, for `rosterd api` only.";
    "api.issue_path" Text: "Likewise, of issuing an asset, such as `/asset/{id}/issue`.";
    "api.org_groups_path" Text: "Likewise, of an organization's groups, such as `/sp/org/{id}/groups`.";
    "state" Table: "What is kept on this machine.";
    "state.dir" Text = "/var/lib/rosterd": "The state folder.";
    "state.url" Text:
        "In place of `dir`: a PostgreSQL database (15 or later) that several workers share, `postgresql://USER@HOST/DATABASE`. The password is not part of it.";
    "state.password" Text: "The password of the database's user; the file is then its owner's only.";
    "state.password_file" Text: "A file with that password; without both, systemd's credential `state_password`, or none.";
    "state.ca_file" Text: "Certificates (PEM) trusted for the database besides the system's.";
    "state.spill_dir" Text:
        "With `url`: the folder for what a run puts aside, which may be lost; without it /var/cache/rosterd, or /var/cache/rosterd/NAME.";
    "state.node" Text:
        "With `url`: what this machine is called where several share the state; without it its host name. Other characters than letters, digits, `.`, `-` and `_` become `-`.";
    "state.full_pull" Text = "24h": "A whole listing of the service at least this often.";
    "state.user" Text:
        "The account that works on the state; root's commands become it. `rosterd` for the package's files.";
    "control" Table: "How commands reach the daemon.";
    "control.socket" Text = "/run/rosterd/control.sock": "The socket; an empty text turns it off.";
    "status" Table: "Where to see how things are.";
    "status.listen" Text = "127.0.0.1:9464": "The address of page, metrics and health; an empty text turns them off.";
    "status.url" Text: "The page's address as people see it; notices end with it.";
    "status.hosts" TextOrList:
        "Names under which the page answers, besides addresses, `localhost` and this machine's name.";
    "notify" Table: "Who gets a notice when something needs a person.";
    "notify.webhook" Text: "Takes each notice as JSON.";
    "notify.mail" Table: "Notices as mails.";
    "notify.mail.to" TextOrList: "Who gets them.";
    "notify.mail.from" Text: "The sender.";
    "notify.mail.smtp" Text: "The mail server: `smtps://`, or `smtp://` with STARTTLS.";
    "notify.mail.start_tls" Flag = false: "Asks a server on this machine itself for STARTTLS too.";
    "notify.mail.user" Text: "The login at the mail server.";
    "notify.mail.password" Text: "Its password; the file is then its owner's only.";
    "notify.mail.password_file" Text: "A file with it; without both, systemd's credential `smtp_password`.";
    "notify.contact" Text: "Who answers HR's questions; the report beside a dropped file names it.";
    "notify.heartbeat" Text: "Is called while every job is well.";
    "notify.ca_file" Text:
        "Certificates (PEM) trusted for notices; without it those of `api.ca_file`, an empty text for none.";
    "notify.proxy" Text: "The proxy for webhook and heartbeat; without it `api.proxy`, an empty text for none.";
    "report" Table: "How the report beside a dropped file is written.";
    "report.language" Text = "en": "Its language: `de`, `en`, `es`, `fr`, `mi` or `nl`.";
    "approvals" Table: "Decisions in the browser; off unless set.";
    "approvals.url" Text: "Where people see the pages, a host of its own: no other is answered. https, or http for this machine itself.";
    "approvals.listen" Text = "127.0.0.1:9465": "The address that the pages answer on, of this machine itself; with `oidc`.";
    "approvals.socket" Text: "In place of `listen` and `oidc`: a socket for a proxy on this machine that logs people in.";
    "approvals.proxy_user" Text: "The account of that proxy; no other is answered on the socket.";
    "approvals.user_header" Text: "The header by which the proxy says who it is.";
    "approvals.groups_header" Text: "The header by which it lists their groups, with commas between them.";
    "approvals.fresh_login_leavers" Number = 10: "More leavers than these at once are approved only within 15 minutes of a login.";
    "approvals.people" Number = 1: "How many people must approve before anything is released: 1 or 2.";
    "approvals.oidc" Table: "The provider of OpenID Connect at which people log in.";
    "approvals.oidc.issuer" Text: "Its address, as it calls itself to the letter.";
    "approvals.oidc.client_id" Text: "This program's name there.";
    "approvals.oidc.client_secret" Text: "Its secret; the file is then its owner's only.";
    "approvals.oidc.client_secret_file" Text: "A file with it; without both, systemd's credential `oidc_secret`.";
    "approvals.oidc.user_claim" Text = "email": "The claim that `user` of a rule is compared with; an `email` counts only where the provider says that it was verified.";
    "approvals.oidc.groups_claim" Text = "groups": "The claim of the ID token that lists groups.";
    "approvals.oidc.scopes" List = ["profile", "email"]: "What is asked for besides `openid`.";
    "approvals.oidc.ca_file" Text: "Certificates (PEM) trusted besides the system's.";
    "approvals.oidc.proxy" Text: "The proxy to the provider; none is taken from the environment.";
    "approvals.allow" Tables: "Who may do what there, a rule each; no one without a rule.";
    "approvals.allow.group" Text: "A group, as the provider or the proxy names it.";
    "approvals.allow.user" Text: "Or a user.";
    "approvals.allow.jobs" List: "The jobs that it is about; `[\"*\"]` for all of them.";
    "approvals.allow.may" List: "`see` what is held, `approve`, `reject` (both include `see`), `pause`.";
    "retention" Table: "How long people's data is kept.";
    "retention.processed" Text = "30d":
        "Files in `processed/` and `failed/` with their reports; `0s` removes them at once.";
    "retention.before_images" Text = "90d": "Values before and after a change; without them it can't be undone.";
    "retention.runs" Text = "365d": "Everything else about changes, runs and decisions.";
    "job" Tables: "One source, one target, one mapping; repeat it for each.";
    "job.name" Text: "Its name in reports and on the command line.";
    "job.target" Text: "What it manages: `staff`, `contractor`, `contractor-organization` or `certification-holder`.";
    "job.schedule" Text:
        "When the daemon runs it, as in crontab(5), with seconds in front where there are six fields.";
    "job.time_zone" Text = "UTC": "The zone of schedule and days.";
    "job.key" Text: "A template: what identifies a record for ever. Of a directory its own identifier unless set.";
    "job.org_key" Text:
        "A template, for contractors: what identifies the organization; else `org.legalid`, else `org.name`.";
    "job.match_on" List: "How a person is found at the service the first time, in this order; unless set, by the fields of these that are mapped: of staff `employee_id` and `email`, of contractors `service_provider_id` and `email`.";
    "job.include" Text: "A template: which rows count. Who stops being included is a leaver.";
    "job.active_from" Text: "A template: the first day on which a row counts.";
    "job.active_until" Text: "A template: the last day on which it counts.";
    "job.prefer" Text: "A template: of several rows with one key the one with the highest number counts.";
    "job.writes" Text = "auto": "`auto` sends, `approve` holds every change, `off` only plans.";
    "job.seed_only" List: "Mapped fields that are set in a new entity and are the service's own afterwards.";
    "job.on_drift" Text = "overwrite":
        "An edit at the service: `overwrite` sets it back, `keep` lets it be, `report` names it too.";
    "job.on_bad_value" Text = "field": "A value that can't be used costs its `field`, or the whole `row`.";
    "job.protect" List: "Keys or emails of people that no job removes.";
    "job.values" Lookups: "Look-up tables for the filter `lookup`.";
    "job.lookup" Named: "A second source, called NAME in templates (`{{ NAME.column }}`): it adds values and never says who is there.";
    "job.lookup.on" Text: "A template over a row of the job's own source: what is sought.";
    "job.lookup.key" Text: "A template over a row of this one: what is found. Several hits reject the record.";
    "job.lookup.source" Table: "Where its rows come from, with the keys of `[job.source]`; neither an inbox nor `changes`.";
    "job.source" Table: "Where the rows come from.";
    "job.source.type" Text: "`csv`, `ldap` or `entra`.";
    "job.source.path" Text of File: "csv: a file, or a folder that is an inbox.";
    "job.source.pattern" TextOrList of File = ["*.csv", "*.xlsx"]: "Inbox: which files are meant; one pattern or several.";
    "job.source.sheet" Text of File Web: "csv: the sheet of a workbook; without it there must be exactly one visible sheet.";
    "job.source.order" Text of File = "name": "Inbox: which file comes first, by `name` or `modified`.";
    "job.source.expect_every" Text of File Web: "No new content for so long makes the job overdue.";
    "job.source.mode" Text = "full": "csv: each file is everyone (`full`), or holds `changes`.";
    "job.source.settle" Text of File = "2s": "csv: how long a file must have lain unchanged.";
    "job.source.final_newline" Flag of File Web = true: "csv: the last row must end with a line end.";
    "job.source.size_max" Text of File Web = "512MB": "csv: the largest file that is taken.";
    "job.source.encoding" Text of File Web = "auto": "csv: UTF-8, UTF-16, else windows-1252; or a name of the WHATWG list.";
    "job.source.delimiter" Text of File Web = "auto": "csv: `,`, `;`, `tab` or the pipe.";
    "job.source.header" TextOrNumber of File Web = "auto":
        "csv: the first of 20 rows, blank ones left out, with every mapped column; or the number of the line.";
    "job.source.optional" List: "Columns, attributes or properties that may be absent altogether.";
    "job.source.url" TextOrList of Web Directory:
        "ldap: the servers, tried in this order. csv: in place of `path`, where the file is on the web; https, or http for this machine itself.";
    "job.source.user" Text of Web: "`url` of a file: the name for HTTP Basic.";
    "job.source.password" Text of Web: "Its password; the file is then its owner's only.";
    "job.source.password_file" Text of Web: "A file with it; without both, systemd's credential `JOB.password`.";
    "job.source.token" Text of Web: "`url` of a file: a bearer token, in place of `user`; the file is then its owner's only.";
    "job.source.token_file" Text of Web: "A file with it.";
    "job.source.headers" Texts of Web: "`url` of a file: further headers of the request, such as `Accept`; none that carries a secret.";
    "job.source.proxy" Text of Web Tenant: "entra and `url` of a file: the proxy that is asked; none unless set.";
    "job.source.oauth" Table of Web: "`url` of a file: a client that asks for its tokens, in place of `user`.";
    "job.source.oauth.token_url" Text: "Where tokens are issued, as a whole address.";
    "job.source.oauth.client_id" Text: "Who asks.";
    "job.source.oauth.client_secret" Text: "The client's secret; the file is then its owner's only.";
    "job.source.oauth.client_secret_file" Text: "A file with it; without both, systemd's credential `JOB.oauth_secret`.";
    "job.source.oauth.scopes" List: "What tokens are asked to allow; without it all that the client may do.";
    "job.source.start_tls" Flag of Directory = false: "ldap: begins TLS on a plain connection.";
    "job.source.ca_file" Text of Web Directory Tenant: "ldap, entra and `url`: certificates (PEM) trusted besides the system's.";
    "job.source.tls_verify" Flag of Directory = true: "ldap: `false` trusts anybody; only to find out what is wrong.";
    "job.source.bind" Text of Directory = "simple":
        "ldap: `simple` is by `bind_dn` and its password, or without both; `external` is by the client certificate.";
    "job.source.client_cert_file" Text of Directory:
        "ldap: a certificate (PEM) that is shown to the server, with those that lead to its authority.";
    "job.source.client_key_file" Text of Directory: "ldap: its private key (PEM, without a passphrase), which is its owner's only.";
    "job.source.bind_dn" Text of Directory: "ldap: who asks.";
    "job.source.bind_password" Text of Directory: "ldap: the password; the file is then its owner's only.";
    "job.source.bind_password_file" Text of Directory: "ldap: a file with it; without both, systemd's credential `bind_password`.";
    "job.source.base" TextOrList of Directory: "ldap: where people are.";
    "job.source.scope" Text of Directory = "sub": "ldap: how deep: `sub`, `one` or `base`.";
    "job.source.filter" Text of Directory Tenant = "(objectClass=person)":
        "ldap: which entries. entra: which users, as `$filter` of Microsoft Graph says it; all unless set.";
    "job.source.page_size" Number of Directory = 500: "ldap: entries in one answer; 0 asks for all at once.";
    "job.source.timeout" Text of Web Directory Tenant = "30s":
        "ldap: the longest wait for one answer. entra and `url` of a file: the longest that the whole read may take, `30m` unless set.";
    "job.source.total_timeout" Text of Directory = "15m": "ldap: the longest that a whole read may take.";
    "job.source.ignore_referrals" List of Directory: "ldap: beginnings of referrals behind which none of your people is.";
    "job.source.tenant" Text of Tenant: "entra: the tenant's id, or one of its domains.";
    "job.source.client_id" Text of Tenant: "entra: the application id of the app registration that asks.";
    "job.source.client_secret" Text of Tenant: "entra: its secret; the file is then its owner's only.";
    "job.source.client_secret_file" Text of Tenant: "entra: a file with it; without both, systemd's credential `JOB.oauth_secret`.";
    "job.source.certificate_file" Text of Tenant: "entra: the certificate (PEM) that it shows in place of a secret.";
    "job.source.key_file" Text of Tenant: "entra: the private key of that certificate: RSA, PEM, without a passphrase.";
    "job.source.groups" List of Tenant:
        "entra: ids or display names of groups: only their members, those of groups in them included.";
    "job.source.select" List of Tenant: "entra: properties that are asked for besides those that templates name.";
    "job.source.graph_url" Text of Tenant = "https://graph.microsoft.com/v1.0": "entra: Microsoft Graph of a national cloud.";
    "job.source.login_url" Text of Tenant = "https://login.microsoftonline.com": "entra: where that cloud issues tokens.";
    "job.source.binary" List of Directory: "ldap: further attributes that hold no text.";
    "job.map" Texts: "A template for each field.";
    "job.leavers" Table: "What happens to people who are gone from the source.";
    "job.leavers.action" Text = "keep": "`keep`, `delete`, or `update` with `set`.";
    "job.leavers.grace" Text = "24h":
        "How long someone must be gone, and still missing from the latest complete read.";
    "job.leavers.grace_reads" Number = 0: "And in how many further complete reads.";
    "job.leavers.set" Texts: "Templates for the fields that `update` sets; they see `last.FIELD` and `left`.";
    "job.notify" Table: "Who gets notices of this job as mails, besides `notify.mail.to`.";
    "job.notify.mail_to" TextOrList: "Who gets them; the server and the sender are those of `notify.mail`.";
    "job.notify.digest" Text:
        "When a summary is sent to them, in crontab's form: who came, changed and left by number, and what waits.";
    "job.notify.digest_names" Flag = false: "Whether it names people.";
    "job.guard" Table: "How much may change by itself: a share of the known people, a plain count, or `off`.";
    "job.guard.max_leavers" TextOrNumber = "2%": "People removed in any 24 hours.";
    "job.guard.max_updates" TextOrNumber = "30%": "People changed, or made again since the service does not have them any more.";
    "job.guard.max_blanked" TextOrNumber = "5%": "People who lose the value of one and the same field.";
    "job.guard.max_creates" TextOrNumber = "off": "New people.";
    "job.guard.max_missing" TextOrNumber: "Known people who are missing from a complete read; as `max_leavers` unless set.";
    "job.guard.min_records" Number = 1: "With fewer records than this nothing is taken from the read.";
    "job.guard.segment" Text: "A template: the limits hold for each of its values too.";
};

/// The tables of the file, each as it is written there, with the keys right below it.
pub(crate) fn tables() -> impl Iterator<Item = (String, &'static Key, Vec<&'static Key>)> {
    let is_table = |key: &Key| matches!(key.shape, Shape::Table | Shape::Tables | Shape::Named);
    KNOWN.iter().filter(move |key| is_table(key)).map(move |table| {
        let own = KNOWN.iter().filter(|key| !is_table(key) && parent(key.name) == table.name).collect();
        (written(table.name), table, own)
    })
}

/// The tables of second sources.
const LOOKUP: &str = "job.lookup";

/// A key as [`KNOWN`] has it: without the name of a lookup, whose source has the keys of a job's.
pub(super) fn canonical(name: &str) -> Cow<'_, str> {
    let Some(rest) = name.strip_prefix(LOOKUP).and_then(|rest| rest.strip_prefix('.')) else { return name.into() };
    match rest.split_once('.') {
        None => LOOKUP.into(),
        Some((_, rest)) if rest.starts_with("source.") => format!("job.{rest}").into(),
        Some((_, rest)) => format!("{LOOKUP}.{rest}").into(),
    }
}

/// The table that contains a key; empty for the top.
fn parent(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// The name of a key in its table.
fn last(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

/// A table as it is written in a file.
fn written(table: &str) -> String {
    if matches!(shape(table), Some(Shape::Tables)) {
        return format!("[[{table}]]");
    }
    match table.strip_prefix(LOOKUP) {
        Some(rest) => format!("[{LOOKUP}.NAME{rest}]"),
        None => format!("[{table}]"),
    }
}

/// Keys whose values are never quoted, wherever they are (law 11).
pub(super) const SECRETS: &[&str] = &[
    "api.client_secret",
    "api.api_key",
    "api.credentials.client_secret",
    "api.credentials.api_key",
    "approvals.oidc.client_secret",
    "job.source.bind_password",
    "job.source.password",
    "job.source.token",
    "job.source.client_secret",
    "job.source.oauth.client_secret",
    "notify.mail.password",
];

/// The last names of the keys that such a source does not have, each with the kinds that have it.
pub(super) fn foreign_to(kind: SourceKind) -> impl Iterator<Item = (&'static str, String)> {
    let foreign = KNOWN.iter().filter(move |key| !key.sources.is_empty() && !key.sources.contains(&kind));
    foreign.map(|key| {
        let kinds: Vec<&str> = key.sources.iter().map(|kind| kind.described()).collect();
        (last(key.name), kinds.join(" or "))
    })
}

/// The shape of a known key.
pub(super) fn shape(name: &str) -> Option<Shape> {
    let name = canonical(name);
    KNOWN.iter().find(|key| key.name == name).map(|key| key.shape)
}

/// The last names of the known keys right below `table` (`""` for the top).
pub(super) fn below(table: &str) -> impl Iterator<Item = &'static str> {
    let table = canonical(table);
    let table = if table == "job.lookup.source" { "job.source".to_owned() } else { table.into_owned() };
    KNOWN.iter().filter(move |key| parent(key.name) == table).map(|key| last(key.name))
}

/// The table in which a key of that last name is known, as it is written in a file.
pub(super) fn home_of(name: &str) -> Option<String> {
    let home = KNOWN.iter().find(|key| key.name.contains('.') && last(key.name) == name)?;
    Some(written(parent(home.name)))
}
