//! The mirror as the last pull left it, for commands that send no requests.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::certifications::Certifications;
use super::collection::{Locations, PullState};
use super::elements::Elements;
use super::entities::Mirror;
use crate::record::Target;
use crate::store::{self, Batch, MetaKey, Store};

/// The names that a pull found besides people.
#[derive(Default, Serialize, Deserialize)]
struct Names {
    locations: Locations,
    elements: Elements,
    #[serde(default)]
    certifications: Certifications,
}

impl Mirror {
    /// When the last whole listing came, by this machine's clock.
    pub fn listed_at(&self) -> Option<Timestamp> {
        self.last.full_at
    }

    /// The mirror as the last finished pull left it; `None` where there was none. Nothing is asked of the service.
    pub fn stored(store: &Store, target: Target) -> Result<Option<Self>, store::Error> {
        let Some(last) = store.meta::<PullState>(MetaKey::Pull(target))? else { return Ok(None) };
        let Names { locations, elements, certifications } = store.meta(MetaKey::Names(target))?.unwrap_or_default();
        Ok(Some(Self {
            target,
            shown: store.meta(MetaKey::Shown(target))?.unwrap_or_default(),
            found: BTreeMap::new(),
            persist: false,
            saved: true,
            fields: last.fields.clone(),
            last,
            locations,
            elements,
            certifications,
            changed: BTreeSet::new(),
            unlisted: BTreeSet::new(),
        }))
    }

    /// Puts what a later look needs besides people.
    pub(super) fn put_names(&self, batch: &mut Batch) {
        let names = Names {
            locations: self.locations.clone(),
            elements: self.elements.clone(),
            certifications: self.certifications.clone(),
        };
        batch.put_meta(MetaKey::Names(self.target), &names);
    }
}
