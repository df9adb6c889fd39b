//! The arguments.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::state_args::StateArgs;
use super::ui::failure::Failure;
use crate::config::Instance;
use crate::sandbox::{Fault, Restriction, Window};

/// The default configuration file.
pub(super) const CONFIG: &str = "/etc/rosterd/config.toml";

/// Options of every command have a heading of their own in its help.
const GLOBAL: &str = "Global options";

/// Keeps a workplace presence service in step with an organization's own directories
#[derive(Debug, Parser)]
#[command(name = "rosterd", version, max_term_width = 120)]
pub(super) struct Arguments {
    /// The configuration file
    #[arg(
        short,
        long,
        global = true,
        help_heading = GLOBAL,
        value_name = "FILE",
        env = "ROSTERD_CONFIG",
        default_value = CONFIG
    )]
    pub(super) config: PathBuf,
    /// One of several accounts: its configuration is /etc/rosterd/NAME.toml, its state /var/lib/rosterd/NAME
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "NAME")]
    pub(super) instance: Option<Instance>,
    /// Print one JSON document on one line
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(super) json: bool,
    /// Print data and errors only: no notes, warnings or progress
    #[arg(short, long, global = true, help_heading = GLOBAL, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Log what this process does, too; -vv logs each change. ROSTERD_LOG names a level instead
    #[arg(short, long, global = true, help_heading = GLOBAL, action = ArgAction::Count)]
    pub(super) verbose: u8,
    /// When to use colour
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "WHEN", default_value = "auto")]
    pub(super) color: Color,
    /// How the daemon logs
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FORM", default_value = "text")]
    pub(super) log: LogForm,
    #[command(subcommand)]
    pub(super) command: Command,
}

