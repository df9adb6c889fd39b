//! The mapping: without loss for any value, and strict about documents.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn written(value: &serde_json::Value) -> String {
    document(value.to_string().as_bytes(), "staff").unwrap()
}

/// Any text, most often of letters that are awkward in XML.
fn text() -> impl Strategy<Value = String> {
    let awkward = proptest::sample::select(vec![
        "&",
        "<",
        ">",
        "\"",
        "'",
        "]]>",
        "<![CDATA[",
        "&amp;",
        "_",
        "x",
        "0",
        "5F",
        "_x0001_",
        "_x005F",
        "\u{0}",
        "\u{1}",
        "\t",
        "\n",
        "\r",
        "\r\n",
        " ",
        "\u{FFFE}",
        "\u{85}",
        "\u{2028}",
        "é",
        "名",
        "😀",
        "item",
        "field",
    ]);
    prop_oneof![
        proptest::collection::vec(awkward, 0..8).prop_map(|parts| parts.concat()),
        any::<String>(),
        "[a-z_]{1,6}",
        "[0-9]{1,3}",
    ]
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        proptest::num::f64::NORMAL.prop_map(Into::into),
        (-180_000_i32..180_000).prop_map(|thousandths| (f64::from(thousandths) / 1000.0).into()),
        text().prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            proptest::collection::btree_map(text(), inner, 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_was_written_is_read_back(value in value()) {
        let document = written(&value);
        prop_assert_eq!(super::value(document.as_bytes()), Ok(value), "{}", document);
    }

    #[test]
    fn text_between_tags_never_panics(parts in proptest::collection::vec(text(), 0..6)) {
        let body = parts.concat();
        let _ = super::value(body.as_bytes());
        let _ = super::value(format!("<a>{body}</a>").as_bytes());
        let _ = super::value(format!("<a b=\"{body}\"/>").as_bytes());
    }
}

#[test]
fn an_answer_is_written_as_the_table_says() {
    for (value, expected) in [
        (json!({ "id": 7, "name": "Ana & Bo" }), "<staff><id type=\"number\">7</id><name>Ana &amp; Bo</name></staff>"),
        (
            json!([{ "id": 7 }, { "title": null }]),
            "<list type=\"array\"><staff><id type=\"number\">7</id></staff><staff><title nil=\"true\"></title></staff></list>",
        ),
        (
            json!({ "cf": { "4": "L7" }, "roles": [["Host"]] }),
            "<staff><cf><field id=\"4\">L7</field></cf>\
             <roles type=\"array\"><item type=\"array\"><item>Host</item></item></roles></staff>",
        ),
        (
            json!({ "remote": true, "cf": {} }),
            "<staff><cf type=\"object\"></cf><remote type=\"boolean\">true</remote></staff>",
        ),
        (json!({ "name": "a\u{1}_x0001_" }), "<staff><name>a_x0001__x005F_x0001_</name></staff>"),
    ] {
        let document = written(&value);
        assert_eq!(document.lines().nth(1), Some(expected), "{document}");
    }
}

#[test]
fn fields_stay_in_the_order_of_the_answer() {
    let document = document(br#"{"id":1,"created":"x","altname":"y"}"#, "staff").unwrap();
    assert!(document.contains("<created>x</created><altname>y</altname>"), "{document}");
}

#[test]
fn types_may_be_left_out() {
    for (body, expected) in [
        (
            "<staff><name>Ana</name><globalroaming>1</globalroaming></staff>",
            json!({ "name": "Ana", "globalroaming": "1" }),
        ),
        ("<staff><roletype><item>Host</item></roletype></staff>", json!({ "roletype": ["Host"] })),
        ("<staff><roletype type='array'/></staff>", json!({ "roletype": [] })),
        ("<staff>\n  <cf>\n <field id='4'>1</field>\n</cf>\n</staff>", json!({ "cf": { "4": "1" } })),
        ("<list><staff><name>Ana</name></staff></list>", json!([{ "name": "Ana" }])),
        ("<staff><item type='object'><item>x</item></item></staff>", json!([{ "item": "x" }])),
        ("\u{FEFF}<?xml version='1.0' encoding='utf-8'?><!-- x --><staff><name/></staff>\n", json!({ "name": "" })),
        ("<staff xmlns='urn:x' xmlns:i='urn:y'><name i:nil='true'/></staff>", json!({ "name": null })),
        ("<staff><name><![CDATA[a<b]]>&#x41;&lt;</name></staff>", json!({ "name": "a<bA<" })),
        ("<staff><name>one\r\ntwo _x0041_</name></staff>", json!({ "name": "one\ntwo _x0041_" })),
    ] {
        assert_eq!(super::value(body.as_bytes()), Ok(expected), "{body}");
    }
}

#[test]
fn a_document_that_is_not_certain_is_refused() {
    let deep = format!("{}{}", "<a>".repeat(DEPTH_MAX + 1), "</a>".repeat(DEPTH_MAX + 1));
    for (body, reason) in [
        ("", "empty"),
        ("name", "well-formed"),
        ("<staff>", "well-formed"),
        ("<staff><name></staff></name>", "well-formed"),
        ("</staff>", "well-formed"),
        ("<staff/><staff/>", "second root"),
        ("<staff a='1' a='2'/>", "well-formed"),
        ("<!DOCTYPE staff [<!ENTITY a 'b'>]><staff>&a;</staff>", "document type"),
        ("<!DOCTYPE staff SYSTEM 'file:///etc/passwd'><staff/>", "document type"),
        ("<staff><name>&nbsp;</name></staff>", "entity"),
        ("<staff><name>&#0;</name></staff>", "well-formed"),
        ("<staff><name>&#1;</name></staff>", "well-formed"),
        ("<staff><name>\u{1}</name></staff>", "character"),
        ("<staff>x<name/></staff>", "between elements"),
        ("<staff><name/><name/></staff>", "twice"),
        ("<staff><field>x</field></staff>", "without an id"),
        ("<staff><näme/></staff>", "name"),
        ("<staff><a:name/></staff>", "name"),
        ("<staff><name type='number'>x</name></staff>", "number"),
        ("<staff><name type='number'>1e999</name></staff>", "number"),
        ("<staff><name type='boolean'>yes</name></staff>", "boolean"),
        ("<staff><name type='date'>x</name></staff>", "type"),
        ("<staff><name nil='true'>x</name></staff>", "nil"),
        ("<?xml version='1.0' encoding='latin1'?><staff/>", "UTF-8"),
        (&deep, "too deep"),
    ] {
        let found = super::value(body.as_bytes()).unwrap_err();
        assert!(found.contains(reason), "{body}: {found}");
    }
    assert!(super::value(b"<a>\xFF</a>").unwrap_err().contains("UTF-8"));
}

#[test]
fn a_bomb_of_depth_is_refused_before_it_is_read() {
    let body = "<a>".repeat(1 << 20);
    assert!(super::value(body.as_bytes()).unwrap_err().contains("too deep"));
}
