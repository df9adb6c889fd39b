//! Sessions, in memory.
//!
//! A session is known by 256 random bits that only the browser has: the table keeps their digest. It ends after half an hour
//! without a request, and eight hours after the login. There is room for a bounded number; no person takes more than a few.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::access::Person;
use super::random;

/// How long a session lasts without a request.
const IDLE_MAX: Duration = Duration::from_secs(30 * 60);
/// How long a session lasts at most.
pub(super) const SESSION_MAX: Duration = Duration::from_secs(8 * 60 * 60);
/// Sessions at a time.
const SESSIONS_MAX: usize = 1024;
/// Those of one person.
const OF_ONE_MAX: usize = 8;

/// A session of someone.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) person: Person,
    /// What a form of this session holds.
    pub(super) token: String,
    /// When they showed who they are, where that is known.
    pub(super) logged_in: Option<Timestamp>,
    began: Instant,
    used: Instant,
}

/// The sessions there are.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Session>>);

impl Session {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.used) >= IDLE_MAX || now.duration_since(self.began) >= SESSION_MAX
    }
}

impl Sessions {
    /// Begins one, and returns what the browser is to keep.
    pub(super) fn begin(&self, person: Person, logged_in: Option<Timestamp>, now: Instant) -> String {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| !session.is_over(now));
        let oldest = |sessions: &HashMap<String, Session>, fits: &dyn Fn(&Session) -> bool| {
            let fitting = sessions.iter().filter(|(_, session)| fits(session));
            fitting.min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone())
        };
        let is_own = |session: &Session| session.person.identity() == person.identity();
        if sessions.values().filter(|session| is_own(session)).count() >= OF_ONE_MAX {
            oldest(&sessions, &is_own).map(|id| sessions.remove(&id));
        }
        if sessions.len() >= SESSIONS_MAX {
            oldest(&sessions, &|_| true).map(|id| sessions.remove(&id));
        }
        let id = random::text();
        let session = Session { person, token: random::text(), logged_in, began: now, used: now };
        sessions.insert(random::challenge(&id), session);
        id
    }

    /// The session that a browser has.
    pub(super) fn of(&self, id: &str, now: Instant) -> Option<Session> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = random::challenge(id);
        if sessions.get(&known)?.is_over(now) {
            sessions.remove(&known);
            return None;
        }
        let session = sessions.get_mut(&known)?;
        session.used = now;
        Some(session.clone())
    }

    /// Ends one.
    pub(super) fn end(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&random::challenge(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approvals::access::tests::person;

    #[test]
    fn a_session_ends_after_half_an_hour_of_rest_and_after_eight_hours() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let id = sessions.begin(person("ana", &[]), None, start);
        let mut now = start;
        let minute = Duration::from_secs(60);
        while now.duration_since(start) + 29 * minute < SESSION_MAX {
            now += 29 * minute;
            assert!(sessions.of(&id, now).is_some(), "{:?}", now - start);
        }
        assert!(sessions.of(&id, start + SESSION_MAX).is_none());
        let id = sessions.begin(person("ana", &[]), None, start);
        assert!(sessions.of(&id, start + IDLE_MAX).is_none());
        assert!(sessions.of(&id, start).is_none(), "it is over for good");
        assert!(sessions.of("", start).is_none() && sessions.of("x", start).is_none());
    }

    #[test]
    fn who_logs_in_again_and_again_takes_no_place_of_others() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let ana = sessions.begin(person("ana", &[]), None, now);
        let many: Vec<String> = (0..5 * SESSIONS_MAX).map(|_| sessions.begin(person("bo", &[]), None, now)).collect();
        assert!(sessions.of(&ana, now).is_some());
        assert_eq!(many.iter().filter(|id| sessions.of(id, now).is_some()).count(), OF_ONE_MAX);
        for number in 0..2 * SESSIONS_MAX {
            sessions.begin(person(&format!("user {number}"), &[]), None, now + Duration::from_secs(1));
        }
        assert!(sessions.0.lock().unwrap().len() <= SESSIONS_MAX);
    }

    #[test]
    fn a_session_that_was_ended_is_over() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let (one, other) =
            (sessions.begin(person("ana", &[]), None, now), sessions.begin(person("ana", &[]), None, now));
        assert_ne!(sessions.of(&one, now).unwrap().token, sessions.of(&other, now).unwrap().token);
        sessions.end(&one);
        assert!(sessions.of(&one, now).is_none() && sessions.of(&other, now).is_some());
    }
}
