//! One entity of any target as the service shows it, and how it is read.

use std::time::Duration;

use jiff::Timestamp;

use crate::api::{
    self, Answered, Api, Certification, CertificationHolder, Client, Entity as _, Member, Membership, Organization,
    Pages, Query, Staff, Walked, Wire as _, listed,
};
use crate::crash::term;
use crate::record::{RemoteId, Target};

/// After how long what seems not to be there is asked for once more (law 3).
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(3);
/// What the names of roles contain that let someone administrate the account.
const ADMINISTRATORS: &[&str] = &["admin", "owner"];

/// Where an entity lies at the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityRef {
    /// What it is.
    pub target: Target,
    /// Its id.
    pub id: RemoteId,
    /// The certification that it lies below, for a holder.
    pub below: Option<RemoteId>,
}

/// One entity of any target as the service shows it.
#[derive(Clone, Debug, PartialEq)]
pub enum Remote {
    /// An employee.
    Staff(Box<Staff>),
    /// A contractor member.
    Member(Box<Member>),
    /// A contractor organization.
    Organization(Box<Organization>),
    /// A membership of a member in an organization.
    Membership(Box<Membership>),
    /// A holder of a certification.
    Holder(Box<CertificationHolder>),
}

/// Puts what one API type shows into [`Remote`].
macro_rules! shown {
    ($variant:ident) => {
        |answered| answered.map(|value| value.map(|shown| Self::$variant(Box::new(shown))))
    };
}

/// Says the same of an entity whichever it is.
macro_rules! whichever {
    ($remote:expr, $one:ident => $said:expr) => {
        match $remote {
            Remote::Staff($one) => $said,
            Remote::Member($one) => $said,
            Remote::Organization($one) => $said,
            Remote::Membership($one) => $said,
            Remote::Holder($one) => $said,
        }
    };
}

impl Remote {
    /// Its id.
    pub fn id(&self) -> RemoteId {
        whichever!(self, one => one.id())
    }

    /// When it was last changed, where that can be read as a time with an offset; where the service does not say so, when
    /// it was made.
    pub fn modified_at(&self) -> Option<Timestamp> {
        let text = match self {
            Self::Staff(staff) => &staff.modified,
            Self::Member(member) => &member.modified,
            Self::Organization(organization) => &organization.modified,
            Self::Membership(membership) => &membership.created,
            Self::Holder(holder) => &holder.modified,
        };
        text.as_deref()?.parse().ok()
    }

    /// Whether it shows what identifies it: its name, or what it joins.
    pub fn is_identified(&self) -> bool {
        let is_named = |name: &Option<String>| name.as_deref().is_some_and(|name| !name.trim().is_empty());
        match self {
            Self::Staff(staff) => is_named(&staff.name),
            Self::Member(member) => is_named(&member.name),
            Self::Organization(organization) => is_named(&organization.name),
            Self::Membership(membership) => membership.member_id.and(membership.org_id).is_some(),
            Self::Holder(holder) => holder.record_id.is_some(),
        }
    }

    /// Whether exactly `onsite` is what the service says (law 10).
    pub fn is_onsite(&self) -> bool {
        let status = match self {
            Self::Staff(staff) => &staff.onsite_status,
            Self::Member(member) => &member.onsite_status,
            Self::Organization(_) | Self::Membership(_) | Self::Holder(_) => return false,
        };
        status.as_deref() == Some("onsite")
    }

    /// What it is.
    pub fn target(&self) -> Target {
        match self {
            Self::Staff(_) => Target::Staff,
            Self::Member(_) => Target::Contractor,
            Self::Organization(_) => Target::Organization,
            Self::Membership(_) => Target::Membership,
            Self::Holder(_) => Target::Holder,
        }
    }

