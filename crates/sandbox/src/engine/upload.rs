//! The whole roster at once: adds, updates and removes (specification, Employees; its rules aren't shown).
//!
//! A row is the person with its `employee_id`, else with its email, else a new person. People who are in no row are
//! removed: all of them, or those of the department that the parameter `group` names. People in a row belong to that
//! department from then on, and work at the location that the parameter `location` names. A row that can't be taken
//! refuses the whole upload, and so do two rows for the same person.

use std::collections::BTreeSet;

use super::super::answer::{Answer, Rejection};
use super::super::row::{EntityRow, unique_form};
use super::super::store::{Change, Entities};
use super::super::tables::STAFF;
use super::Call;
use super::roster::{RosterEntry, at_row};

impl Call<'_> {
    pub(super) fn upload(&self) -> Result<Answer, Rejection> {
        let roster = self.roster()?;
        let mut entities = self.store.write();
        let location = self.parameter("location");
        if location.is_some_and(|name| !entities.is_name_of(name, "location")) {
            return Err(Rejection::bad("location takes the name of one that exists"));
        }
        let mut next = entities.next_id(&STAFF);
        let mut taken = BTreeSet::new();
        let mut meant = BTreeSet::new();
        let mut people = Vec::with_capacity(roster.len());
        for (index, entry) in roster.into_iter().enumerate() {
            let person = self
                .person(&entities, entry, next, location)
                .map_err(|refusal| Rejection::new(refusal.status, format!("row {}: {}", index + 1, refusal.message)))?;
            let mut forms = STAFF.unique.iter().filter_map(|group| unique_form(&STAFF, group, &person));
            let is_double = forms.any(|form| !meant.insert(form));
            if !taken.insert(person.id) || is_double && !self.options.accept_duplicates {
                return Err(at_row(index, "a person who is in another row too"));
            }
            next += i64::from(person.id == next);
            people.push(person);
        }
        let department = STAFF.at("department");
        let group = self.parameter("group");
        let everybody = entities.rows(STAFF.name).values();
        let missing = everybody.filter(|row| group.is_none_or(|group| row.text(department) == Some(group)));
        let missing = missing.filter(|row| !taken.contains(&row.id)).map(|row| Change::Gone(&STAFF, row.id));
        let puts = people.iter().map(|person| Change::Put(&STAFF, person.clone()));
        let changes = puts.chain(missing).collect();
        self.save(&mut entities, changes)?;
        let view = self.view(&STAFF, &entities);
        Ok(self.answer(|status| Answer::document(status, view.list(&people))))
    }

    /// The person of a row as they are from now on; `next` is the id of a new person.
    fn person(
        &self,
        entities: &Entities,
        entry: RosterEntry,
        next: i64,
        location: Option<&str>,
    ) -> Result<EntityRow, Rejection> {
        let RosterEntry { mut body, tokens } = entry;
        if let Some(location) = location {
            body.insert("location".to_owned(), location.into());
        }
        let input = self.input(entities, &body, false);
        input.check_names()?;
        let mut person = EntityRow::new(&STAFF, next, self.order.now);
        input.fill(&mut person)?;
        let known = [["employee_id"], ["email"]].iter().find_map(|group| entities.holder_of(&STAFF, group, &person));
        if let Some(known) = known.and_then(|id| entities.rows(STAFF.name).get(&id)) {
            person = known.clone();
            person.modified = self.order.now;
            self.input(entities, &body, true).replace(&mut person)?;
        }
        if let Some(tokens) = tokens {
            person.set(STAFF.at("tokens"), tokens);
        }
        if let Some(group) = self.parameter("group") {
            person.set(STAFF.at("department"), group.into());
        }
        Ok(person)
    }
}