impl Arguments {
    /// Puts the instance's file in the place of the usual one.
    pub(super) fn settled(mut self) -> Result<Self, Failure> {
        let Some(instance) = &self.instance else { return Ok(self) };
        let file = instance.file();
        if self.config != Path::new(CONFIG) && self.config != file {
            let twice = "--instance and --config (or ROSTERD_CONFIG) name two configurations";
            return Err(Failure::usage(twice).hint("leave one of them out"));
        }
        self.config = file;
        Ok(self)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogForm {
    /// Lines to read; under systemd, the journal with its fields
    Text,
    /// One JSON object a line
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Show on this machine, from nothing, what the program does
    Demo(DemoArgs),
    /// Print a commented configuration for a file, a web server or an LDAP directory
    Init(InitArgs),
    /// Run the jobs by their schedules, and serve the other commands: the daemon
    Run(RunArgs),
    /// Make the daemon take the new configuration; waits for what comes of it
    Reload,
    /// Bring the service in step with the sources, now
    Sync(JobArgs),
    /// Show what `sync` would change, changing nothing
    Plan(PlanArgs),
    /// Send the changes of a saved plan that are still as it says
    Apply(ApplyArgs),
    /// Release held changes; the next `sync` sends them
    Approve(ApproveArgs),
    /// Drop held changes, until their records change or come back
    Reject(DecideArgs),
    /// Send nothing more, of one job or of all, until `resume`
    Pause(PauseArgs),
    /// Send again
    Resume(PauseArgs),
    /// Drop what is remembered and match people again at the next `sync`
    Rebuild(RebuildArgs),
    /// Show what waits to be sent, or decide about it
    Queue(QueueArgs),
    /// Check configuration, permissions and mapping, then source and service
    Check(CheckArgs),
    /// Show source rows beside the records that they become
    Preview(PreviewArgs),
    /// Show one record from source to service, and why
    Explain(ExplainArgs),
    /// Put back what a run changed, where it is still so
    Revert(RevertArgs),
    /// Remove a person from what is kept on this machine; the service is left alone
    Forget(ForgetArgs),
    /// Move everything that is remembered to another state
    State(StateArgs),
    /// Show past runs and decisions, or what one run changed
    History(HistoryArgs),
    /// Show jobs, their last runs, what waits, and the budget
    Status(StatusArgs),
    /// Try the channels of notices
    Notify(NotifyArgs),
    /// Send one operation of the service's API, or list them all
    Api(ApiArgs),
    /// Serve a stand-in for the service, for rehearsals
    Sandbox(SandboxArgs),
    /// List keys of a job, for the completion of a shell
    #[command(hide = true)]
    Keys(KeysArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

impl Command {
    /// Its name, for the log.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Demo(_) => "demo",
            Self::Init(_) => "init",
            Self::Run(_) => "run",
            Self::Reload => "reload",
            Self::Sync(_) => "sync",
            Self::Plan(_) => "plan",
            Self::Apply(_) => "apply",
            Self::Approve(_) => "approve",
            Self::Reject(_) => "reject",
            Self::Pause(_) => "pause",
            Self::Resume(_) => "resume",
            Self::Rebuild(_) => "rebuild",
            Self::Queue(_) => "queue",
            Self::Check(_) => "check",
            Self::Preview(_) => "preview",
            Self::Explain(_) => "explain",
            Self::Revert(_) => "revert",
            Self::Forget(_) => "forget",
            Self::State(_) => "state",
            Self::History(_) => "history",
            Self::Status(_) => "status",
            Self::Notify(_) => "notify",
            Self::Api(_) => "api",
            Self::Sandbox(_) => "sandbox",
            Self::Keys(_) => "keys",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
        }
    }

    /// Whether it is for the daemon, where one runs: it needs the store, or changes what the daemon does.
    pub(super) fn works_at_the_daemon(&self) -> bool {
        match self {
            Self::Reload
            | Self::Sync(_)
            | Self::Plan(_)
            | Self::Apply(_)
            | Self::Approve(_)
            | Self::Reject(_)
            | Self::Pause(_)
            | Self::Resume(_)
            | Self::Rebuild(_)
            | Self::Queue(_)
            | Self::Explain(_)
            | Self::Revert(_)
            | Self::Forget(_)
            | Self::History(_)
            | Self::Keys(_) => true,
            Self::Status(args) => !args.is_of_several(),
            // Only where the state lies in a database: its rate limit is known to the worker that has it.
            Self::Api(args) => args.operation.is_some(),
            Self::Demo(_)
            | Self::Init(_)
            | Self::Run(_)
            | Self::Check(_)
            | Self::Preview(_)
            | Self::State(_)
            | Self::Notify(_)
            | Self::Sandbox(_)
            | Self::Completions(_)
            | Self::Man(_) => false,
        }
    }

    /// Whether it asks the service for something, or may.
    pub(super) fn asks_the_service(&self) -> bool {
        matches!(
            self,
            Self::Sync(_) | Self::Plan(_) | Self::Apply(_) | Self::Explain(_) | Self::Revert(_) | Self::Api(_)
        )
    }

    /// Whether it is for the worker that has the account, where that is on another machine. A pause lies in the database, and so
    /// does the history: both work everywhere, whatever that worker does. A reload is about the files of one machine.
    pub(super) fn works_at_the_holder(&self) -> bool {
        !matches!(self, Self::Reload | Self::Pause(_) | Self::History(_)) && self.works_at_the_daemon()
    }
}

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Keep the folder of the demonstration and say where it is
    #[arg(long)]
    pub(super) keep: bool,
    /// End with a daemon, an inbox and a status page to try things with, until Ctrl-C
    #[arg(long)]
    pub(super) serve: bool,
}

#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// A CSV file or workbook of staff, its https:// address, that of a directory (ldaps://HOST[/BASE]), or "entra" for Entra ID
    #[arg(value_name = "FILE|URL|entra")]
    pub(super) source: PathBuf,
    /// The sheet of a workbook that has several
    #[arg(long, value_name = "NAME")]
    pub(super) sheet: Option<String>,
    /// Who asks the directory; without it, an anonymous bind
    #[arg(long, value_name = "DN", requires = "bind_password_file")]
    pub(super) bind_dn: Option<String>,
    /// The file with the password of --bind-dn
    #[arg(long, value_name = "FILE", requires = "bind_dn")]
    pub(super) bind_password_file: Option<PathBuf>,
    /// The client certificate by which a directory knows who asks
    #[arg(long, value_name = "FILE", requires = "client_key_file", conflicts_with = "bind_dn")]
    pub(super) client_cert_file: Option<PathBuf>,
    /// The file with the private key of --client-cert-file
    #[arg(long, value_name = "FILE", requires = "client_cert_file")]
    pub(super) client_key_file: Option<PathBuf>,
    /// Who asks a web server
    #[arg(long, requires = "password_file")]
    pub(super) user: Option<String>,
    /// The file with the password of --user
    #[arg(long, value_name = "FILE", requires = "user")]
    pub(super) password_file: Option<PathBuf>,
    /// The file with a bearer token for a web server
    #[arg(long, value_name = "FILE", conflicts_with = "user")]
    pub(super) token_file: Option<PathBuf>,
    /// Certificates trusted in addition to the system's
    #[arg(long, value_name = "FILE")]
    pub(super) ca_file: Option<PathBuf>,
    /// Encrypt a connection to ldap:// before anything else is said
    #[arg(long)]
    pub(super) start_tls: bool,
}

