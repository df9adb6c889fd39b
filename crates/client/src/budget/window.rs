//! The slots as values: who holds one until when.

use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64;

use crate::crash::term;

/// How long after sending a service may count a request, at most, in milliseconds.
pub(super) const REACH: u64 = 1_500;

/// The longest pause that the service can ask for.
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(15 * 60);

/// The span of the limit (specification, Limits).
const MINUTE: Duration = Duration::from_secs(60);

/// How much the pace is lowered after a 429, in percent of the limit, and at most.
const EASE: u32 = 5;
const EASE_MAX: u32 = 30;
/// Milliseconds after which one percent is given back.
const RECOVERY: u64 = 60_000;

/// No time is further ahead.
const AHEAD_MAX: u64 = 15 * 60 * 1_000;

const MAGIC: &[u8; 8] = b"RSTRBGT1";
const HEADER: usize = 60;
/// More slots than any limit has; guards the decoder.
const SLOTS_MAX: usize = 1_000_000;

/// All times are milliseconds of one boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// When each taken slot is free again.
    taken: Vec<u64>,
    /// Nothing is sent before.
    blocked_until: u64,
    /// How much the pace was lowered, in percent, and when.
    eased: u32,
    eased_at: u64,
}

/// The span of the limit in milliseconds, with a little for clocks that run apart.
fn span() -> u64 {
    u64::try_from(term(MINUTE).as_millis()).expect("a minute is not long") + 50
}

impl Window {
    /// A window of which nothing is free before `from` is 60 s past.
    pub(super) fn spent(from: u64, limit: u32) -> Self {
        Self { taken: vec![from + span(); limit as usize], ..Self::default() }
    }

    /// Takes a slot; the error is the time at which to ask again.
    pub(super) fn take(&mut self, now: u64, limit: u32) -> Result<u64, u64> {
        self.taken.retain(|until| *until > now);
        if self.blocked_until > now {
            return Err(self.blocked_until);
        }
        let allowed = self.allowed(now, limit) as usize;
        if self.taken.len() < allowed {
            let slot = now + REACH + span();
            self.taken.push(slot);
            return Ok(slot);
        }
        self.taken.sort_unstable();
        Err(self.taken[self.taken.len() - allowed])
    }

    /// A slot is identified by its time; slots of equal time are interchangeable.
    pub(super) fn answered(&mut self, slot: u64, now: u64) {
        if let Some(taken) = self.taken.iter_mut().find(|taken| **taken == slot) {
            *taken = slot.min(now + span());
        }
    }

    pub(super) fn never_sent(&mut self, slot: u64) {
        if let Some(index) = self.taken.iter().position(|taken| *taken == slot) {
            self.taken.swap_remove(index);
        }
    }

    /// Several answers may ask for the same pause: only the first lowers the pace.
    pub(super) fn pause(&mut self, now: u64, millis: u64, ease: bool) {
        if ease && self.blocked_until <= now {
            self.eased = (self.eased_now(now) + EASE).min(EASE_MAX);
            self.eased_at = now;
        }
        self.blocked_until = self.blocked_until.max(now + millis);
    }

    /// How many milliseconds it takes until `slots` slots are free; no more are asked for than there are.
    pub(super) fn free_in(&self, now: u64, limit: u32, slots: u32) -> u64 {
        let allowed = self.allowed(now, limit);
        let mut taken: Vec<u64> = self.taken.iter().copied().filter(|until| *until > now).collect();
        taken.sort_unstable();
        let over = (taken.len() + slots.min(allowed) as usize).saturating_sub(allowed as usize);
        let free = over.checked_sub(1).map_or(now, |last| taken[last]);
        free.max(self.blocked_until).saturating_sub(now)
    }

    pub(super) fn used(&self, now: u64) -> u32 {
        u32::try_from(self.taken.iter().filter(|until| **until > now).count()).unwrap_or(u32::MAX)
    }

    /// How long nothing is sent, in milliseconds.
    pub(super) fn blocked(&self, now: u64) -> Option<u64> {
        self.blocked_until.checked_sub(now).filter(|left| *left > 0)
    }

