//! `rosterd init`: a first configuration, from what a file shows.

use std::path::Path;

use super::columns::{Columns, NAMES};
use super::common::{HEAD, TAIL, printable, quoted, time_zone};
use crate::cli::args::InitArgs;
use crate::cli::ui::{Exit, Failure, Ui};
use crate::source::csv::{self, Probe, delimiter_name};
use crate::source::snake;

/// Where a table comes from.
pub(super) struct Origin {
    /// As it is named to people.
    pub(super) shown: String,
    /// What a job of it may be called after.
    pub(super) stem: String,
    /// The lines of `[job.source]` that name it.
    pub(super) lines: String,
}

impl Origin {
    fn file(path: &Path) -> Self {
        Self {
            shown: path.display().to_string(),
            stem: path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
            lines: format!("path = {}\n", quoted(&path.to_string_lossy())),
        }
    }
}

pub(super) fn run(ui: &Ui, args: &InitArgs) -> Result<Exit, Failure> {
    let probe = csv::probe(&args.source, args.sheet.as_deref()).map_err(not_looked_at)?;
    let path = args.source.canonicalize().unwrap_or_else(|_| args.source.clone());
    let mut origin = Origin::file(&path);
    origin.lines.extend(sheet_line(args));
    Ok(show(ui, &origin, &probe))
}

/// The line of `[job.source]` that names the sheet, where one was named.
pub(super) fn sheet_line(args: &InitArgs) -> Option<String> {
    args.sheet.as_deref().map(|sheet| format!("sheet = {}\n", quoted(sheet)))
}

/// Says how to name a sheet where there is no configuration yet that could.
pub(super) fn not_looked_at(error: csv::Error) -> Failure {
    let asks_for_sheet = error.asks_for_sheet();
    let failure = Failure::failed(error);
    if asks_for_sheet { failure.hint("name it: `rosterd init FILE --sheet NAME`") } else { failure }
}

/// Prints the configuration for a table that was looked at.
pub(super) fn show(ui: &Ui, origin: &Origin, probe: &Probe) -> Exit {
    let configuration = configuration(origin, probe);
    let text = probe.found.text.clone().unwrap_or_default();
    if ui.json {
        ui.document(&serde_json::json!({
            "version": 1,
            "encoding": text.encoding,
            "delimiter": char::from(text.delimiter).to_string(),
            "header": probe.found.header_line,
            "columns": probe.found.columns,
            "sheet": probe.found.sheet,
            "doubts": probe.doubts,
            "configuration": configuration,
        }));
    } else {
        ui.line(configuration.trim_end());
    }
    probe.doubts.iter().for_each(|doubt| ui.warn(doubt));
    Exit::Done
}

