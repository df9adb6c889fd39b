//! Checks what a job of contractors says about their organizations, and makes the parts of the job: organizations before
//! its people, memberships after them.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use super::mapping::{compile, default_match, strange_field};
use super::section::{JobSection, Section};
use crate::config::options::Job;
use crate::mapping::{LeaverOptions, Options};
use crate::plan::{LeaverAction, Leavers, Limit, Limits};
use crate::record::Target;

const ORGANIZATION: &str = Target::ORGANIZATION_PREFIX;
const MEMBERSHIP: &str = "membership.";

/// What a job says about the organizations and memberships of its people, taken out of what it says about themselves.
pub(super) struct Parts {
    key: String,
    organization: BTreeMap<String, String>,
    membership: BTreeMap<String, String>,
    seed_only: Vec<SmolStr>,
}

/// Takes the fields of parts out of a job; `None` where it has no parts, or what it says of them is wrong.
pub(super) fn split(job: &mut JobSection<'_>, target: Option<Target>) -> Option<Parts> {
    let own_key = job.table.unless_empty("org_key");
    if target != Some(Target::Contractor) {
        if own_key.is_some() && target.is_some() {
            job.table.problem("org_key", "is of no use here", Some("only contractors have an organization each"));
        }
        return None;
    }
    let organization = take(&mut job.map, ORGANIZATION);
    let membership = take(&mut job.map, MEMBERSHIP);
    let seed_only: Vec<SmolStr> = job.seed_only.extract_if(.., |name| is_of_part(name)).collect();
    let table = &job.table;
    if organization.is_empty() {
        let hint = "map org.name at least, and org.legalid where the source has it";
        if own_key.is_some() {
            table.problem("org_key", "names an organization of which nothing is mapped", Some(hint));
        }
        if let Some(name) = membership.keys().next() {
            table.problem(&format!("map.{MEMBERSHIP}{name}"), "a membership needs an organization", Some(hint));
        }
        return None;
    }
    let known = |target: Target, name: &str| target.field(name).is_some_and(|field| !is_link(&field.name));
    for (prefix, target, map) in
        [(ORGANIZATION, Target::Organization, &organization), (MEMBERSHIP, Target::Membership, &membership)]
    {
        for name in map.keys().filter(|name| !known(target, name)) {
            strange_field(table, &format!("map.{prefix}{name}"), name, target);
        }
    }
    if !organization.contains_key("name") {
        let message = "is missing, and an organization can't be created without it";
        table.problem(&format!("map.{ORGANIZATION}name"), message, Some("add it to [job.map]"));
    }
    for name in &seed_only {
        let mapped = |prefix: &str, map: &BTreeMap<String, String>| {
            name.strip_prefix(prefix).is_some_and(|name| map.contains_key(name))
        };
        if !mapped(ORGANIZATION, &organization) && !mapped(MEMBERSHIP, &membership) {
            table.problem("seed_only", format!("{name:?} is not mapped"), Some("map it in [job.map]"));
        }
    }
    let mapped = || organization.get("legalid").or_else(|| organization.get("name")).cloned();
    let key = own_key.map(str::to_owned).or_else(mapped)?;
    if super::mapping::is_constant(&key) {
        let hint = "name the column that identifies an organization for ever, such as \"{{ company_number }}\"";
        return table.wrong("org_key", "is the same text for every row", Some(hint));
    }
    Some(Parts { key, organization, membership, seed_only })
}

/// Takes the fields of one part out of a map, and the part's name off theirs.
fn take(map: &mut BTreeMap<String, String>, prefix: &str) -> BTreeMap<String, String> {
    let (mine, rest): (BTreeMap<_, _>, _) =
        std::mem::take(map).into_iter().partition(|(name, _)| name.starts_with(prefix));
    *map = rest;
    mine.into_iter().map(|(name, text)| (name[prefix.len()..].to_owned(), text)).collect()
}

fn is_of_part(name: &str) -> bool {
    name.starts_with(ORGANIZATION) || name.starts_with(MEMBERSHIP)
}

fn is_link(name: &str) -> bool {
    name == Target::MEMBER || name == Target::ORGANIZATION
}

impl Parts {
    /// Adds the parts to a job.
    pub(super) fn add_to(self, job: &mut Job, table: &Section<'_>) {
        job.organizations = self.organizations(job, table).map(Box::new);
        job.memberships = Some(Box::new(self.memberships(job, table)));
    }

    fn organizations(&self, job: &Job, table: &Section<'_>) -> Option<Job> {
        let mut mapping = Options {
            target: Target::Organization,
            prefix: ORGANIZATION,
            key: self.key.clone(),
            segment: None,
            fields: self.organization.clone(),
            match_on: Vec::new(),
            ..job.mapping.clone()
        };
        compile(table, &mapping, &["key", "include", "active_from", "active_until", "prefer"]);
        // What the key is made of finds them; and otherwise what organizations are found by elsewhere.
        let same = self.organization.iter().filter(|(_, text)| **text == self.key).map(|(name, _)| SmolStr::from(name));
        let mut match_on: Vec<SmolStr> = same.filter(|name| is_text(name)).collect();
        if match_on.is_empty() {
            match_on = default_match(Target::Organization, |name| self.organization.contains_key(name));
        }
        if match_on.is_empty() {
            let hint = "map org.legalid or org.name, or let org_key be the text of one that is mapped";
            return table.wrong("org_key", "nothing to find organizations by", Some(hint));
        }
        mapping.match_on.clone_from(&match_on);
        Some(Job { leavers: Leavers::default(), ..self.part(job, mapping, match_on) })
    }

    fn memberships(&self, job: &Job, table: &Section<'_>) -> Job {
        let mut fields = self.membership.clone();
        fields.insert(Target::MEMBER.to_owned(), job.mapping.key.clone());
        fields.insert(Target::ORGANIZATION.to_owned(), self.key.clone());
        let mapping = Options {
            target: Target::Membership,
            prefix: MEMBERSHIP,
            joined: Some(self.key.clone()),
            fields,
            match_on: vec![Target::COMPOSITE.into()],
            ..job.mapping.clone()
        };
        compile(table, &mapping, &["key", "include", "active_from", "active_until", "prefer", "guard.segment"]);
        // Which pairs end though the person stays does not depend on what becomes of those who leave.
        let leavers = Leavers { action: LeaverAction::Delete, ..job.leavers };
        let part = self.part(job, mapping, vec![Target::COMPOSITE.into()]);
        // People who leave are counted once, with the job's own.
        let limits = Limits { leavers: Limit::Off, ..part.limits };
        Job { leavers, limits, ..part }
    }

    fn part(&self, job: &Job, mapping: Options, match_on: Vec<SmolStr>) -> Job {
        let target = mapping.target;
        let own = self.seed_only.iter().filter_map(|name| name.strip_prefix(mapping.prefix));
        let seed_only: Vec<SmolStr> = own.map(SmolStr::from).collect();
        let leaver_set = LeaverOptions { target, fields: BTreeMap::new(), ..job.leaver_set.clone() };
        Job {
            name: job.name.part(target),
            mapping,
            match_on,
            seed_only,
            protect: Vec::new(),
            leaver_set,
            limits: Limits { min_records: 0, missing: Limit::Off, ..job.limits },
            schedule: None,
            organizations: None,
            memberships: None,
            ..job.clone()
        }
    }
}

fn is_text(name: &str) -> bool {
    use crate::record::FieldKind;
    Target::Organization.field(name).is_some_and(|field| matches!(field.kind, FieldKind::Text | FieldKind::Email))
}
