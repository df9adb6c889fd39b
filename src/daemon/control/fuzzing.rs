//! Made-up bytes on the socket, and what must hold of each.

use futures_util::FutureExt as _;

use super::call::{Brought, Call};
use super::frame::{CALL_SIZE_MAX, read, write};

/// What a caller sends: frames one behind the other.
pub(crate) fn control(bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        let before = rest;
        let now = |size_max| read(&mut &*before, size_max).now_or_never().expect("bytes in memory do not wait");
        let read = read(&mut rest, CALL_SIZE_MAX).now_or_never().expect("bytes in memory do not wait");
        let Ok(Some((kind, payload))) = read else { break };
        let taken = before.len() - rest.len();
        let mut again = Vec::new();
        write(&mut again, kind, &payload).now_or_never().expect("memory does not wait").expect("a frame that was read");
        assert!(again == before[..taken], "a frame is written as it was read");
        let size = u32::try_from(payload.len()).expect("it is no longer than a call");
        assert!(now(size).is_ok() && (size == 0 || now(size - 1).is_err()), "a frame is read up to its limit");
        call(&payload);
    }
}

/// What a frame holds.
fn call(payload: &[u8]) {
    if let Ok(call) = serde_json::from_slice::<Call>(payload) {
        let written = serde_json::to_vec(&call).expect("a call is plain values");
        let again: Call = serde_json::from_slice(&written).expect("what was written");
        assert!(serde_json::to_vec(&again).is_ok_and(|again| again == written), "a call is read as it was written");
    }
    if let Ok(brought) = serde_json::from_slice::<Brought>(payload) {
        let written = serde_json::to_vec(&brought).expect("plain values");
        let again: Brought = serde_json::from_slice(&written).expect("what was written");
        assert_eq!(again.is_empty(), brought.is_empty());
        assert!(serde_json::to_vec(&again).is_ok_and(|again| again == written), "it is read as it was written");
    }
}