    fn eased_now(&self, now: u64) -> u32 {
        let recovered = u32::try_from(now.saturating_sub(self.eased_at) / RECOVERY).unwrap_or(u32::MAX);
        self.eased.saturating_sub(recovered)
    }

    fn allowed(&self, now: u64, limit: u32) -> u32 {
        let eased = u64::from(limit) * u64::from(self.eased_now(now)) / 100;
        limit.saturating_sub(u32::try_from(eased).unwrap_or(u32::MAX)).max(1)
    }

    /// A header, the slots that are taken, a checksum.
    pub(super) fn encode(&self, boot: u128, now: u64) -> Vec<u8> {
        let slots = self.taken.len();
        let mut bytes = Vec::with_capacity(HEADER + slots * 8 + 8);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&boot.to_le_bytes());
        bytes.extend_from_slice(&now.to_le_bytes());
        bytes.extend_from_slice(&self.blocked_until.to_le_bytes());
        bytes.extend_from_slice(&u64::from(self.eased).to_le_bytes());
        bytes.extend_from_slice(&self.eased_at.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(slots).unwrap_or(u32::MAX).to_le_bytes());
        self.taken.iter().for_each(|until| bytes.extend_from_slice(&until.to_le_bytes()));
        let checksum = xxh3_64(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads what [`Window::encode`] wrote. What is damaged counts as spent just now; what another boot wrote, as spent
    /// when this one began; a time further ahead than any can be, as just taken.
    pub(super) fn decode(bytes: &[u8], boot: u128, now: u64, limit: u32) -> Self {
        let Some((stored, mut window)) = Self::read(bytes) else { return Self::spent(now, limit) };
        if stored.boot != boot {
            let left = window.blocked_until.saturating_sub(stored.written);
            let eased = window.eased_now(stored.written);
            window = Self { blocked_until: left, eased, ..Self::spent(0, limit) };
        }
        for until in &mut window.taken {
            *until = (*until).min(now + REACH + span());
        }
        let pause_max = u64::try_from(PAUSE_MAX.as_millis()).unwrap_or(u64::MAX);
        window.blocked_until = window.blocked_until.min(now + pause_max);
        window.eased_at = window.eased_at.min(now);
        window
    }

    /// Reads what another process encoded `age` ago, on whichever machine, as times of this boot; `None` where it can't be
    /// read.
    pub(super) fn carried(bytes: &[u8], now: u64, age: Duration) -> Option<Self> {
        let (stored, window) = Self::read(bytes)?;
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        // How long each time was ahead when it was written, less what has passed since.
        let ahead = |at: u64| at.saturating_sub(stored.written).checked_sub(age).map(|left| now + left.min(AHEAD_MAX));
        Some(Self {
            taken: window.taken.iter().filter_map(|until| ahead(*until)).filter(|until| *until > now).collect(),
            blocked_until: ahead(window.blocked_until).unwrap_or(0),
            eased: window.eased_now(stored.written),
            eased_at: now,
        })
    }

    /// Whether the bytes are what [`Window::encode`] wrote.
    pub(super) fn is_whole(bytes: &[u8]) -> bool {
        Self::read(bytes).is_some()
    }

    fn read(bytes: &[u8]) -> Option<(Stored, Self)> {
        let slots = u32::from_le_bytes(bytes.get(HEADER - 4..HEADER)?.try_into().ok()?) as usize;
        if slots > SLOTS_MAX || bytes.get(..8)? != MAGIC {
            return None;
        }
        let end = HEADER + slots * 8;
        if bytes.get(end..end + 8)? != xxh3_64(bytes.get(..end)?).to_le_bytes() {
            return None;
        }
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let boot = u128::from_le_bytes(bytes.get(8..24)?.try_into().ok()?);
        let (taken, _) = bytes.get(HEADER..end)?.as_chunks();
        let window = Self {
            taken: taken.iter().map(|until| u64::from_le_bytes(*until)).filter(|until| *until > 0).collect(),
            blocked_until: number(32)?,
            eased: u32::try_from(number(40)?).ok()?.min(EASE_MAX),
            eased_at: number(48)?,
        };
        Some((Stored { boot, written: number(24)? }, window))
    }
}

/// When, and in which boot, a window was written.
struct Stored {
    boot: u128,
    written: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_is_known_when_so_many_slots_are_free() {
        let mut window = Window::default();
        for at in [1_000, 2_000, 3_000] {
            let slot = window.take(at, 4).unwrap();
            window.answered(slot, at);
        }
        for (slots, at, expected) in
            [(1, 4_000, 0), (2, 4_000, 57_050), (3, 4_000, 58_050), (9, 4_000, 59_050), (2, 61_050, 0)]
        {
            assert_eq!(window.free_in(at, 4, slots), expected, "{slots} at {at}");
        }
        window.pause(4_000, 70_000, false);
        assert_eq!(window.free_in(4_000, 4, 1), 70_000);
    }

