//! `rosterd init ldaps://…`: a first configuration, from what a directory shows.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::common::{HEAD, TAIL, printable, quoted, time_zone};
use crate::cli::args::InitArgs;
use crate::cli::ui::{Exit, Failure, Message, Ui};
use crate::secret::SecretSource;
use crate::source::dn::parts;
use crate::source::ldap::{self, Bind, ClientCertificate, Counted, DirectoryFlavour, Options, Probe, Server};

/// Fields with the attributes that hold them, the commoner first.
const NAMES: &[(&str, &[&str])] = &[
    ("employee_id", &["employeeNumber", "employeeID"]),
    ("email", &["mail", "userPrincipalName"]),
    ("title", &["title"]),
    ("phone", &["telephoneNumber"]),
    ("mobile", &["mobile"]),
    ("location", &["physicalDeliveryOfficeName", "l"]),
    ("photo", &["jpegPhoto", "thumbnailPhoto"]),
];

/// What identifies an entry for ever, the better first.
const IDENTITIES: &[(&str, &str)] = &[
    ("ipaUniqueID", "{{ ipaUniqueID }}"),
    ("objectGUID", "{{ objectGUID | guid }}"),
    ("entryUUID", "{{ entryUUID }}"),
    ("nsUniqueId", "{{ nsUniqueId }}"),
];

/// Where accounts of people, administrators and services lie in one place, a person has this name …
const NAME_OF_PEOPLE: &str = "displayName";
/// … and one of these.
const MARKS_OF_PEOPLE: &[&str] = &["mail", "employeeID", "employeeNumber"];

/// Says "true" of an account that is locked, at 389 Directory Server. Shown only to those who ask for it.
const LOCK: &str = "nsAccountLock";

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
    if args.client_cert_file.is_some() && !server.tls && !args.start_tls {
        let failure = Failure::usage("a client certificate is shown in TLS alone");
        return Err(failure.hint("use ldaps://, or --start-tls"));
    }
    let (certificate, bind) = account(args);
    let options = Options {
        start_tls: args.start_tls,
        ca_file: args.ca_file.clone(),
        certificate,
        bind,
        ..Options::at(vec![server], Vec::new())
    };
    let probe = ldap::probe(&options, Some(&*base)).await.map_err(Failure::failed)?;
    let people = People::of(&probe);
    let configuration = configuration(&options, args, &people);
    if ui.json {
        ui.document(&serde_json::json!({
            "version": 1,
            "server": probe.kin.name(),
            "base": probe.base,
            "people": probe.people,
            "attributes": probe.attributes,
            "counted": probe.counted.len(),
            "left_out": people.left_out(),
            "doubts": probe.doubts,
            "configuration": configuration,
        }));
    } else {
        ui.line(configuration.trim_end());
    }
    probe.doubts.iter().for_each(|doubt| ui.warn(doubt));
    if probe.people == 0 {
        let failure =
            Failure::failed(Message("no people were seen in the directory, so this configuration is a guess".into()));
        return Err(failure.hint(match options.bind {
            Bind::Anonymous => {
                "name an account that may read people: --bind-dn and --bind-password-file, or --client-cert-file and \
                 --client-key-file"
            }
            Bind::Simple { .. } | Bind::External => {
                "check what the account may read, and the base behind the address: ldaps://HOST/BASE"
            }
        }));
    }
    Ok(Exit::Done)
}

/// Who asks, as the arguments say.
fn account(args: &InitArgs) -> (Option<Box<ClientCertificate>>, Bind) {
    match (args.bind_dn.as_ref().zip(args.bind_password_file.as_ref()), certificate(args)) {
        (Some((dn, file)), certificate) => {
            (certificate, Bind::Simple { dn: dn.clone(), password: SecretSource::File(file.clone()) })
        }
        (None, None) => (None, Bind::Anonymous),
        (None, certificate) => (certificate, Bind::External),
    }
}

fn certificate(args: &InitArgs) -> Option<Box<ClientCertificate>> {
    let files = args.client_cert_file.clone().zip(args.client_key_file.clone());
    files.map(|(certificate, key)| Box::new(ClientCertificate::of(certificate, key)))
}

fn configuration(options: &Options, args: &InitArgs, people: &People<'_>) -> String {
    let (server, probe) = (&options.servers[0], people.probe);
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
    text.push_str("name = \"directory\"\ntarget = \"staff\"\nschedule = \"*/15 * * * *\"\n");
    text.push_str(&time_zone());
    let map = people.map();
    let by: Vec<String> = ["employee_id", "email"]
        .iter()
        .filter(|field| map.iter().any(|line| line.field == **field))
        .map(|f| quoted(f))
        .collect();
    text.push_str(&format!("{}\n", people.key()));
    text.push_str(&format!("match_on = [{}]   # how people who are at the service already are found\n", by.join(", ")));
    text.push_str(&people.include());
    text.push_str(&people.active_until());
    text.push_str("writes = \"approve\"                  # every change waits for an approval; then \"auto\"\n\n");
    source(&mut text, options, args, people, &map);
    text.push_str("\n[job.map]\n");
    for line in &map {
        text.push_str(&format!("{} = {}\n", line.field, quoted(&line.template())));
    }
    if !map.iter().any(|line| line.field == "employee_id") {
        text.push_str("# employee_id = \"{{ … }}\"   # no attribute for staff numbers was recognized\n");
    }
    text.push_str(TAIL);
    text.push_str(
        "# The limits hold for each organizational unit too, and one that loses everybody waits whatever its size: most\n\
         # likely the account may not see it any more.\n\
         segment = \"{{ dn | ou }}\"\n",
    );
    text
}

