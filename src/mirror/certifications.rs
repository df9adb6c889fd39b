//! Which certification a name or an id means, and the lists of their holders.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::entities::Mirror;
use super::error::Kind;
use super::remote::{Remote, holders};
use crate::api::{Api, Certification, Client, Query};
use crate::record::{RemoteId, fold};
use crate::store::Store;

/// The service's certifications.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Certifications {
    /// By name, without case and outer spaces.
    by_name: BTreeMap<String, Vec<RemoteId>>,
}

impl Certifications {
    fn of(listed: Vec<Certification>) -> Self {
        let mut by_name: BTreeMap<String, Vec<RemoteId>> = BTreeMap::new();
        for certification in listed {
            let name = certification.name.as_deref().map(fold).unwrap_or_default();
            by_name.entry(name).or_default().push(certification.id);
        }
        Self { by_name }
    }

    /// The certification that a name or an id means; otherwise what is wrong with it.
    pub fn resolve(&self, text: &str) -> Result<RemoteId, &'static str> {
        match self.by_name.get(&fold(text)).map(Vec::as_slice) {
            Some([one]) => return Ok(*one),
            Some(_) => return Err("the service has several certifications of that name; write its id"),
            None => {}
        }
        let id = text.trim().parse().ok().and_then(RemoteId::new);
        id.filter(|id| self.has(*id)).ok_or("the service has no certification of that name or id")
    }

    fn has(&self, id: RemoteId) -> bool {
        self.by_name.values().flatten().any(|other| *other == id)
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
    ) -> Result<Option<jiff::Timestamp>, Kind> {
        let answered = client.send(Api::<Certification>::root().list(&Query::default())).await?;
        let date = answered.date;
        self.certifications = Certifications::of(answered.value);
        let named = wanted.iter().filter_map(|text| self.certifications.resolve(text).ok());
        let before = self.last.certifications.iter().copied().filter(|id| self.certifications.has(*id));
        let asked: BTreeSet<RemoteId> = named.chain(before).collect();
        let mut held: BTreeMap<String, u64> = BTreeMap::new();
        self.each(store, |entity| *held.entry(entity.value("certification").shown()).or_default() += 1)?;
        let mut seen = BTreeSet::new();
        for certification in &asked {
            let listed = match client.send(holders(Some(*certification)).list(&Query::default())).await {
                Ok(answered) => Some(answered.value),
                Err(error) if error.code() == Some(404) => None,
                Err(error) => return Err(error.into()),
            };
            let not_found = listed.is_none();
            let listed = listed.unwrap_or_default();
            let before = held.get(&certification.to_string()).copied().unwrap_or_default();
            if listed.is_empty() && before > 0 {
                return Err(Kind::Emptied { before, not_found });
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
                return Err(Kind::Doubled { id: doubled.id() });
            }
            visit(self, holders);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Wire as _;

    #[test]
    fn a_certification_is_meant_by_its_name_or_by_its_id() {
        let read = |text: &str| Certification::read(serde_json::from_str(text).unwrap()).unwrap();
        let known = Certifications::of(vec![
            read(r#"{"id":801,"name":"First Aid"}"#),
            read(r#"{"id":802,"name":"Heights"}"#),
            read(r#"{"id":803,"name":"heights "}"#),
        ]);
        for (text, id) in [(" first aid", Some(801)), ("802", Some(802)), ("Heights", None), ("804", None), ("", None)]
        {
            assert_eq!(known.resolve(text).ok().map(RemoteId::get), id, "{text}");
        }
    }
}