#[derive(Debug, Args)]
pub(super) struct JobArgs {
    /// The jobs; all of them where none is named
    #[arg(value_name = "JOB")]
    pub(super) jobs: Vec<String>,
    /// Only this record; may be given several times. Such a run removes no one
    #[arg(long = "key", value_name = "KEY")]
    pub(super) keys: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) jobs: JobArgs,
    /// Exit with 5 where there are changes
    #[arg(long)]
    pub(super) exit_code: bool,
    /// Show sensitive values (phone numbers, custom fields) too
    #[arg(long)]
    pub(super) show_values: bool,
    /// Write the plan to this file too, for `rosterd apply`
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    /// What `rosterd plan --out` wrote
    pub(super) file: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct DecideArgs {
    /// The job; may be left out where there is only one
    pub(super) job: Option<String>,
    /// The records; all held ones where none is named
    #[arg(value_name = "KEY")]
    pub(super) keys: Vec<String>,
    /// Refuse if the held set is another one by now
    #[arg(long, value_name = "N")]
    pub(super) set: Option<u64>,
}

#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    pub(super) decide: DecideArgs,
    /// Take the directory for right as the job read it last, though its server may be behind what was read before: who
    /// is missing there counts as gone, with the usual grace and limits
    #[arg(long, conflicts_with_all = ["keys", "set"])]
    pub(super) server: bool,
}

#[derive(Debug, Args)]
pub(super) struct PauseArgs {
    /// The job; all of them where none is named
    pub(super) job: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct RebuildArgs {
    /// Only if the store is damaged; keep what can be read of it
    #[arg(long)]
    pub(super) damaged: bool,
}

#[derive(Debug, Args)]
pub(super) struct NotifyArgs {
    #[command(subcommand)]
    pub(super) command: NotifyCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum NotifyCommand {
    /// Send a notice that says that it is a test to the webhook and by mail
    Test,
}

#[derive(Debug, Args)]
pub(super) struct QueueArgs {
    #[command(subcommand)]
    pub(super) command: QueueCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum QueueCommand {
    /// Show what waits, what was sent and is not settled, and what the service refused
    List {
        /// Only of this job
        job: Option<String>,
    },
    /// Let the next `sync` send again what the service refused
    Retry(QueuedArgs),
    /// Drop changes, until their records change
    Drop(QueuedArgs),
}

#[derive(Debug, Args)]
pub(super) struct QueuedArgs {
    /// The job; may be left out where there is only one
    pub(super) job: Option<String>,
    /// The records; all where none is named
    #[arg(value_name = "KEY")]
    pub(super) keys: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Do not ask the service, and do not read sources
    #[arg(long)]
    pub(super) offline: bool,
    /// Exit with 1 on a warning too, such as a rejected row
    #[arg(long)]
    pub(super) strict: bool,
}

#[derive(Debug, Args)]
pub(super) struct PreviewArgs {
    /// The job; may be left out where there is only one
    pub(super) job: Option<String>,
    /// Only this record
    #[arg(long, value_name = "KEY")]
    pub(super) key: Option<String>,
    /// At most N rows
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) limit: usize,
}

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(super) struct ExplainArgs {
    /// The job; may be left out where there is only one
    pub(super) job: Option<String>,
    /// The record
    pub(super) key: String,
    /// Show sensitive values (phone numbers, custom fields) and the cells of the row too
    #[arg(long)]
    pub(super) show_values: bool,
}

#[derive(Debug, Args)]
pub(super) struct RevertArgs {
    /// The number of the run
    pub(super) run: u64,
    /// Show what would be put back, and send nothing
    #[arg(long)]
    pub(super) plan: bool,
    /// Show sensitive values (phone numbers, custom fields) too
    #[arg(long)]
    pub(super) show_values: bool,
}

#[derive(Debug, Args)]
pub(super) struct ForgetArgs {
    /// The record, whatever its job
    pub(super) key: String,
}

#[derive(Debug, Args)]
pub(super) struct HistoryArgs {
    /// The number of a run: show what it changed
    pub(super) run: Option<u64>,
    /// At most N runs and decisions; 0 for all
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "run")]
    pub(super) limit: usize,
    /// Show sensitive values (phone numbers, custom fields) too
    #[arg(long, requires = "run")]
    pub(super) show_values: bool,
}

