//! `rosterd init ldaps://…`: a first configuration, as far as a directory tells.

use std::path::PathBuf;

use super::args::InitArgs;
use super::failure::{Exit, Failure};
use super::init::{HEAD, TAIL, printable, quoted};
use super::ui::Ui;
use crate::secret::SecretSource;
use crate::source::ldap::{self, Bind, Kin, Options, Probe, Server};

/// Fields with the attributes that hold them, the commoner first.
const NAMES: &[(&str, &[&str])] = &[
    ("employee_id", &["employeeNumber", "employeeID"]),
    ("email", &["mail", "userPrincipalName"]),
    ("title", &["title"]),
    ("phone", &["telephoneNumber"]),
    ("mobile", &["mobile"]),
    ("location", &["physicalDeliveryOfficeName", "l"]),
];

/// Attributes that are no news: the server's own housekeeping.
const HOUSEKEEPING: &[&str] = &[
    "dSCorePropagationData",
    "entryUUID",
    "instanceType",
    "nsUniqueId",
    "objectCategory",
    "objectClass",
    "objectGUID",
];

pub(super) async fn run(ui: &Ui, args: &InitArgs, address: &str) -> Result<Exit, Failure> {
    let (server, base) = Server::parse(address).map_err(|reason| Failure::usage(format!("the address {reason}")))?;
    let base = percent_encoding::percent_decode_str(base.split('?').next().unwrap_or_default()).decode_utf8_lossy();
    if args.bind_dn.is_some() && !server.tls && !args.start_tls && !server.is_loopback() {
        let failure = Failure::usage("the password would go out in clear text");
        return Err(failure.hint("use ldaps://, or --start-tls"));
    }
    let bind = args.bind_dn.as_ref().zip(args.bind_password_file.as_ref());
    let options = Options {
        start_tls: args.start_tls,
        ca_file: args.ca_file.clone(),
        bind: bind.map(|(dn, file)| Bind { dn: dn.clone(), password: SecretSource::File(file.clone()) }),
        ..Options::at(vec![server], Vec::new())
    };
    let probe = ldap::probe(&options, Some(&*base)).await.map_err(Failure::failed)?;
    let configuration = configuration(&options, args, &probe);
    if ui.json {
        ui.document(&serde_json::json!({
            "version": 1,
            "server": probe.kin.name(),
            "base": probe.base,
            "people": probe.people,
            "attributes": probe.attributes,
            "doubts": probe.doubts,
            "configuration": configuration,
        }));
    } else {
        ui.line(configuration.trim_end());
    }
    probe.doubts.iter().for_each(|doubt| ui.warn(doubt));
    Ok(Exit::Done)
}

fn configuration(options: &Options, args: &InitArgs, probe: &Probe) -> String {
    let server = &options.servers[0];
    let mut text = format!(
        "# A first configuration for {} ({}).\n# Looked at: {} people; how many of them have which attribute:\n",
        server.url,
        probe.kin.name(),
        probe.people
    );
    let known = |name: &str| HOUSEKEEPING.iter().any(|own| own.eq_ignore_ascii_case(name));
    for (name, count) in probe.attributes.iter().filter(|(name, _)| !known(name)) {
        text.push_str(&format!("#   {count:>3}  {}\n", printable(name)));
    }
    probe.doubts.iter().for_each(|doubt| text.push_str(&format!("# In doubt: {}\n", printable(doubt))));
    text.push_str(HEAD);
    text.push_str("name = \"directory\"\ntarget = \"staff\"\nschedule = \"*/15 * * * *\"\ntime_zone = \"UTC\"\n");
    let map = map(probe);
    let by: Vec<String> = ["employee_id", "email"]
        .iter()
        .filter(|field| map.iter().any(|line| line.0 == **field))
        .map(|f| quoted(f))
        .collect();
    text.push_str(&format!("{}\n", key(probe)));
    text.push_str(&format!("match_on = [{}]   # how people who are at the service already are found\n", by.join(", ")));
    if probe.kin == Kin::ActiveDirectory {
        text.push_str("include = \"{{ not (userAccountControl | bit(2)) }}\"   # disabled accounts don't count\n");
    }
    text.push_str("writes = \"approve\"                  # every change waits for an approval; then \"auto\"\n\n");
    source(&mut text, options, args, probe, &map);
    text.push_str("\n[job.map]\n");
    for (field, template, _) in &map {
        text.push_str(&format!("{field} = {}\n", quoted(template)));
    }
    if !map.iter().any(|line| line.0 == "employee_id") {
        text.push_str("# employee_id = \"{{ … }}\"   # no attribute for staff numbers was recognized\n");
    }
    text.push_str(TAIL);
    text
}

