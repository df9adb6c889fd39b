//! One entity of any target as the service shows it, and how it is read.

use jiff::Timestamp;

use crate::api::{
    self, Answered, Api, Certification, CertificationHolder, Client, Entity as _, Member, Membership, Organization,
    Staff, Walked, walk,
};
use crate::record::{RemoteId, Target};

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

impl Remote {
    /// Its id.
    pub fn id(&self) -> RemoteId {
        match self {
            Self::Staff(staff) => staff.id(),
            Self::Member(member) => member.id(),
            Self::Organization(organization) => organization.id(),
            Self::Membership(membership) => membership.id(),
            Self::Holder(holder) => holder.id(),
        }
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

    /// Whether exactly `onsite` is what the service says (law 10).
    pub fn is_onsite(&self) -> bool {
        let status = match self {
            Self::Staff(staff) => &staff.onsite_status,
            Self::Member(member) => &member.onsite_status,
            Self::Organization(_) | Self::Membership(_) | Self::Holder(_) => return false,
        };
        status.as_deref() == Some("onsite")
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

    /// Visits all that was created or changed since a time, or everything, page by page. Holders are not walked: their list
    /// takes neither an order nor a time.
    pub async fn walk(
        client: &Client,
        target: Target,
        since: Option<Timestamp>,
        mut visit: impl FnMut(Vec<Self>),
    ) -> Result<Walked, api::Error> {
        macro_rules! each {
            ($resource:ident, $variant:ident) => {
                walk::<$resource>(client, since, |page| {
                    visit(page.into_iter().map(|shown| Self::$variant(Box::new(shown))).collect());
                })
                .await
            };
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
