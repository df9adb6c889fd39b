//! Whole mappings on whole rows.

use std::sync::Arc;

use super::*;
use crate::record::{CellValue, Key, RowDefect, Value};
use crate::source::{Columns, Row};

const COLUMNS: [&str; 9] =
    ["Employee No", "First Name", "lastName", "E-Mail", "Status", "Site", "Start", "Mobile", "Größe"];
const CELLS: [&str; 9] =
    ["0042", " Ana ", "Secret", "ANA@Example.com", "Active", "AKL", "31/12/2026", "029 838 5771", "1,80"];

fn options(fields: &[(&str, &str)]) -> Options {
    Options {
        match_on: vec!["employee_id".into()],
        optional: vec!["Locker".to_owned()],
        ..Options::of_test("{{ employee_no }}", fields)
    }
}

fn map_cells(options: &Options, cells: &[&str]) -> Mapped {
    read_cells(options, cells).mapped
}

fn read_cells(options: &Options, cells: &[&str]) -> Reading {
    let mapping = Mapping::compile(options).unwrap();
    let columns = Arc::new(Columns::new(COLUMNS));
    let bound = mapping.bind(&columns).unwrap();
    bound.read(&Row::new(7, columns, cells), None)
}

/// The result of a template for a title: the text, or the reason.
fn title(template: &str) -> Result<String, String> {
    let fields = options(&[("title", template)]);
    let whole = Options { on_bad_value: OnBadValue::Row, ..fields.clone() };
    let Reading { mapped, mut bad_values, .. } = read_cells(&fields, &CELLS);
    let Mapped::Record(record) = mapped else { panic!("{mapped:?}") };
    match (record.fields.get("title"), bad_values.pop()) {
        (Some(title), None) => Ok(title.shown()),
        (None, Some(bad)) => {
            assert_eq!((&bad.key, bad.line), (&Key::new("0042"), Some(7)));
            assert_eq!(bad.field.as_deref(), Some("title"));
            assert!(!bad.reason.to_string().contains("Secret"), "law 11: {}", bad.reason);
            assert_eq!(map_cells(&whole, &CELLS), Mapped::Rejected(bad.clone()));
            Err(bad.reason.to_string())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn law_8_a_bad_value_of_an_optional_field_stops_no_one() {
    let options = |match_on: &str, on_bad_value| Options {
        match_on: vec![match_on.into()],
        on_bad_value,
        segment: Some("{{ site | lookup('none') }}".replace("none", "site")),
        prefer: Some("{{ first_name }}".to_owned()),
        ..options(&[
            ("name", "{{ last_name }}"),
            ("email", "{{ e_mail }}"),
            ("employee_id", "{{ employee_no }}"),
            ("mobile", "{{ größe | phone('NZ') }}"),
            ("title", "{{ status }}"),
        ])
    };
    let mut cells = CELLS;
    (cells[4], cells[5], cells[8]) = ("#REF!", "nowhere", "ask reception");
    let bad_fields = |options: &Options, cells: &[&str]| {
        let reading = read_cells(options, cells);
        let mut names: Vec<String> = reading.bad_values.iter().filter_map(|bad| bad.field.clone()).collect();
        names.sort();
        let rejected = match reading.mapped {
            Mapped::Record(record) => {
                assert!(names.iter().all(|field| record.fields.get(field.as_str()).is_none()), "{names:?}");
                None
            }
            Mapped::Rejected(rejected) => rejected.field,
            other => panic!("{other:?}"),
        };
        (rejected, names.join(" "))
    };
    use OnBadValue::{Field, Row};
    let all = "guard.segment mobile prefer title";
    assert_eq!(bad_fields(&options("employee_id", Field), &cells), (None, all.to_owned()));
    assert_eq!(bad_fields(&options("title", Field), &cells).0.as_deref(), Some("title"));
    assert!(bad_fields(&options("employee_id", Row), &cells).0.is_some());
    for (at, broken, field) in [(0, "#N/A", "key"), (0, "4.1E+03", "key"), (2, "#NAME?", "name"), (2, "", "name")] {
        let mut cells = CELLS;
        (cells[at], cells[1]) = (broken, "1");
        assert_eq!(bad_fields(&options("employee_id", Field), &cells).0.as_deref(), Some(field), "{broken}");
    }
}

#[test]
fn a_template_comes_to_a_value() {
    for (template, value) in [
        ("Engineer", "Engineer"),
        ("{{ first_name }}", "Ana"),
        ("{{ lastName }}", "Secret"),
        ("{{ last_name | upper }}", "SECRET"),
        ("{{ source[\"First Name\"] }}", "Ana"),
        ("{{ source['E-Mail'] | lower }}", "ana@example.com"),
        ("{{ all[\"E-Mail\"] | first }}", "ANA@Example.com"),
        ("{{ größe }}", "1,80"),
        ("{{ Größe | replace(',', '.') }}", "1.80"),
        ("{{ first_name }} {{ lastName }}", "Ana Secret"),
        ("{{ e_mail | lower }}", "ana@example.com"),
        ("{{ site | lookup('site') }}", "Auckland Office"),
        ("{{ start | date('%d/%m/%Y') }}", "2026-12-31"),
        ("{{ mobile | phone('NZ') }}", "+64298385771"),
        ("{{ employee_no | zfill(6) }}", "000042"),
        ("{% if status == 'Active' %}yes{% else %}no{% endif %}", "yes"),
        ("{% set who = first_name %}{{ who }}!", "Ana!"),
        ("{{ locker }}", ""),
        ("{{ locker | lookup('site') }}{{ locker | date('%F') }}{{ locker | phone('NZ') }}{{ locker | zfill(3) }}", ""),
        ("{{ none }}", ""),
        ("{{ employee_no | int + 1 }}", "43"),
        ("{{ employee_no }}", "0042"),
        ("{{ status == 'Active' }}", "true"),
        ("{{ ['a', 'b'] | join('-') }}", "a-b"),
    ] {
        assert_eq!(title(template).as_deref(), Ok(value), "{template}");
    }
}

#[test]
fn law_11_a_value_that_does_not_fit_rejects_the_row_without_being_shown() {
    for (template, reason) in [
        ("{{ lastName | lookup('site') }}", "the value is not in the table `site`"),
        ("{{ lastName | date('%d/%m/%Y') }}", "the value is not a date of the form `%d/%m/%Y`"),
        (
            "x {{ lastName | phone('NZ') }}",
            "the value is no phone number: it holds more than digits, spaces and ()-./+",
        ),
        ("{{ lastName | int }}", "the template does not work on this row (invalid operation)"),
        ("{{ all['lastName'] }}", "the template gives a list; take one of it with `first`, or `join` it"),
        ("x{{ all['lastName'] }}", "a list cannot stand inside text; use `join`, or `first`"),
        ("{{ lastName.nothing.more }}", "the template uses a value that is not there"),
        ("{{ {'a': lastName} }}", "the template gives something that is no text"),
        ("{{ 'a\\0b' }}", "the value holds a NUL character, which is no text"),
    ] {
        assert_eq!(title(template), Err(reason.to_owned()), "{template}");
    }
}

#[test]
fn a_template_has_a_limit() {
    let endless = "{% for a in all['Site'] | list %}{% for b in '".to_owned()
        + &"x".repeat(60_000)
        + "' %}{{ b }}{% endfor %}{% endfor %}";
    assert_eq!(title(&endless), Err("the template takes too many steps".to_owned()));
}

#[test]
fn no_template_takes_gigabytes_or_the_stack() {
    let refused = |template: &str| match Mapping::compile(&options(&[("title", template)])) {
        Ok(_) => title(template).is_err(),
        Err(_) => true,
    };
    let nested = |word: &str| format!("{{{{ {} true }}}}", word.repeat(30_000));
    let doubled = |set: &str| {
        let sets: String =
            (0..40).map(|n| set.replace("OLD", &format!("a{n}")).replace("NEW", &format!("a{}", n + 1))).collect();
        format!("{{% set a0 = first_name %}}{sets}{{{{ a40 }}}}")
    };
    let chain = "| replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') ".repeat(20);
    for template in [
        "{{ first_name | indent(10**9) }}",
        "{{ first_name | indent(width=10**9, first=true) }}",
        "{{ '%1000000000s' | format(first_name) }}",
        "{{ '%.1000000000f' | format(1.5) }}",
        "{{ '%*d' | format(10**9, 1) }}",
        "{{ [1] | batch(10**9, 'x') | first | length }}",
        "{{ [1] | slice(10**9) | list | length }}",
        "{{ 'a' * 100000000 }}",
        "{{ ([1] * 100000000) | list | length }}",
        &format!("{{{{ 'a' {chain} | length }}}}"),
        &nested("not "),
        &nested("-"),
        &nested("1 + "),
        &nested("'a' ~ "),
        &nested("("),
        &format!("{{{{ first_name {} }}}}", "| trim ".repeat(30_000)),
        &format!("{{{{ first_name{} }}}}", "[0]".repeat(30_000)),
        &format!("{}x{}", "{% if true %}".repeat(30_000), "{% endif %}".repeat(30_000)),
        &format!("{{% if a %}}{}{{% endif %}}", "{% elif true %}".repeat(30_000)),
        &doubled("{% set NEW = OLD ~ OLD %}"),
        &doubled("{% set NEW %}{{ OLD }}{{ OLD }}{% endset %}"),
        &format!(
            "{{% for a in '{0}' %}}{{% for b in '{0}' %}}{1}{{% endfor %}}{{% endfor %}}",
            "x".repeat(200),
            "y".repeat(9000)
        ),
    ] {
        let begin: String = template.chars().take(90).collect();
        assert!(refused(template), "{begin}");
    }
}

#[test]
fn what_is_as_deep_and_wide_as_may_be_works() {
    let nots = format!("{{{{ {} true }}}}", "not ".repeat(498));
    let sites: String = (0..400).map(|n| format!("'S{n}': 'Site {n}', ")).collect();
    let ifs: String = (0..110).map(|n| format!("'{n}' if site == 'S{n}' else ")).collect();
    for (template, value) in [
        (nots.as_str(), "true"),
        (&format!("{{{{ {{{sites} 'AKL': 'Auckland'}}[site] }}}}"), "Auckland"),
        (&format!("{{{{ {ifs} site }}}}"), "AKL"),
        // What is set in a loop is set for that turn only.
        (
            "{% set a = 'a' %}{% for n in 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' %}{% set b = a ~ a %}{% set a = b ~ b %}{% endfor %}{{ a }}",
            "a",
        ),
        ("{{ '%05d' | format(42) }}", "00042"),
        ("{{ ['a', 'b', 'c'] | batch(2, '-') | map('join') | join('/') }}", "ab/c-"),
        ("{{ ['a', 'b', 'c'] | join(d='/') }}", "a/b/c"),
        ("{{ 'a' | indent(width=2, first=true) ~ '.' }}", "a."),
        ("{{ site | replace('A', '') | replace('K', 'k') }}", "kL"),
        ("{{ '0.5' | float * 40 }}", "20.0"),
    ] {
        assert_eq!(title(template).as_deref(), Ok(value), "{template}");
    }
}

#[test]
fn every_bad_template_is_reported_at_once_with_its_place() {
    let mut options = options(&[
        ("name", "{{ first_name | lowr }}"),
        ("title", "{{ start | date('dd/mm') }}"),
        ("email", "x\n{{ e_mail | "),
        ("phone", "{{ mobile | phone('XX') }}"),
        ("location", "{{ site | lookup('sites') }}"),
        ("nmae", "x"),
        ("cf.Since", "{{ now() }}"),
        ("altname", "{{ source[first_name] }}"),
        ("mobile", "{% set a = a | lower %}{{ a }}"),
        ("ice", "{% include 'x' %}"),
        ("employee_id", "{{ self }}"),
        ("roletype", "{% if a is evn %}{% endif %}"),
    ]);
    options.key = "{{ source }}".to_owned();
    let said: Vec<String> = Mapping::compile(&options).unwrap_err().iter().map(ToString::to_string).collect();
    for expected in [
        "`key`, column 4 of the template: `source` takes a column's name in quotes: source[\"…\"]",
        "`map.name`, column 17 of the template: there is no filter `lowr`; did you mean `lower`?",
        "`map.title`, column 17 of the template: the format `dd/mm` does not give a whole date",
        "`map.phone`, column 19 of the template: `XX` is no country; it takes two letters of ISO 3166",
        "`map.location`, column 18 of the template: there is no table `sites`; did you mean `site`?; tables are given as `values.sites = { … }`",
        "`map.nmae`: there is no field `nmae`; did you mean `name`?",
        "`map.\"cf.Since\"`, column 4 of the template: there is no function `now`; templates know the row and filters only",
        "`map.altname`, column 4 of the template: `source` takes a column's name in quotes: source[\"…\"]",
        "`map.mobile`, column 12 of the template: `a` is set and used in one place; give it another name",
        "`map.employee_id`, column 4 of the template: `self` is a word of the template language; write source[\"self\"]",
        "`map.roletype`, column 12 of the template: there is no test `evn`; did you mean `even`?",
    ] {
        assert!(said.iter().any(|said| said == expected), "{expected}\n\n{said:#?}");
    }
    assert!(said.iter().any(|said| said.starts_with("`map.email`, line 2, column ")), "{said:#?}");
    assert!(said.iter().any(|said| said.starts_with("`map.ice`, column ")), "{said:#?}");
    assert_eq!(said.len(), 13, "{said:#?}");
}

#[test]
fn fault_86_a_column_that_the_source_lacks_fails_the_source_wherever_it_stands() {
    for (template, missing) in [
        ("{{ nothing }}", Some("column `nothing` is missing")),
        ("{% if false %}{{ nothing }}{% endif %}", Some("column `nothing` is missing")),
        ("{{ status if true else source['Nothing'] }}", Some("column `Nothing` is missing")),
        ("{{ email | default('x') }}", Some("column `email` is missing; there is `E-Mail`")),
        ("{% for c in site %}{{ loop.index }}{{ c }}{% endfor %}", None),
        ("{{ locker }}{{ source['Locker'] }}", None),
    ] {
        let mapping = Mapping::compile(&options(&[("title", template)])).unwrap();
        let error = mapping.bind(&Columns::new(COLUMNS)).err();
        assert_eq!(
            error.map(|error| error.to_string()),
            missing.map(|said| format!("`map.title`: {said}")),
            "{template}"
        );
    }
}

#[test]
fn two_columns_that_fold_to_one_name_are_distinguished() {
    let columns = Columns::new(["Employee No", "Email", "email"]);
    let bind = |template| Mapping::compile(&options(&[("email", template)])).unwrap().bind(&columns).err();
    assert!(bind("{{ email }}").unwrap().reason.contains("source[\"Email\"]"));
    assert_eq!(bind("{{ source['email'] }}{{ Email }}"), None);
}

#[test]
fn a_field_that_is_made_of_one_column_has_its_heading() {
    let columns = Columns::new(["Employee No", "First Name", "Last Name", "E-Mail", "e-mail"]);
    for (template, heading) in [
        ("{{ employee_no }}", Some("Employee No")),
        ("{{ first_name | squeeze | upper }}", Some("First Name")),
        ("{{ source['E-Mail'] | lower }}", Some("E-Mail")),
        ("{% if last_name %}{{ last_name }}{% endif %}", Some("Last Name")),
        ("{{ first_name }} {{ last_name }}", None),
        ("{{ e_mail }}", None),
        ("{{ elsewhere }}", None),
        ("always", None),
    ] {
        let headings = Mapping::compile(&options(&[("email", template)])).unwrap().headings(&columns);
        assert_eq!(headings.get("email").map(String::as_str), heading, "{template}");
    }
}

#[test]
fn in_files_of_changes_a_leaver_without_a_key_is_not_passed_over() {
    let mut cells = CELLS;
    (cells[0], cells[4]) = ("", "Terminated");
    for (names_leavers, is_rejected) in [(false, false), (true, true)] {
        let options = Options { include: Some("{{ status != 'Terminated' }}".into()), names_leavers, ..options(&[]) };
        assert_eq!(matches!(map_cells(&options, &cells), Mapped::Rejected(_)), is_rejected);
    }
}

#[test]
fn law_1_include_comes_before_the_key() {
    let rejected = |key: &str, field: &str, value: Option<&str>, reason: RowDefect| {
        Mapped::Rejected(crate::record::Rejected {
            key: Key::new(key),
            line: Some(7),
            field: Some(field.into()),
            value: value.and_then(|value| CellValue::new([value])),
            reason,
        })
    };
    let record = |key: &str| {
        Mapped::Record(crate::record::Record { key: Key::new(key).unwrap(), fields: crate::record::Values::new() })
    };
    let unknown = || RowDefect::NotInTable { table: "site".into() };
    for (include, no, status, expected) in [
        ("{{ status != 'Terminated' }}", "1", "Active", record("1")),
        ("{{ status != 'Terminated' }}", "1", "Terminated", Mapped::Left(Key::new("1").unwrap())),
        ("{{ status != 'Terminated' }}", " ", "Terminated", Mapped::Dropped),
        ("{{ status != 'Terminated' }}", " ", "Active", rejected("", "key", None, RowDefect::EmptyKey)),
        ("{{ status }}", "1", "true", record("1")),
        ("{{ status }}", "1", "false", Mapped::Left(Key::new("1").unwrap())),
        ("{{ status }}", "1", "", rejected("1", "include", None, RowDefect::NeitherTrueNorFalse)),
        ("{{ status }}", "1", "yes", rejected("1", "include", Some("yes"), RowDefect::NeitherTrueNorFalse)),
        ("{{ status | lookup('site') }}", "1", "x", rejected("1", "include", Some("x"), unknown())),
        ("true", "a\nb", "", rejected("", "key", Some("a\nb"), RowDefect::ControlInKey)),
        ("true", "a\u{1f}b", "", rejected("", "key", Some("a\u{1f}b"), RowDefect::ControlInKey)),
        (
            "true",
            "a\u{fdd1}b",
            "",
            rejected("", "key", Some("a\u{fdd1}b"), "the key holds U+FDD0 or U+FDD1, which are no characters".into()),
        ),
    ] {
        let mut cells = CELLS;
        (cells[0], cells[4]) = (no, status);
        let options = Options { include: Some(include.into()), ..options(&[]) };
        assert_eq!(map_cells(&options, &cells), expected, "{include} {no} {status}");
    }
}

#[test]
fn a_required_field_is_never_empty() {
    let Mapped::Rejected(rejected) = map_cells(&options(&[("name", "{{ locker }}")]), &CELLS) else { panic!("no") };
    assert_eq!((rejected.field.as_deref(), rejected.reason.clone()), (Some("name"), RowDefect::Empty));
    let Mapped::Record(record) = map_cells(&options(&[("title", "{{ locker }}")]), &CELLS) else { panic!("no") };
    assert_eq!(record.fields["title"], Value::Empty, "a field that maps to nothing is there as nothing");
}

#[test]
fn the_digest_covers_what_decides_the_outcome() {
    let digest = |options: &Options| Mapping::compile(options).unwrap().digest();
    let base = options(&[("title", "{{ status }}")]);
    let one = digest(&base);
    assert_eq!(one, digest(&base.clone()));
    let mut tables = base.tables.clone();
    tables.entry("site".into()).or_default().insert("WLG".into(), "Wellington".into());
    for other in [
        Options { key: "{{ e_mail }}".into(), ..base.clone() },
        Options { include: Some(String::new()), ..base.clone() },
        Options { tables, ..base.clone() },
        Options { optional: vec![], ..base.clone() },
        options(&[("title", "{{ site }}")]),
        options(&[("altname", "{{ status }}")]),
    ] {
        assert_ne!(digest(&other), one, "{other:?}");
    }
}

#[test]
fn what_is_wanted_is_what_templates_name() {
    let mapping = Mapping::compile(&options(&[
        ("title", "{{ source['E-Mail'] }} {{ locker }}"),
        ("name", "{% for part in last_name | split(' ') %}{{ part }}{% endfor %}"),
    ]))
    .unwrap();
    let wanted: Vec<(String, bool)> =
        mapping.wanted().needs.iter().map(|need| (need.name.to_string(), need.optional)).collect();
    let expected = [("employee_no", false), ("last_name", false), ("locker", true), ("source[\"E-Mail\"]", false)];
    assert_eq!(wanted, expected.map(|(name, optional)| (name.to_owned(), optional)));
}