#[derive(Clone, Debug, Default, Args)]
pub(super) struct RunArgs {
    /// Run an account for each file NAME.toml in this folder, all in one process
    #[arg(long, value_name = "DIR")]
    pub(super) accounts: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// Of every instance: of each configuration in the folder of this one
    #[arg(long)]
    pub(super) all: bool,
    /// Of every account in this folder
    #[arg(long, value_name = "DIR")]
    pub(super) accounts: Option<PathBuf>,
}

impl StatusArgs {
    /// Whether it is about more than one account.
    pub(super) fn is_of_several(&self) -> bool {
        self.all || self.accounts.is_some()
    }
}

#[derive(Debug, Args)]
pub(super) struct ApiArgs {
    /// The operation, for example `staff.get`; none lists them
    #[arg(index = 1)]
    pub(super) operation: Option<String>,
    /// Path and query parameters
    #[arg(index = 2, value_name = "NAME=VALUE")]
    pub(super) parameters: Vec<String>,
    /// The body: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(super) body: Option<String>,
    /// What the body is, such as text/csv; JSON or an image where it is not said
    #[arg(long, value_name = "TYPE", requires = "body")]
    pub(super) content_type: Option<String>,
    /// Write the answer's body to this file
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Walk all pages of a list
    #[arg(long, conflicts_with_all = ["body", "out"])]
    pub(super) all: bool,
    /// Only what was created or changed since then (If-Modified-Since; 2026-01-31T12:00:00 is UTC)
    #[arg(long, value_name = "TIME")]
    pub(super) since: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct KeysArgs {
    /// The job; may be left out where there is only one
    pub(super) job: Option<String>,
    /// Which keys
    #[arg(long, value_name = "WHICH", default_value = "known")]
    pub(super) of: KeysOf,
    /// Only those that begin with this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(super) prefix: String,
    /// At most N keys
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(super) limit: usize,
}

/// The keys that a command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum KeysOf {
    /// Of every record that the job knows
    Known,
    /// Of held changes
    Held,
    /// Of changes in the queue
    Queued,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    pub(super) shell: Shell,
}

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// The folder for them
    pub(super) dir: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Shell {
    Bash,
    Fish,
    Zsh,
}

#[derive(Clone, Debug, Args)]
pub(super) struct SandboxArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub(super) listen: SocketAddr,
    /// Keep the data in this folder
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// Begin with N invented employees
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed_staff: u32,
    /// Begin with N invented contractors, and something in every other list
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed_contractors: u32,
    /// Requests allowed in a minute; 0 for any number
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(super) rate: u32,
    /// How the minute is counted: sliding or fixed
    #[arg(long, value_name = "KIND", default_value = "sliding")]
    pub(super) window: Window,
    /// Go wrong now and then; a wrong SPEC prints the grammar
    #[arg(long = "fault", value_name = "SPEC")]
    pub(super) faults: Vec<Fault>,
    /// Answer only after MS milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub(super) delay: u64,
    /// How far its clock is ahead, in seconds; may be negative
    #[arg(long, value_name = "S", default_value_t = 0, allow_negative_numbers = true)]
    pub(super) clock_offset: i64,
    /// The most entities in one page of a list
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub(super) page_max: u32,
    /// Answer a list without hits with 404
    #[arg(long)]
    pub(super) empty_404: bool,
    /// Take a person whose email or employee id exists already
    #[arg(long)]
    pub(super) accept_duplicates: bool,
    /// Answer a PUT without a body
    #[arg(long)]
    pub(super) put_without_body: bool,
    /// Rewrite phone numbers, email addresses and outer spaces as the service may
    #[arg(long)]
    pub(super) normalize: bool,
    /// How long an access token lasts, in seconds
    #[arg(long, value_name = "S", default_value_t = 3600)]
    pub(super) token_lifetime: u64,
    /// The API key that it takes
    #[arg(long, value_name = "KEY", default_value = "sandbox-key")]
    pub(super) api_key: String,
    /// What that key is restricted to, such as staff; may be given several times
    #[arg(long = "api-key-restriction", value_name = "NAME")]
    pub(super) api_key_restrictions: Vec<Restriction>,
    /// The OAuth client that it takes
    #[arg(long, value_name = "ID", default_value = "sandbox-client")]
    pub(super) client_id: String,
    /// That client's secret
    #[arg(long, value_name = "SECRET", default_value = "sandbox-secret")]
    pub(super) client_secret: String,
}
