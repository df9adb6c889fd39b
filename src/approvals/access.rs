//! Who someone is, and what they may do.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::config::{Approvals, Config, Job, Right, Who};
use crate::record::JobName;

/// How someone showed who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// A provider says so; how it calls them for ever.
    Provider {
        /// `sub` of the ID token.
        subject: String,
    },
    /// The proxy says so.
    Proxy,
}

/// Someone who logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Person {
    /// As a rule names them; none where that is not known for sure.
    pub(super) name: Option<String>,
    pub(super) groups: BTreeSet<String>,
    pub(super) proof: Proof,
}

/// What someone may do with one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rights(BTreeSet<Right>);

impl Person {
    /// Who decides, for the audit file.
    pub(super) fn described(&self) -> String {
        match &self.proof {
            Proof::Provider { subject } => format!("{} (oidc, sub {subject})", self.called()),
            Proof::Proxy => format!("{} (proxy)", self.called()),
        }
    }

    /// What they are called on the pages.
    pub(super) fn called(&self) -> &str {
        self.name.as_deref().unwrap_or("someone without a name")
    }

    /// What tells them from all others. A proxy may pass on a name as its user typed it: in most directories the case does not
    /// count, and two such names must not be two people.
    pub(super) fn identity(&self) -> String {
        match &self.proof {
            Proof::Provider { subject } => subject.clone(),
            Proof::Proxy => self.called().to_lowercase(),
        }
    }

    /// What they may do with a job.
    pub(super) fn rights(&self, approvals: &Approvals, job: &JobName) -> Rights {
        let is_meant = |who: &Who| match who {
            Who::Group(group) => self.groups.contains(group),
            Who::User(user) => self.name.as_ref().is_some_and(|name| {
                // Of an address no provider minds the case.
                user == name || (user.contains('@') && user.eq_ignore_ascii_case(name))
            }),
        };
        let rules = approvals.rules.iter().filter(|rule| is_meant(&rule.who));
        let rules = rules.filter(|rule| rule.jobs.as_ref().is_none_or(|jobs| jobs.contains(&job.root())));
        Rights(rules.flat_map(|rule| rule.may.iter().copied()).collect())
    }
}

impl Rights {
    /// Whether there are none: then there is no such job.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether they may do that. To decide on something is to see it.
    pub(super) fn allow(&self, right: Right) -> bool {
        let sees = right == Right::See && (self.0.contains(&Right::Approve) || self.0.contains(&Right::Reject));
        sees || self.0.contains(&right)
    }
}

/// A job that a visitor may do something with.
pub(super) struct Allowed {
    pub(super) config: Arc<Config>,
    pub(super) name: JobName,
    pub(super) rights: Rights,
}

impl Allowed {
    /// The job as the configuration has it.
    pub(super) fn job(&self) -> &Job {
        let mut jobs = self.config.jobs.iter();
        jobs.find(|job| job.name == self.name).expect("it was found there")
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::{Login, Proxy, Rule};

    /// Pages with these rules.
    pub(in crate::approvals) fn pages(rules: &[(Who, &[&str], &[Right])]) -> Approvals {
        let rules = rules.iter().map(|(who, jobs, may)| Rule {
            who: who.clone(),
            jobs: (*jobs != ["*"]).then(|| jobs.iter().map(|job| JobName::new(job).unwrap()).collect()),
            may: may.iter().copied().collect(),
        });
        Approvals {
            url: "https://roster.example.com".parse().unwrap(),
            login: Login::Proxy(Proxy {
                socket: "/run/x.sock".into(),
                account: "www-data".into(),
                user_header: "x-remote-user".into(),
                groups_header: Some("x-remote-groups".into()),
            }),
            rules: rules.collect(),
            fresh_login_leavers: 10,
            people: 1,
        }
    }

    pub(in crate::approvals) fn person(name: &str, groups: &[&str]) -> Person {
        Person {
            name: Some(name.into()),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            proof: Proof::Proxy,
        }
    }

    #[test]
    fn what_someone_may_do_is_said_per_group_user_and_job() {
        let pages = pages(&[
            (Who::Group("hr".into()), &["employees"], &[Right::Approve, Right::Reject]),
            (Who::Group("hr".into()), &["visitors"], &[Right::See]),
            (Who::User("Ana@example.com".into()), &["*"], &[Right::Pause]),
            (Who::User("bo".into()), &["visitors"], &[Right::Approve]),
        ]);
        let job = |name: &str| JobName::new(name).unwrap();
        for (name, groups, of, allowed) in [
            ("x", &["hr"][..], "employees", &[Right::See, Right::Approve, Right::Reject][..]),
            ("x", &["hr"], "employees/contractor", &[Right::See, Right::Approve, Right::Reject]),
            ("x", &["hr", "it"], "visitors", &[Right::See]),
            ("x", &["HR"], "employees", &[]),
            ("hr", &[], "employees", &[]),
            ("x", &[], "employees", &[]),
            ("ana@example.com", &[], "employees", &[Right::Pause]),
            ("ana@example.com", &["hr"], "visitors", &[Right::See, Right::Pause]),
            ("bo", &[], "visitors", &[Right::See, Right::Approve]),
            ("Bo", &[], "visitors", &[]),
            ("bo", &[], "employees", &[]),
        ] {
            let rights = person(name, groups).rights(&pages, &job(of));
            for right in [Right::See, Right::Approve, Right::Reject, Right::Pause] {
                assert_eq!(rights.allow(right), allowed.contains(&right), "{name} {groups:?} {of} {right:?}");
            }
            assert_eq!(rights.is_empty(), allowed.is_empty());
        }
    }
}