    #[test]
    fn a_slot_is_free_60_s_after_its_answer_and_no_later_than_its_bound() {
        let check = |answered: Option<u64>, free: u64| {
            let mut window = Window::default();
            let slot = window.take(1_000, 1).unwrap();
            if let Some(at) = answered {
                window.answered(slot, at);
            }
            assert_eq!(window.clone().take(free - 1, 1), Err(free), "{answered:?}");
            assert!(window.take(free, 1).is_ok(), "{answered:?}");
        };
        check(Some(1_020), 61_070);
        check(Some(2_400), 62_450);
        check(Some(9_000), 62_550);
        check(None, 62_550);
    }

    #[test]
    fn what_was_never_sent_takes_no_slot() {
        let mut window = Window::default();
        let slot = window.take(5, 1).unwrap();
        window.never_sent(slot);
        assert_eq!(window.used(6), 0);
    }

    #[test]
    fn a_429_lowers_the_pace_once_and_it_recovers() {
        let mut window = Window::default();
        window.pause(0, 1_000, true);
        window.pause(10, 2_000, true);
        assert_eq!((window.blocked(10), window.blocked(2_010)), (Some(2_000), None));
        assert_eq!(window.allowed(3_000, 100), 95);
        assert_eq!(window.allowed(3 * 60_000, 100), 98);
        assert_eq!(window.allowed(6 * 60_000, 100), 100);
        assert_eq!(window.allowed(0, 1), 1);
    }

    #[test]
    fn law_12_the_machine_s_restart_gives_no_pace_back() {
        let mut window = Window::default();
        window.pause(100_000, 1_000, true);
        let rebooted = Window::decode(&window.encode(7, 161_000), 8, 2_000, 100);
        assert_eq!([2_000, 61_000].map(|now| rebooted.allowed(now, 100)), [96, 97]);
    }

    #[test]
    fn law_12_what_is_damaged_or_of_another_boot_counts_as_spent() {
        let mut window = Window::default();
        window.take(100_000, 3).unwrap();
        window.pause(100_000, 5_000, false);
        let bytes = window.encode(7, 100_000);
        assert_eq!(Window::decode(&bytes, 7, 100_100, 3), window);

        let rebooted = Window::decode(&bytes, 8, 2_000, 3);
        assert_eq!((rebooted.used(2_000), rebooted.used(60_050)), (3, 0));
        assert_eq!(rebooted.blocked(2_000), Some(3_000));

        for end in 0..bytes.len() {
            assert_eq!(Window::decode(&bytes[..end], 7, 100_100, 3), Window::spent(100_100, 3), "cut at {end}");
        }
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 0x40;
            assert_eq!(Window::decode(&damaged, 7, 100_100, 3).used(100_100), 3, "byte {index}");
        }
    }

    #[test]
    fn a_time_ahead_of_any_possible_one_is_taken_as_just_taken() {
        let window = Window { taken: vec![10_000_000], blocked_until: u64::MAX, eased: 5, eased_at: 10_000_000 };
        let read = Window::decode(&window.encode(7, 0), 7, 1_000, 1);
        assert_eq!(read.taken, [1_000 + REACH + span()]);
        assert_eq!(read.blocked(1_000), Some(900_000));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(count in 0_usize..200, limit in 1_u32..150, now in 0_u64..10_000_000) {
            let mut window = Window::default();
            for step in 0..count as u64 {
                let _ = window.take(now + step * 37, limit);
            }
            let now = now + count as u64 * 37;
            prop_assert_eq!(Window::decode(&window.encode(1, now), 1, now, limit), window);
        }
    }
}
