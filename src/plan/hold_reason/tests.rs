use super::*;
use crate::record::redact;

#[test]
fn a_reason_stays_what_it_is_with_another_before_it_and_on_disk() {
    let id = RemoteId::new(7).unwrap();
    let mut reason = HoldReason::SameName { id };
    reason.precede(HoldReason::MappingChanged { people: 2 });
    assert!(reason.to_string().starts_with("the mapping change alters 2 people; this new record has the name"));
    assert!(reason.is_stranger() && !HoldReason::OnSite.is_stranger());
    let around = |reason: &HoldReason| {
        let reason = || Box::new(reason.clone());
        let (first, segment) = (Box::new(HoldReason::OnSite), "Days".to_owned());
        [
            HoldReason::Segment { segment, reason: reason() },
            HoldReason::Undoing { run: 3, reason: reason() },
            HoldReason::Both { first: first.clone(), then: reason() },
            HoldReason::Both { first: reason(), then: first },
        ]
    };
    assert!(around(&HoldReason::SameEmail { id }).iter().all(HoldReason::is_stranger));
    assert!(!around(&HoldReason::OnSite).iter().any(HoldReason::is_stranger));
    let [segment, _, then, first] = around(&HoldReason::EmptiedOfOne);
    assert!(segment.is_limit() && then.is_limit() && first.is_limit() && !HoldReason::OnSite.is_limit());
    for reason in [reason, HoldReason::OnSite, "limit".into()] {
        let read: HoldReason = serde_json::from_str(&serde_json::to_string(&reason).unwrap()).unwrap();
        assert_eq!(read, reason);
    }
}

/// What is asked of a reason, as letters: `a` it can be approved, `q` it is a question, `k` it doubts its key, `l` it is a limit,
/// `m` it is of someone who is missing, `d` only a decision releases it, `f` it is found again, `w` it waits for another record,
/// `s` it may be anybody.
fn traits(reason: &HoldReason) -> String {
    [
        (reason.can_be_approved(), 'a'),
        (reason.is_question(), 'q'),
        (reason.doubts_its_key(), 'k'),
        (reason.is_limit(), 'l'),
        (reason.is_of_missing(), 'm'),
        (reason.lasts(), 'd'),
        (reason.is_found_again(), 'f'),
        (reason.awaits_another(), 'w'),
        (reason.may_be_anybody(), 's'),
    ]
    .into_iter()
    .filter_map(|(is_so, letter)| is_so.then_some(letter))
    .collect()
}

#[test]
fn a_reason_within_others_counts_as_it_does_alone() {
    let (id, key) = (RemoteId::new(7).unwrap(), || "P1".to_owned());
    let contested = HoldReason::Contested { one: "person".to_owned(), id, key: key() };
    for (reason, expected) in [
        (HoldReason::WritesApprove, "a"),
        (HoldReason::WritesOff, ""),
        (contested, ""),
        (HoldReason::NeedsOwnKey, "k"),
        (HoldReason::OtherKeys, "k"),
        (HoldReason::Unfindable, "aqs"),
        (HoldReason::Shared { field: "email".to_owned(), key: key() }, "aqs"),
        (HoldReason::SharedWithMissing { field: "email".to_owned(), key: key() }, "aq"),
        (HoldReason::Twin { field: "email".to_owned(), key: key() }, "aq"),
        (HoldReason::AnotherPerson, "aqk"),
        (HoldReason::EmptiedOfOne, "ald"),
        (HoldReason::MaxCreates { people: 20, allowed: 10 }, "ald"),
        (HoldReason::SlippedRows { people: 20 }, "ald"),
        (HoldReason::SentByJob { job: "north".to_owned() }, "f"),
        (HoldReason::MappingChanged { people: 2 }, "am"),
        (HoldReason::Outdated, "ad"),
        (HoldReason::OnSite, "f"),
        (HoldReason::EndsLater, "fw"),
        (HoldReason::AwaitsDecision { key: key() }, "f"),
    ] {
        assert_eq!(traits(&reason), expected, "{reason:?}");
        let within = HoldReason::Segment { segment: "Days".to_owned(), reason: Box::new(reason.clone()) };
        // What each run finds out by itself is never put into another one.
        if !reason.is_found_again() {
            assert_eq!(traits(&within), expected, "{within:?}");
        }
        let plain = Box::new(HoldReason::WritesApprove);
        for [first, then] in [[Box::new(reason.clone()), plain.clone()], [plain, Box::new(reason.clone())]] {
            let both = traits(&HoldReason::Both { first, then });
            assert_eq!(both, traits(&within), "{reason:?} beside another one");
        }
    }
    let limits = || Box::new(HoldReason::EmptiedOfOne);
    assert_eq!(traits(&HoldReason::Both { first: limits(), then: limits() }), "ald");
}

#[test]
fn law_11_a_reason_names_a_person_no_more_who_is_forgotten() {
    let key = |key: &str| Key::new(key).unwrap();
    let [from, to] = ["P1", "P2"].map(|one| key(one).to_string());
    let mut reason = HoldReason::MovedValue { field: "name".to_owned(), from, to };
    reason.precede(HoldReason::RestoredState);
    assert!(!redact(&reason.to_string()).contains('P'), "{reason}");
    let erased = reason.without(&key("P1")).unwrap();
    assert!(!erased.to_string().contains("P1") && erased.to_string().contains("P2"), "{erased}");
    assert_eq!(reason.without(&key("P3")), None);
    // None has a list today.
    let mut listed = serde_json::json!([[key("P2").to_string()], key("P1").to_string(), 7]);
    assert!(erase(&mut listed, &key("P1")) && !erase(&mut listed, &key("P3")));
    assert!(!listed.to_string().contains("P1") && listed.to_string().contains("P2"), "{listed}");
    let mut named = serde_json::json!({"from": key("P1").to_string(), "run": 3});
    assert!(!erase(&mut named.clone(), &key("P3")) && erase(&mut named, &key("P1")));
}