/// Text of the configuration's parts, found columns filled in.
fn configuration(origin: &Origin, probe: &Probe) -> String {
    let columns = Columns::new(&probe.found.columns);
    let found = &probe.found;
    let job = crate::record::JobName::new(&snake(&origin.stem))
        .map_or_else(|| "employees".to_owned(), |name| name.to_string());
    let mut map = Vec::new();
    let mut open = Vec::new();
    match columns.name() {
        Some(template) => map.push(("name", template)),
        None => open.push(("name", "no column for names was recognized; this one is needed")),
    }
    for (field, names) in NAMES {
        match columns.first(names) {
            Some(template) => map.push((field, template)),
            None if *field == "employee_id" => open.push((field, "no column for staff numbers was recognized")),
            None => {}
        }
    }
    let key = map.iter().find(|(field, _)| *field == "employee_id" || *field == "email").map(|(_, template)| template);
    let form = match &found.sheet {
        Some(sheet) => format!("a workbook, sheet {}", printable(sheet)),
        None => {
            let text = found.text.clone().unwrap_or_default();
            format!("{}, cells put apart by {}", text.encoding, delimiter_name(text.delimiter))
        }
    };
    let mut text = format!(
        "# A first configuration for {path}.\n\
         # Found: {form}, header on line {header}, {count} columns:\n",
        path = printable(&origin.shown),
        header = found.header_line,
        count = found.columns.len(),
    );
    found.columns.iter().for_each(|column| text.push_str(&format!("#   {}\n", printable(column))));
    probe.doubts.iter().for_each(|doubt| text.push_str(&format!("# In doubt: {}\n", printable(doubt))));
    text.push_str(HEAD);
    text.push_str(&format!("name = {}\n", quoted(&job)));
    text.push_str("target = \"staff\"\nschedule = \"*/15 * * * *\"\n");
    text.push_str(&time_zone());
    match key {
        Some(key) => text.push_str(&format!("key = {}                 # identifies a person for ever\n", quoted(key))),
        None => text.push_str("key = \"{{ … }}\"                     # the column that identifies a person for ever\n"),
    }
    let by: Vec<String> = ["employee_id", "email"]
        .into_iter()
        .filter(|field| map.iter().any(|(mapped, _)| mapped == field))
        .map(quoted)
        .collect();
    text.push_str(&format!("match_on = [{}]   # how people who are at the service already are found\n", by.join(", ")));
    text.push_str(
        "# include = \"{{ status != 'Terminated' }}\"   # who belongs in\nwrites = \"approve\"                  # every change waits for an approval; then \"auto\"\n\n[job.source]\ntype = \"csv\"\n",
    );
    text.push_str(&origin.lines);
    text.push_str(match found.sheet {
        Some(_) => "# the header is found at every read; `sheet` is needed only where more than one sheet is visible\n",
        None => {
            "# encoding, delimiter and header are detected at every read; a file that suddenly differs is refused\n"
        }
    });
    if !probe.final_newline {
        text.push_str("final_newline = false              # this file's last row has no line end\n");
    }
    text.push_str("\n[job.map]\n");
    for (field, why) in open {
        text.push_str(&format!("# {field} = \"{{{{ … }}}}\"   # {why}\n"));
    }
    map.iter().for_each(|(field, template)| text.push_str(&format!("{field} = {}\n", quoted(template))));
    let unused = columns.unused(map.iter().map(|(_, template)| template.as_str()));
    if !unused.is_empty() {
        text.push_str(&format!(
            "# not used: {}\n",
            unused.iter().map(|column| printable(column)).collect::<Vec<_>>().join(", ")
        ));
    }
    text.push_str(TAIL);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn made(header: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("staff list.csv");
        let cells = header.split(',').map(|_| "x").collect::<Vec<_>>().join(",");
        std::fs::write(&path, format!("{header}\n{cells}\n{cells}\n")).unwrap();
        configuration(&Origin::file(&path), &csv::probe(&path, None).unwrap())
    }

    #[test]
    fn columns_are_recognized_by_their_usual_names() {
        let text = made("Employee No,First Name,Surname,E-Mail,Job Title,Site,Shoe Size");
        for line in [
            "name = \"{{ first_name }} {{ surname }}\"",
            "employee_id = \"{{ employee_no }}\"",
            "email = \"{{ e_mail }}\"",
            "title = \"{{ job_title }}\"",
            "location = \"{{ site }}\"",
            "match_on = [\"employee_id\", \"email\"]",
            "# not used: Shoe Size",
            "writes = \"approve\"",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }

    #[test]
    fn names_are_put_together_as_the_language_of_the_header_has_them() {
        for (header, name, rest) in [
            ("First,Last,Email", "{{ first }} {{ last }}", "email = \"{{ email }}\""),
            ("Personalnummer,Name,Vorname", "{{ vorname }} {{ name }}", "employee_id = \"{{ personalnummer }}\""),
            ("Nachname,Vorname,Standort", "{{ vorname }} {{ nachname }}", "location = \"{{ standort }}\""),
            ("Nom,Prenom,Courriel", "{{ prenom }} {{ nom }}", "email = \"{{ courriel }}\""),
            ("Matricule,Nom", "{{ nom }}", "employee_id = \"{{ matricule }}\""),
            ("Nombre,Apellidos,Correo", "{{ nombre }} {{ apellidos }}", "email = \"{{ correo }}\""),
            ("Nr,Naam,Functie", "{{ naam }}", "title = \"{{ functie }}\""),
            (
                "Voornaam,Tussenvoegsel,Achternaam,Mobiel",
                "{{ [ voornaam , tussenvoegsel , achternaam ] | join(' ') | squeeze }}",
                "mobile = \"{{ mobiel }}\"",
            ),
        ] {
            let text = made(header);
            assert!(text.contains(&format!("\nname = {}\n", quoted(name))), "{header}: {text}");
            assert!(text.contains(rest) && !text.contains("not used"), "{header}: {text}");
        }
    }

    #[test]
    fn what_is_printed_is_a_configuration_once_the_service_is_filled_in() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("staff.csv");
        std::fs::write(&source, "Staff No;Name;Email\n1;Ana;a@example.com\n").unwrap();
        let text = configuration(&Origin::file(&source), &csv::probe(&source, None).unwrap());
        let path = dir.path().join("config.toml");
        std::fs::write(&path, text.replace("client_id = \"…\"", "client_id = \"me\"")).unwrap();
        let secret = dir.path().join("client_secret");
        std::fs::write(&secret, "s\n").unwrap();
        for file in [&path, &secret] {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let config = config::load(&path, std::iter::empty(), config::Needs::Jobs).unwrap();
        assert_eq!(
            config.state.home.folder(),
            Some(Path::new(config::StateOptions::DIR)),
            "an instance would have its own"
        );
        assert!(!text.lines().any(|line| line.starts_with("dir")), "{text}");
        assert_eq!(config.jobs[0].name.as_str(), "staff");
        assert_eq!(config.jobs[0].writes, crate::plan::Writes::Approve);
    }
}