fn source(text: &mut String, options: &Options, args: &InitArgs, people: &People<'_>, map: &[SetupLine]) {
    let probe = people.probe;
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
    let named = |key: &str, file: &Option<PathBuf>| file.as_ref().map(|file| line(key, path(file))).unwrap_or_default();
    match (&args.bind_dn, &args.client_cert_file) {
        (Some(dn), _) => {
            text.push_str(&line("bind_dn", quoted(dn)));
            text.push_str(&named("bind_password_file", &args.bind_password_file));
        }
        (None, Some(_)) => {
            text.push_str(&line("bind", quoted("external")));
            text.push_str(&named("client_cert_file", &args.client_cert_file));
            text.push_str(&named("client_key_file", &args.client_key_file));
        }
        (None, None) => text.push_str(
            "# bind_dn = \"…\"                   # an account that may read all people, without limits\n\
             # bind_password_file = \"bind-password\"\n",
        ),
    }
    match &probe.base {
        Some(base) => text.push_str(&line("base", quoted(base))),
        None => text.push_str("base = \"…\"                        # where people are\n"),
    }
    if let Some(base) = people.narrower_base() {
        text.push_str(&format!(
            "# base = {}   # all of these people lie below it; a narrower base keeps other accounts out\n",
            quoted(&base)
        ));
    }
    text.push_str(&line("filter", quoted(probe.kin.filter())));
    if probe.kin == DirectoryFlavour::ActiveDirectory {
        text.push_str("ignore_referrals = [\"DomainDnsZones\", \"ForestDnsZones\", \"CN=Configuration\"]\n");
    }
    let optional = people.optional(map);
    if !optional.is_empty() {
        let listed: Vec<String> = optional.iter().map(|name| quoted(name)).collect();
        text.push_str(&format!(
            "optional = [{}]   # some lack these; without this line, the run stops if all lack one\n",
            listed.join(", ")
        ));
    }
}

/// A field that is mapped, the attributes that it is made of, and whether everybody has them.
struct SetupLine {
    field: &'static str,
    names: Vec<&'static str>,
    is_whole: bool,
}

impl SetupLine {
    fn template(&self) -> String {
        self.names.iter().map(|name| format!("{{{{ {name} }}}}")).collect::<Vec<_>>().join(" ")
    }
}

/// The people of a directory. If they lie in one place, that place separates them from its other accounts.
struct People<'a> {
    probe: &'a Probe,
    /// The attributes of which a person has at least one; none where everything that is found is a person.
    marks: Vec<&'static str>,
}

impl<'a> People<'a> {
    fn of(probe: &'a Probe) -> Self {
        let is_there = |name: &&str| probe.counted.iter().any(|one| one.has(name));
        let is_mixed = probe.kin == DirectoryFlavour::ActiveDirectory && is_there(&NAME_OF_PEOPLE);
        let marks = MARKS_OF_PEOPLE.iter().copied().filter(|name| is_mixed && is_there(name)).collect();
        Self { probe, marks }
    }

    fn is_person(&self, one: &Counted) -> bool {
        self.marks.is_empty() || (one.has(NAME_OF_PEOPLE) && self.marks.iter().any(|name| one.has(name)))
    }

    /// How many accounts are taken for no person's.
    fn left_out(&self) -> usize {
        self.probe.counted.iter().filter(|one| !self.is_person(one)).count()
    }

    /// Who belongs in.
    fn include(&self) -> String {
        match self.probe.kin {
            DirectoryFlavour::ActiveDirectory if self.marks.is_empty() => {
                "include = \"{{ not (userAccountControl | bit(2)) }}\"   # disabled accounts don't count\n".to_owned()
            }
            DirectoryFlavour::ActiveDirectory => {
                let or = |form: fn(&str) -> String| self.marks.iter().map(|name| form(name)).collect::<Vec<_>>();
                let marks = or(|name| format!("{name} != ''")).join(" or ");
                let counted = self.probe.counted.len();
                let least = if self.probe.has_more { "the first " } else { "" };
                format!(
                    "# Who counts: enabled accounts with a {NAME_OF_PEOPLE} and with {}. Accounts of administrators and of\n\
                     # services lack these, as a rule, and a person who lacks them is not at the service until they are filled in.\n\
                     # This leaves out {} of {least}{counted} enabled accounts: `rosterd preview directory --limit 100000` shows them\n\
                     # as not included. Look at them before you go on.\n\
                     include = \"{{{{ not (userAccountControl | bit(2)) and {NAME_OF_PEOPLE} != '' and ({marks}) }}}}\"\n",
                    or(str::to_owned).join(" or "),
                    self.left_out(),
                )
            }
            DirectoryFlavour::FreeIpa | DirectoryFlavour::Directory389 => {
                format!("include = \"{{{{ ({LOCK} | lower) != 'true' }}}}\"   # locked accounts don't count\n")
            }
            DirectoryFlavour::OpenLdap | DirectoryFlavour::Other => String::new(),
        }
    }