    /// The names of all fields that answers about entities of a target may have.
    pub fn field_names(target: Target) -> &'static [&'static str] {
        match target {
            Target::Staff => Staff::FIELDS,
            Target::Contractor => Member::FIELDS,
            Target::Organization => Organization::FIELDS,
            Target::Membership => Membership::FIELDS,
            Target::Holder => CertificationHolder::FIELDS,
        }
    }

    /// The names of fields that this answer does not have.
    pub fn unshown(&self) -> &[&'static str] {
        whichever!(self, one => one.unshown())
    }

    /// The names of fields that could not be read.
    pub fn unreadable(&self) -> &[&'static str] {
        whichever!(self, one => one.unreadable())
    }

    /// All that the answer shows, by the service's names of fields.
    pub fn shown(&self) -> serde_json::Value {
        let shown = whichever!(self, one => serde_json::to_value(one));
        shown.expect("what was read as JSON can be written so")
    }

    /// Adds what this answer does not have, and lists show: the same entity as its list has it.
    pub async fn complete(&mut self, client: &Client) -> Result<(), api::Error> {
        macro_rules! from_list {
            ($one:ident) => {
                if let Some(other) = listed(client, $one.id()).await? {
                    $one.complete(other);
                }
            };
        }
        match self {
            Self::Staff(one) => from_list!(one),
            Self::Member(one) => from_list!(one),
            Self::Organization(one) => from_list!(one),
            Self::Membership(one) => from_list!(one),
            // Their list is that of a certification, and has no order.
            Self::Holder(_) => {}
        }
        Ok(())
    }

    /// Whether it is someone who looks after the service's account, or one of its sites, by the name of a role.
    pub fn is_administrator(&self) -> bool {
        fn is_one(roles: &serde_json::Value) -> bool {
            match roles {
                serde_json::Value::String(role) => ADMINISTRATORS.iter().any(|name| role.to_lowercase().contains(name)),
                serde_json::Value::Array(roles) => roles.iter().any(is_one),
                _ => false,
            }
        }
        match self {
            Self::Staff(staff) => staff.roles.as_ref().is_some_and(is_one),
            Self::Member(_) | Self::Organization(_) | Self::Membership(_) | Self::Holder(_) => false,
        }
    }

    /// Reads one; one that seems to be gone is asked for once more after a moment.
    pub async fn look(client: &Client, at: EntityRef) -> Result<Answered<Option<Self>>, api::Error> {
        let answered = Self::get(client, at).await?;
        if answered.value.is_some() {
            return Ok(answered);
        }
        tokio::time::sleep(term(LOOK_AGAIN)).await;
        Self::get(client, at).await
    }

    /// Reads one; `None` where there is none of that id.
    pub async fn get(client: &Client, at: EntityRef) -> Result<Answered<Option<Self>>, api::Error> {
        let id = at.id;
        match at.target {
            Target::Staff => client.send(Api::<Staff>::root().get(id)).await.map(shown!(Staff)),
            Target::Contractor => client.send(Api::<Member>::root().get(id)).await.map(shown!(Member)),
            Target::Organization => client.send(Api::<Organization>::root().get(id)).await.map(shown!(Organization)),
            Target::Membership => client.send(Api::<Membership>::root().get(id)).await.map(shown!(Membership)),
            Target::Holder => {
                let mut answered = client.send(holders(at.below).get(id)).await?;
                if let Some(holder) = &mut answered.value {
                    holder.certification_id = holder.certification_id.or(at.below.map(|id| id.get().into()));
                }
                Ok(answered.map(|holder| holder.map(|holder| Self::Holder(Box::new(holder)))))
            }
        }
    }

    /// Whether its list shows others and not this entity: a 404 to it alone may be that of a gateway. Holders have no such list, and
    /// are taken for gone.
    pub async fn is_unlisted(client: &Client, at: EntityRef) -> Result<bool, api::Error> {
        let is_listed = match at.target {
            Target::Staff => listed::<Staff>(client, at.id).await?.is_some(),
            Target::Contractor => listed::<Member>(client, at.id).await?.is_some(),
            Target::Organization => listed::<Organization>(client, at.id).await?.is_some(),
            Target::Membership => listed::<Membership>(client, at.id).await?.is_some(),
            Target::Holder => return Ok(true),
        };
        Ok(!is_listed && Self::shows_anyone(client, at.target).await?)
    }

    /// Whether the unfiltered list shows anyone: a 404 to another one was the service's own then, and not that of a gateway.
    pub async fn shows_anyone(client: &Client, target: Target) -> Result<bool, api::Error> {
        macro_rules! first {
            ($resource:ident) => {
                client
                    .send(Api::<$resource>::root().list(&Query::default().ascending("id").limit(1)))
                    .await
                    .map(|answered| !answered.value.is_empty())
            };
        }
        let shows = match target {
            Target::Staff => first!(Staff),
            Target::Contractor => first!(Member),
            Target::Organization => first!(Organization),
            Target::Membership | Target::Holder => first!(Membership),
        };
        match shows {
            Err(error) if error.code() == Some(404) => Ok(false),
            shows => shows,
        }
    }

    /// Visits all that was created or changed since a time, or everything, page by page; `is_first` where nothing is known of it yet.
    /// Holders are not walked: their list takes neither an order nor a time.
    pub async fn walk(
        client: &Client,
        target: Target,
        (since, is_first): (Option<Timestamp>, bool),
        mut visit: impl FnMut(Vec<Self>),
    ) -> Result<Walked, api::Error> {
        macro_rules! each {
            ($resource:ident, $variant:ident) => {{
                let query = Query::<$resource>::default();
                let pages = Pages::new(client, since.map_or(query.clone(), |since| query.since(since)));
                let pages = if is_first { pages.careful() } else { pages };
                let shown = |page: Vec<$resource>| page.into_iter().map(|shown| Self::$variant(Box::new(shown)));
                pages.visit(|page| visit(shown(page).collect())).await
            }};
        }
        match target {
            Target::Staff => each!(Staff, Staff),
            Target::Contractor => each!(Member, Member),
            Target::Organization => each!(Organization, Organization),
            Target::Membership | Target::Holder => each!(Membership, Membership),
        }
    }
}

/// The holders of a certification.
pub fn holders(certification: Option<RemoteId>) -> Api<CertificationHolder> {
    let certification = certification.expect("a holder is known with the certification that it lies below");
    Api::<Certification>::root().below(certification)
}
