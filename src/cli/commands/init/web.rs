//! `rosterd init https://…`: a first configuration, from what the file of a web server shows.

use std::path::Path;

use super::common::quoted;
use super::file::{Origin, not_looked_at, sheet_line, show};
use crate::cli::args::InitArgs;
use crate::cli::ui::{Exit, Failure, Ui};
use crate::clock::Clock;
use crate::secret::SecretSource;
use crate::source::RefusedLogins;
use crate::source::csv::{self, Opened};
use crate::source::https::{Address, Downloaded, Login, Options, download};

pub(super) fn run(ui: &Ui, args: &InitArgs, written: &str) -> Result<Exit, Failure> {
    let address = Address::parse(written).map_err(|reason| Failure::usage(format!("the address {reason}")))?;
    let secret = |file: &Path| SecretSource::File(file.to_owned());
    let login = match (&args.user, &args.password_file, &args.token_file) {
        (Some(user), Some(file), _) => Some(Login::Basic { user: user.clone(), password: secret(file) }),
        (_, _, Some(file)) => Some(Login::Bearer(secret(file))),
        _ => None,
    };
    let shown = address.to_string();
    let mut origin = Origin { shown: shown.clone(), stem: address.stem().to_owned(), lines: lines(args, written) };
    origin.lines.extend(sheet_line(args));
    let options = Options { login, ca_file: args.ca_file.clone(), ..Options::at(address) };
    let downloaded =
        download(&options, &std::env::temp_dir(), &Clock::system(), &RefusedLogins::unremembered(), &|| false);
    let downloaded = downloaded.map_err(Failure::failed)?;
    let Downloaded { file, size, doubt, .. } = downloaded;
    let probe = csv::probe_opened(Opened { file, size }, Path::new(&shown), args.sheet.as_deref());
    let mut probe = probe.map_err(not_looked_at)?;
    probe.doubts.extend(doubt);
    Ok(show(ui, &origin, &probe))
}

/// The lines of `[job.source]`. The address is printed as it was given: without its query there is no file.
fn lines(args: &InitArgs, written: &str) -> String {
    let mut lines = format!("url = {}\n", quoted(written.trim()));
    let mut add = |key: &str, value: Option<&str>| {
        lines.extend(value.map(|value| format!("{key} = {}\n", quoted(value))));
    };
    let path = |path: &Option<std::path::PathBuf>| path.as_deref().map(|path| path.to_string_lossy().into_owned());
    add("user", args.user.as_deref());
    add("password_file", path(&args.password_file).as_deref());
    add("token_file", path(&args.token_file).as_deref());
    add("ca_file", path(&args.ca_file).as_deref());
    if args.user.is_none() && args.token_file.is_none() {
        lines.push_str(
            "# user = \"…\"                        # where it asks for one: with password_file, or token_file alone\n",
        );
    }
    lines
}