    /// The last day, where the kind of server has an attribute for it.
    fn active_until(&self) -> String {
        match self.expires() {
            Some((_, template)) => {
                format!("active_until = {}   # the last day, in time_zone\n", quoted(&format!("{{{{ {template} }}}}")))
            }
            None => String::new(),
        }
    }

    /// The attribute that says when an account ends, and what makes the last day of it.
    fn expires(&self) -> Option<(&'static str, &'static str)> {
        match self.probe.kin {
            DirectoryFlavour::ActiveDirectory => Some(("accountExpires", "accountExpires | filetime | last_day")),
            DirectoryFlavour::FreeIpa => Some(("krbPrincipalExpiration", "krbPrincipalExpiration | last_day")),
            DirectoryFlavour::Directory389 | DirectoryFlavour::OpenLdap | DirectoryFlavour::Other => None,
        }
    }

    /// Below what all people lie, where that is less than the base.
    fn narrower_base(&self) -> Option<String> {
        let mut people = self.probe.counted.iter().filter(|one| self.is_person(one)).map(|one| parts(&one.dn));
        let mut common: Vec<&str> = people.next()?.into_iter().skip(1).collect();
        for person in people {
            let above = |common: &[&str]| {
                let ends = person.iter().rev().zip(common.iter().rev());
                ends.take_while(|(one, other)| one.eq_ignore_ascii_case(other)).count()
            };
            let shared = above(&common).min(person.len().saturating_sub(1));
            common.drain(..common.len() - shared);
        }
        let base = self.probe.base.as_deref().map(parts).unwrap_or_default();
        (common.len() > base.len()).then(|| common.join(","))
    }

    /// What identifies a person for ever there: the first that everybody has.
    fn key(&self) -> String {
        let counted = &self.probe.counted;
        let all = |name: &str| match counted.is_empty() {
            true => self.all_sampled(name),
            false => counted.iter().all(|one| one.has(name)),
        };
        let template = match IDENTITIES.iter().find(|(name, _)| all(name)) {
            Some((_, template)) => template,
            None => return "# key = \"{{ … }}\"   # without it: entryUUID, objectGUID or nsUniqueId".to_owned(),
        };
        format!("key = {}   # identifies a person for ever, whatever they are called", quoted(template))
    }

    /// How many of those who were looked at have an attribute.
    fn sampled(&self, name: &str) -> usize {
        let found = self.probe.attributes.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or(0, |(_, count)| *count)
    }

    fn all_sampled(&self, name: &str) -> bool {
        self.probe.people > 0 && self.sampled(name) == self.probe.people
    }

    fn map(&self) -> Vec<SetupLine> {
        let all = |names: &[&str]| names.iter().all(|name| self.all_sampled(name));
        let name = match () {
            () if !self.marks.is_empty() || all(&[NAME_OF_PEOPLE]) => vec![NAME_OF_PEOPLE],
            () if all(&["givenName", "sn"]) => vec!["givenName", "sn"],
            () => vec!["cn"],
        };
        let mut map = vec![SetupLine { field: "name", names: name, is_whole: true }];
        for (field, names) in NAMES {
            if let Some(name) = names.iter().find(|name| self.sampled(name) > 0) {
                map.push(SetupLine { field, names: vec![name], is_whole: all(&[name]) && *field != "photo" });
            }
        }
        if !map.iter().any(|line| line.field == "email") {
            map.push(SetupLine { field: "email", names: vec!["mail"], is_whole: true });
        }
        map
    }

    /// The attributes that are used and that some lack.
    fn optional(&self, map: &[SetupLine]) -> Vec<&'static str> {
        let mut optional: Vec<&str> =
            map.iter().filter(|line| !line.is_whole).flat_map(|line| line.names.iter().copied()).collect();
        optional.extend(self.marks.iter().filter(|name| !self.all_sampled(name)));
        optional.extend(self.expires().map(|(name, _)| name));
        if matches!(self.probe.kin, DirectoryFlavour::FreeIpa | DirectoryFlavour::Directory389) {
            optional.push(LOCK);
        }
        let mut seen = BTreeSet::new();
        optional.retain(|name| seen.insert(*name));
        optional
    }
}
