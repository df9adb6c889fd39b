//! One account holds up no other.

use rustix::process::Signal;

use crate::support::accounts::Accounts;
use crate::support::daemon::eventually;
use crate::support::people;

/// Accounts whose service answers no request of this kind, and one that works.
fn held(fault: &str, names: &[&str]) -> Accounts {
    let accounts = Accounts::of(&[names, &["well"]].concat());
    for name in names {
        accounts.put(&format!("{name}/staff.csv"), &people(1..40));
        accounts.faults(name, &[fault]);
    }
    accounts.put("well/staff.csv", &people(1..3));
    accounts
}

fn expect_well_goes_on(accounts: &Accounts, names: &[&str]) {
    let daemon = accounts.daemon();
    daemon.signal(Signal::USR1);
    eventually("the others stand", || names.iter().all(|name| accounts.service(name).held() > 0));
    for last in [4, 6, 8] {
        accounts.put("well/staff.csv", &people(1..last));
        daemon.signal(Signal::USR1);
        eventually("the well one goes on", || accounts.people("well") == last - 1);
    }
    for name in names {
        assert!(accounts.service(name).held() > 0, "{name} has not gone on meanwhile");
        accounts.faults(name, &[]);
        accounts.service(name).release();
        eventually("it comes to its end", || accounts.people(name) == 39);
    }
    assert!(daemon.stop().success());
}

#[test]
fn an_account_whose_service_hangs_holds_up_no_other() {
    let names = ["slow"];
    expect_well_goes_on(&held("staff.list hold nth=1", &names), &names);
}

#[test]
fn accounts_that_send_have_no_place_however_many_they_are() {
    let places = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    let names: Vec<String> =
        (0..(places + 2).min(12)).map(|number| format!("sends-{}", (b'a' + number as u8) as char)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    expect_well_goes_on(&held("staff.create hold nth=5", &names), &names);
}
