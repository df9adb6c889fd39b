//! The lists of the holders of certifications.

use std::collections::{BTreeMap, BTreeSet};

use super::certifications::Certifications;
use super::entities::Mirror;
use super::error::ErrorKind;
use super::remote::{Remote, holders};
use crate::api::{Api, Certification, CertificationHolder, Client, Query};
use crate::record::RemoteId;
use crate::store::Store;

/// The holders of a certification, by one answer; none where it says 404.
async fn list(client: &Client, certification: RemoteId) -> Result<Option<Vec<CertificationHolder>>, ErrorKind> {
    match client.send(holders(Some(certification)).list(&Query::default())).await {
        Ok(answered) => Ok(Some(answered.value)),
        Err(error) if error.code() == Some(404) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Mirror {
    /// Lists the holders of every certification that is wanted, or was listed before; always as a whole.
    pub(super) async fn list_holders(
        &mut self,
        client: &Client,
        store: &Store,
        wanted: &BTreeSet<String>,
        mut visit: impl FnMut(&Self, Vec<Remote>),
    ) -> Result<Option<jiff::Timestamp>, ErrorKind> {
        let answered = client.send(Api::<Certification>::root().list(&Query::default())).await?;
        let date = answered.date;
        self.certifications = Certifications::of(answered.value);
        let named = wanted.iter().filter_map(|text| self.certifications.resolve(text).ok());
        let before = self.last.certifications.iter().copied().filter(|id| self.certifications.has(*id));
        let asked: BTreeSet<RemoteId> = named.chain(before).collect();
        let mut held: BTreeMap<String, u64> = BTreeMap::new();
        self.each(store, |entity| *held.entry(entity.value("certification").shown()).or_default() += 1)?;
        let (mut seen, mut emptied) = (BTreeSet::new(), None);
        for certification in &asked {
            let count = self.certifications.holders(*certification);
            let mut listed = list(client, *certification).await?;
            // Where nothing is known of it yet, one false answer would have all of them made again.
            if listed.as_ref().is_some_and(Vec::is_empty)
                && count != Some(0)
                && !self.last.certifications.contains(certification)
            {
                listed = list(client, *certification).await?;
            }
            let not_found = listed.is_none();
            let listed = listed.unwrap_or_default();
            let before = held.get(&certification.to_string()).copied().unwrap_or_default();
            // Where the certification itself says that no one holds it, each of those known is asked for.
            if listed.is_empty() && before > 0 && count != Some(0) {
                emptied.get_or_insert(ErrorKind::Emptied { before, not_found });
                continue;
            }
            let holders: Vec<Remote> = listed
                .into_iter()
                .map(|mut holder| {
                    // The list says whose holder it is, where the entity does not.
                    holder.certification_id.get_or_insert(certification.get().into());
                    Remote::Holder(Box::new(holder))
                })
                .collect();
            if let Some(doubled) = holders.iter().find(|holder| !seen.insert(holder.id())) {
                return Err(ErrorKind::Doubled { id: doubled.id() });
            }
            visit(self, holders);
        }
        // A credential that sees no one sees no holder of any certification: where another list shows some, this one says that its
        // last holder is gone, and each of them is asked for.
        if let Some(emptied) = emptied.filter(|_| seen.is_empty()) {
            return Err(emptied);
        }
        self.last.certifications = asked;
        Ok(date)
    }

    /// Whether the holders of every certification that these texts mean were listed. One that the service does not have is
    /// no reason to list again: its records are rejected.
    pub fn lists(&self, wanted: &BTreeSet<String>) -> bool {
        let mut meant = wanted.iter().filter_map(|text| self.certifications.resolve(text).ok());
        meant.all(|id| self.last.certifications.contains(&id))
    }

    /// The certifications whose holders were listed, by id.
    pub fn listed(&self) -> impl Iterator<Item = String> + '_ {
        self.last.certifications.iter().map(RemoteId::to_string)
    }

    /// The service's certifications.
    pub fn certifications(&self) -> &Certifications {
        &self.certifications
    }
}
