//! What becomes of an entry of the queue, by what a run says of its record.

use crate::queue::State;
use crate::record::Action;

/// What becomes of an entry of the queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EntryFate {
    /// It stays as it is.
    Stays,
    /// The service refused it: it is sent again unless just the same is wanted.
    Compared,
    /// It is sent as it is.
    Carried,
    /// A person must look at it once more.
    Outdated,
    /// It is not wanted any more.
    Removed,
}

/// What a run says of the record of an entry of the queue.
#[derive(Clone, Copy)]
pub(super) struct Circumstances {
    /// It has a change of its own for it.
    pub(super) is_wanted: bool,
    /// It is not narrowed to other records.
    pub(super) is_asked: bool,
    /// It says what becomes of the record.
    pub(super) is_judged: bool,
    /// What was approved of it is to be looked at again.
    pub(super) is_outdated: bool,
    /// Something about the record waits: it is not known who it is.
    pub(super) is_held: bool,
    /// Its entity is another job's by now, or offered to one.
    pub(super) is_let_go: bool,
    /// It is no removal, or nothing says that its person is to stay.
    pub(super) may_leave: bool,
    /// The job's files hold changes only.
    pub(super) of_changes: bool,
    /// The job may write.
    pub(super) may_write: bool,
}

impl EntryFate {
    /// What becomes of an entry of the queue.
    pub(super) fn of(action: Action, state: &State, undoes: bool, now: Circumstances) -> Self {
        let is_parked = state.is_parked();
        match state {
            // A change that was parked before it was sent costs no write to try again: the person may have been mended.
            _ if now.is_wanted && state.is_refused() => Self::Compared,
            _ if now.is_wanted => Self::Stays,
            // What became of it is not known, and stays so until the next run looks again.
            State::Sent { .. } if action == Action::Create => Self::Stays,
            // A person undid a run: that is sent, or parked, whatever the source says of the record.
            _ if undoes && (is_parked || !now.is_asked || !now.may_write) => Self::Stays,
            _ if undoes => Self::Carried,
            State::Waiting | State::Sent { .. } if now.of_changes && !now.is_judged => {
                if now.is_let_go {
                    Self::Removed
                } else if now.is_held || !now.is_asked || !now.may_write || !now.may_leave {
                    Self::Stays
                } else if now.is_outdated {
                    Self::Outdated
                } else {
                    Self::Carried
                }
            }
            _ if now.is_judged || (!is_parked && now.is_asked) => Self::Removed,
            _ => Self::Stays,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Holdings;

    /// Circumstances by their letters: `w`anted, `a`sked, `j`udged, `o`utdated, of `c`hanges, let `g`o; `-` may not write, `s`tays.
    fn circumstances(letters: &str) -> Circumstances {
        let has = |letter| letters.contains(letter);
        Circumstances {
            is_wanted: has('w'),
            is_asked: has('a'),
            is_judged: has('j'),
            is_outdated: has('o'),
            is_held: has('h'),
            is_let_go: has('g'),
            may_leave: !has('s'),
            of_changes: has('c'),
            may_write: !has('-'),
        }
    }

    #[test]
    fn what_is_queued_stays_goes_or_is_sent_by_what_the_run_says_of_its_record() {
        let (create, update) = (Action::Create, Action::Update);
        let sent = || State::Sent { attempts: 1, held: Holdings::default() };
        let parked = |status| State::Parked { status, words: String::new() };
        for (action, state, undoes, now, expected) in [
            (update, parked(422), false, "wa", EntryFate::Compared),
            (update, parked(0), false, "wa", EntryFate::Stays),
            (update, parked(403), false, "wa", EntryFate::Stays),
            (update, parked(422), false, "a", EntryFate::Stays),
            (update, parked(422), false, "aj", EntryFate::Removed),
            (update, parked(422), false, "", EntryFate::Stays),
            (update, State::Waiting, false, "wa", EntryFate::Stays),
            (update, State::Waiting, false, "a", EntryFate::Removed),
            (update, State::Waiting, false, "j", EntryFate::Removed),
            (update, State::Waiting, false, "", EntryFate::Stays),
            // A file of changes says nothing of those who are not in it.
            (update, State::Waiting, false, "ac", EntryFate::Carried),
            (update, State::Waiting, false, "aco", EntryFate::Outdated),
            (update, State::Waiting, false, "ac-", EntryFate::Stays),
            (update, State::Waiting, false, "acs", EntryFate::Stays),
            (update, State::Waiting, false, "acg", EntryFate::Removed),
            (update, State::Waiting, false, "c", EntryFate::Stays),
            (update, State::Waiting, false, "acoj", EntryFate::Removed),
            (update, sent(), false, "ac", EntryFate::Carried),
            (Action::Delete, sent(), false, "ac", EntryFate::Carried),
            // A create of unknown fate is never given up.
            (create, sent(), false, "aj", EntryFate::Stays),
            (create, State::Waiting, false, "aj", EntryFate::Removed),
            (update, sent(), false, "aj", EntryFate::Removed),
            // What takes back a run is sent whatever the source says.
            (update, State::Waiting, true, "aj", EntryFate::Carried),
            (update, sent(), true, "aj", EntryFate::Carried),
            (update, State::Waiting, true, "j", EntryFate::Stays),
            (update, State::Waiting, true, "aj-", EntryFate::Stays),
            (update, parked(422), true, "aj", EntryFate::Stays),
        ] {
            let found = EntryFate::of(action, &state, undoes, circumstances(now));
            assert_eq!(found, expected, "{} {state:?} {undoes} {now:?}", action.name());
        }
    }
}
