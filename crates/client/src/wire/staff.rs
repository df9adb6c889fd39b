//! Employees.

use super::part::CardToken;
use super::sent::{bit, list, number, plain};
use super::value::{Any, Fields, Flag, Ids, Names, Text};

entity! {
    /// An employee as read (specification, Employee).
    Staff
    shown {
        created: Text, modified: Text, account_status: Text, last_login: Text, setup_method: Text, cur_location: Text,
        department: Text, roles: Any, tokens: Vec<CardToken>, remote: Flag,
    }
    =>
    /// An employee as created or replaced (specification, Employee). `onsite_status` is echoed, never decided (law 10).
    /// The deprecated list `customfields` is never sent.
    StaffInput if roams_unseen
    both {
        name: Text, title: Text, altname: Text, email: Text, phone: Text, mobile: Text, ice: Text, onsite_status: Text,
        location: Text,
    }
    renamed {
        employee_id: Text => employee_id as number, role_types: Names => roletype as plain,
        customfields: Fields => cf as plain, globalroaming: Flag => globalroaming as bit,
        globalroaming_locations: Ids => globalroaming_locations as list,
    }
}

/// Where someone may roam is in no answer of the specification, and a PUT without it would clear it.
fn roams_unseen(input: &StaffInput) -> Option<&'static str> {
    let unseen = input.globalroaming == Some(true) && input.globalroaming_locations.is_none();
    unseen.then_some("globalroaming_locations")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::super::{Carry as _, CarryError, RequestInput as _, Wire as _};
    use super::*;

    fn staff(json: Json) -> Staff {
        match json {
            Json::Object(object) => Staff::read(object).unwrap(),
            _ => unreachable!("the tests give objects"),
        }
    }

    #[test]
    fn law_2_an_answer_becomes_the_whole_input() {
        let staff = staff(json!({
            "id": 9, "created": "x", "modified": "x", "name": "Ada", "title": "Dr", "altname": "A", "email": "a@b.c",
            "phone": "1", "mobile": "2", "ice": "3", "employee_id": "77", "onsite_status": "onsite",
            "location": "Quay", "role_types": [["Warden"], ["Nurse"]], "customfields": {"4": "B7", "8": "{\"a\":[1]}"},
            "globalroaming": 1, "globalroaming_locations": [{"id": 3, "name": "Quay"}], "department": "D",
            "roles": [["Admin"]], "tokens": [{"type": "card"}], "remote": 1, "account_status": "active",
            "last_login": null, "setup_method": "m", "cur_location": "Quay", "badge": {"b": 1, "a": [2]},
        }));
        let input = serde_json::to_value(staff.carried(|_| false).unwrap()).unwrap();
        assert_eq!(
            input,
            json!({
                "name": "Ada", "title": "Dr", "altname": "A", "email": "a@b.c", "phone": "1", "mobile": "2", "ice": "3",
                "employee_id": 77, "onsite_status": "onsite", "location": "Quay", "roletype": ["Warden", "Nurse"],
                "cf": {"4": "B7", "8": "{\"a\":[1]}"}, "globalroaming": 1, "globalroaming_locations": [3],
                "badge": {"b": 1, "a": [2]},
            })
        );
    }

    #[test]
    fn law_2_all_inputs_are_named_even_when_empty() {
        let json = serde_json::to_value(StaffInput::default()).unwrap();
        let mut names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected = StaffInput::FIELDS.to_vec();
        names.sort_unstable();
        expected.sort_unstable();
        assert_eq!(names, expected);
        assert_eq!(json["title"], Json::Null);
    }

    #[test]
    fn an_employee_id_keeps_its_digits() {
        let check = |id: &str, expected: Json| {
            let input = StaffInput { employee_id: Some(id.to_owned()), ..StaffInput::default() };
            assert_eq!(serde_json::to_value(input).unwrap()["employee_id"], expected, "{id}");
        };
        check("123", json!(123));
        check("0", json!(0));
        check("00123", json!("00123"));
        check("+5", json!("+5"));
        check("2147483647", json!(2_147_483_647));
        check("2147483648", json!("2147483648"));
        check("A12", json!("A12"));
        check("1 2", json!("1 2"));
    }

    #[test]
    fn law_2_what_can_t_be_rebuilt_is_not_sent() {
        let undecided = |json: Json| staff(json).carried(|_| false).map(|input| input.undecided());
        assert_eq!(undecided(json!({"id": 1, "globalroaming": 1})), Ok(Some("globalroaming_locations")));
        assert_eq!(undecided(json!({"id": 1, "globalroaming": 0})), Ok(None));
        assert_eq!(undecided(json!({"id": 1, "globalroaming": 1, "globalroaming_locations": []})), Ok(None));
        let odd = json!({"id": 1, "title": ["x"]});
        assert_eq!(undecided(odd.clone()), Err(CarryError::Unreadable { field: "title" }));
        assert!(staff(odd).carried(|field| field == "title").is_ok());
        let odd = json!({"id": 1, "role_types": [44]});
        assert!(staff(odd.clone()).carried(|field| field == "role_types").is_err());
        assert!(staff(odd).carried(|field| field == "roletype").is_ok());
        assert_eq!(undecided(json!({"id": 1, "department": ["x"]})), Ok(None));
    }
}