fn source(text: &mut String, options: &Options, args: &InitArgs, probe: &Probe, map: &[(&str, String, bool)]) {
    let line = |key: &str, value: String| format!("{key} = {value}\n");
    text.push_str("[job.source]\ntype = \"ldap\"\n");
    text.push_str(&line("url", quoted(&options.servers[0].url)));
    if options.start_tls {
        text.push_str("start_tls = true\n");
    }
    let path = |path: &PathBuf| quoted(&path.canonicalize().unwrap_or_else(|_| path.clone()).to_string_lossy());
    match &args.ca_file {
        Some(file) => text.push_str(&line("ca_file", path(file))),
        None => text.push_str("# ca_file = \"ca.pem\"               # trusted besides the system's certificates\n"),
    }
    match args.bind_dn.as_ref().zip(args.bind_password_file.as_ref()) {
        Some((dn, file)) => {
            text.push_str(&line("bind_dn", quoted(dn)));
            text.push_str(&line("bind_password_file", path(file)));
        }
        None => text.push_str(
            "# bind_dn = \"…\"                   # an account that may read all people, without limits\n\
             # bind_password_file = \"bind-password\"\n",
        ),
    }
    match &probe.base {
        Some(base) => text.push_str(&line("base", quoted(base))),
        None => text.push_str("base = \"…\"                        # where people are\n"),
    }
    text.push_str(&line("filter", quoted(probe.kin.filter())));
    if probe.kin == Kin::ActiveDirectory {
        text.push_str("ignore_referrals = [\"DomainDnsZones\", \"ForestDnsZones\", \"CN=Configuration\"]\n");
    }
    let some: Vec<String> =
        map.iter().filter(|(_, _, all)| !all).flat_map(|(_, template, _)| names(template)).collect();
    if !some.is_empty() {
        let listed: Vec<String> = some.iter().map(|name| quoted(name)).collect();
        text.push_str(&format!(
            "optional = [{}]   # some lack these; without this line, that nobody has one stops the run\n",
            listed.join(", ")
        ));
    }
}

/// What identifies a person for ever there.
fn key(probe: &Probe) -> String {
    let has = |name: &str| probe.attributes.keys().any(|known| known.eq_ignore_ascii_case(name));
    let template = match () {
        () if probe.kin == Kin::ActiveDirectory => "{{ objectGUID | guid }}",
        () if has("ipaUniqueID") => "{{ ipaUniqueID }}",
        () if has("entryUUID") => "{{ entryUUID }}",
        () if has("nsUniqueId") => "{{ nsUniqueId }}",
        () => return "# key = \"{{ … }}\"   # without it: entryUUID, objectGUID or nsUniqueId".to_owned(),
    };
    format!("key = {}   # identifies a person for ever, whatever they are called", quoted(template))
}

/// Field, template, and whether everybody who was looked at has the attributes.
fn map(probe: &Probe) -> Vec<(&'static str, String, bool)> {
    let count = |name: &str| {
        let found = probe.attributes.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or(0, |(_, count)| *count)
    };
    let all = |names: &[&str]| names.iter().all(|name| probe.people > 0 && count(name) == probe.people);
    let name: &[&str] = match () {
        () if all(&["displayName"]) => &["displayName"],
        () if all(&["givenName", "sn"]) => &["givenName", "sn"],
        () => &["cn"],
    };
    let template = |names: &[&str]| names.iter().map(|name| format!("{{{{ {name} }}}}")).collect::<Vec<_>>().join(" ");
    let mut map = vec![("name", template(name), true)];
    for (field, names) in NAMES {
        if let Some(name) = names.iter().find(|name| count(name) > 0) {
            map.push((field, template(&[name]), all(&[name])));
        }
    }
    if !map.iter().any(|line| line.0 == "email") {
        map.push(("email", "{{ mail }}".to_owned(), true));
    }
    map
}

/// The names in a template of [`map`].
fn names(template: &str) -> Vec<String> {
    template.split(['{', '}', ' ']).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
