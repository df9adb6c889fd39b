//! `rosterd man`: the manual pages, made from the definition of the arguments.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::args::ManArgs;
use crate::cli::help;
use crate::cli::ui::{Exit, Failure, Message};
use crate::config::keys::{self, Key};

/// The page of the configuration.
const CONFIGURATION: &str = "rosterd.toml";

const FILES: &[(&str, &str)] = &[
    (
        "/etc/rosterd/config.toml",
        "The configuration; see rosterd.toml(5). /usr/share/doc/rosterd/config.example.toml shows every key.",
    ),
    ("/etc/rosterd/NAME.toml", "The configuration of one of several accounts (--instance NAME, rosterd@NAME.service)."),
    (
        "/etc/rosterd/accounts/NAME.toml",
        "The configuration of one of the accounts that share a process (rosterd run --accounts, rosterd-accounts.service).",
    ),
    ("/var/lib/rosterd", "What is remembered between runs, and the audit files. Personal data; mode 0700."),
    (
        "/etc/credstore/rosterd.client_secret",
        "The client's secret, handed to the service by systemd; mode 0600, of root.",
    ),
    ("/var/spool/rosterd/inbox", "A folder into which members of the group rosterd-upload may drop files."),
];

pub(crate) fn run(args: &ManArgs) -> Result<Exit, Failure> {
    write(&args.dir)
        .map_err(|error| Failure::failed(Message(format!("manual pages in {}: {error}", args.dir.display()))))?;
    Ok(Exit::Done)
}

fn write(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    for (name, page) in pages()? {
        let path = dir.join(name);
        std::fs::write(&path, page)?;
        // Everybody may read a manual, whatever the umask of this program is.
        std::fs::set_permissions(&path, Permissions::from_mode(0o644))?;
    }
    Ok(())
}

/// All pages with the names of their files: of the program, of each command, and of the configuration.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = help::command().disable_help_subcommand(true);
    command.build();
    let mut pages =
        vec![("rosterd.1".to_owned(), program(&command)?), (format!("{CONFIGURATION}.5"), configuration()?)];
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        let name = format!("rosterd-{}", part.get_name());
        let mut page = Vec::new();
        Man::new(part.clone().display_name(&name)).title(&name).render(&mut page)?;
        see_also(&["rosterd(1)".to_owned()]).to_writer(&mut page)?;
        pages.push((format!("{name}.1"), page));
    }
    Ok(pages)
}

fn program(command: &clap::Command) -> io::Result<Vec<u8>> {
    let (man, mut page) = (Man::new(command.clone()), Vec::new());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    man.render_subcommands_section(&mut page)?;
    let exits: Vec<(String, &str)> = Exit::ALL.iter().map(|exit| (exit.code().to_string(), exit.meaning())).collect();
    let files = FILES.iter().map(|(path, text)| ((*path).to_owned(), *text)).collect();
    for (title, rows) in [("EXIT STATUS", exits), ("FILES", files)] {
        let mut section = Roff::new();
        section.control("SH", [title]);
        for (term, text) in rows {
            section.control("TP", []).text([bold(term)]).text([roman(text)]);
        }
        section.to_writer(&mut page)?;
    }
    let shown = command.get_subcommands().filter(|part| !part.is_hide_set());
    let others: Vec<String> = shown.map(|part| format!("rosterd-{}(1)", part.get_name())).collect();
    let others: Vec<String> = others.into_iter().chain([format!("{CONFIGURATION}(5)")]).collect();
    see_also(&others).to_writer(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// The page of the configuration, from the table by which it is checked.
fn configuration() -> io::Result<Vec<u8>> {
    let mut page = Roff::new();
    page.control("TH", [CONFIGURATION, "5"]);
    page.control("SH", ["NAME"]).text([roman(format!("{CONFIGURATION} - the configuration of rosterd"))]);
    page.control("SH", ["DESCRIPTION"]).text([roman(
        "A file in TOML, /etc/rosterd/config.toml unless another is named. A key without a default is not set unless you set it. \
         A relative path begins at the folder of the file.",
    )]);
    for (written, table, keys) in keys::tables() {
        page.control("SH", [written.as_str()]).text([roman(table.about.replace('`', ""))]);
        for Key { name, shape, default, about, .. } in keys {
            let name = name.rsplit('.').next().unwrap_or(name);
            let default = default.map(|default| format!(", {default} unless set")).unwrap_or_default();
            page.control("TP", []).text([bold(name), roman(format!(" ({}{default})", shape.described()))]);
            page.text([roman(about.replace('`', ""))]);
        }
    }
    let mut written = page.to_roff().into_bytes();
    see_also(&["rosterd(1)".to_owned()]).to_writer(&mut written)?;
    Ok(written)
}

fn see_also(pages: &[String]) -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["SEE ALSO"]).text([roman(pages.join(", "))]);
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_option_has_its_page() {
        let pages = pages().unwrap();
        let text = |name: &str| {
            let (_, page) = pages.iter().find(|(file, _)| file == name).unwrap();
            String::from_utf8(page.clone()).unwrap().replace("\\-", "-")
        };
        let all = text("rosterd.1");
        for part in help::command().get_subcommands().filter(|part| !part.is_hide_set()) {
            let page = text(&format!("rosterd-{}.1", part.get_name()));
            assert!(all.contains(&format!("rosterd-{}(1)", part.get_name())), "{}", part.get_name());
            assert!(page.contains("Examples:") && page.contains("Exit codes:"), "{page}");
            for option in part.get_arguments().filter_map(clap::Arg::get_long) {
                assert!(page.contains(&format!("--{option}")), "{} --{option}", part.get_name());
            }
        }
        for word in ["EXIT STATUS", "FILES", "--instance", "/etc/rosterd/config.toml"] {
            assert!(all.contains(word), "{word}");
        }
    }

    #[test]
    fn every_key_of_the_configuration_has_its_place() {
        let page = String::from_utf8(configuration().unwrap()).unwrap().replace("\\-", "-");
        for Key { name, about, .. } in keys::KNOWN {
            let last = name.rsplit('.').next().unwrap();
            assert!(page.contains(last), "{name}");
            let begins = about.split(['`', '\'']).next().unwrap();
            assert!(page.contains(begins), "{name}: {begins}");
        }
    }
}
