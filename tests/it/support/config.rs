//! The configuration of a test: parts of TOML with defaults, put together in one place.

/// Where the state of a test lies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept {
    /// In a folder, or in a database where `ROSTERD_TEST_STORE` asks for that.
    Anywhere,
    /// In a database.
    InDatabase,
    /// In a folder, always: what the test is about does not exist in a database.
    InFolder(OfAFolder),
}

/// What a test is about that only a state folder has. `tests/it/folder_only.txt` lists those tests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OfAFolder {
    /// Its files are damaged or missing, or those of another day.
    Damage,
    /// Its disk is full or fails, or the power goes.
    Disk,
    /// The owners and modes of the folder and its files.
    Rights,
    /// The key that says where it is.
    Place,
    /// Its lock, for which a daemon waits for some seconds only.
    Lock,
}

/// What a test says in its configuration, each a text of TOML: of one job, and of what comes after it.
#[derive(Clone)]
pub(crate) struct Config {
    /// Lines of `[api]` that say who calls.
    pub(crate) credential: String,
    /// Lines of `[api]` besides base_url and credential.
    pub(crate) api: String,
    /// Lines of `[state]` besides dir.
    pub(crate) state: String,
    /// The job's name and target.
    pub(crate) name: String,
    pub(crate) target: String,
    /// Lines of the job itself.
    pub(crate) job: String,
    /// Where the job's source is.
    pub(crate) path: String,
    /// Lines of `[job.source]` besides type and path; where they begin with the type, all of them.
    pub(crate) source: String,
    /// Lines of `[job.map]`.
    pub(crate) map: String,
    /// The tables after it: `[job.leavers]`, `[job.guard]`, further jobs.
    pub(crate) rest: String,
    /// Where the state lies.
    pub(crate) kept: Kept,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            credential: "api_key_file = \"api_key\"".into(),
            state: String::new(),
            api: "requests_per_minute = 3000\n".into(),
            name: "staff".into(),
            target: "staff".into(),
            job: "key = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\", \"email\"]\n".into(),
            path: "staff.csv".into(),
            source: "settle = \"0s\"\n".into(),
            map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\ntitle = \"{{ title }}\"\nemployee_id = \"{{ employee_no }}\"\n"
                .into(),
            rest: String::new(),
            kept: Kept::Anywhere,
        }
    }
}

/// Lines of `[api]` with a limit that no test reaches.
pub(crate) const UNLIMITED: &str = "requests_per_minute = 100000\n";
/// Tables that put the daemon's socket beside the configuration.
pub(crate) const CONTROL: &str = "[control]\nsocket = \"control.sock\"\n";

impl Config {
    /// A second job, of the employees in `other.csv`.
    pub(crate) const OTHER_JOB: &str = "[[job]]\nname = \"other\"\ntarget = \"staff\"\nkey = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\"]\n\
                  [job.source]\ntype = \"csv\"\npath = \"other.csv\"\nsettle = \"0s\"\n[job.map]\nname = \"{{ name }}\"\n\
                  employee_id = \"{{ employee_no }}\"\n";

    /// The default with these tables after it.
    pub(crate) fn rest(rest: &str) -> Self {
        Self { rest: rest.into(), ..Self::default() }
    }

    /// The default with a socket, these lines of the job, and these tables after it.
    pub(crate) fn served(job: &str, rest: &str) -> Self {
        Self::rest(&format!("{rest}\n{CONTROL}")).job(job)
    }

    /// With further lines of the job.
    pub(crate) fn job(mut self, lines: &str) -> Self {
        self.job += lines;
        self
    }

    /// With the state in a database.
    pub(crate) fn in_database(mut self) -> Self {
        self.kept = Kept::InDatabase;
        self
    }

    /// With the state in a folder, wherever others keep theirs.
    pub(crate) fn in_a_folder(mut self, why: OfAFolder) -> Self {
        self.kept = Kept::InFolder(why);
        self
    }

    /// With further lines of `[job.map]`.
    pub(crate) fn map(mut self, lines: &str) -> Self {
        self.map += lines;
        self
    }

    /// With the job of another one after all that is here.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        self.rest += &other.table();
        self
    }

    /// `[[job]]`, and all tables after it.
    fn table(&self) -> String {
        let Self { name, target, job, path, source, map, rest, .. } = self;
        let file = match source.starts_with("type = ") {
            true => String::new(),
            false => format!("type = \"csv\"\npath = \"{path}\"\n"),
        };
        format!(
            "\n[[job]]\nname = \"{name}\"\ntarget = \"{target}\"\n{job}\n[job.source]\n{file}{source}\n[job.map]\n{map}\n{rest}\n"
        )
    }

    /// The whole text, for the service at that address.
    pub(crate) fn text(&self, url: &str) -> String {
        let Self { credential, api, state, .. } = self;
        let table = self.table();
        format!("[api]\nbase_url = \"{url}\"\n{credential}\n{api}\n[state]\ndir = \"state\"\n{state}\n{table}")
    }
}
