//! Certifications, the qualifications that mirror them, and the holders of both and of inductions.

use rosterd::api::{
    Api, Certification, CertificationHolder, CertificationInput, Deleted, Document, HolderInput, Induction,
    InductionHolder, InductionHolderCreate, InductionHolderInput, Qualification, QualificationHolder,
    QualificationHolderInput, QualificationInput, Query,
};
use serde_json::{Value, json};

use super::bench::Bench;
use crate::support::caller::id;

pub(super) async fn calls(bench: &mut Bench) {
    certifications(bench).await;
    holders(bench).await;
    qualifications(bench).await;
    qualification_holders(bench).await;
    inductions(bench).await;
}

/// What an answer shows of a certification and of a qualification.
const FIELDS: [&str; 5] = ["name", "category", "description", "status", "created"];

async fn certifications(bench: &mut Bench) {
    let certifications = Api::<Certification>::root();
    let row = "certification.list GET /certification?time_zone=UTC 200";
    let list = bench.row(row, certifications.list(&Query::default())).await;
    assert_eq!(list.len(), bench.count("certification"));
    let row = "certification.get GET /certification/802?time_zone=UTC 200";
    let one = bench.row(row, certifications.get(id(802))).await.unwrap();
    bench.shows(&one, "certification", 802, &FIELDS);
    bench.shows(&one, "certification", 802, &["certification_type_id", "staff_audience"]);
    assert!(one.holders.unwrap() > 0);

    let mut input = CertificationInput {
        name: Some("Řízení".into()),
        category: Some("internal".into()),
        certification_type_id: Some(4),
        ..CertificationInput::default()
    };
    let made = bench.row("certification.create POST /certification 200", certifications.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    let expected = json!({"name": "Řízení", "category": "internal", "certification_type_id": 4, "description": null});
    bench.holds("certification", number, &expected);
    input.description = Some("Two days".into());
    let call = certifications.replace(made.id, &input);
    let changed = bench.row(&format!("certification.update PUT /certification/{number} 200"), call).await.unwrap();
    assert_eq!((changed.description.as_deref(), changed.holders), (Some("Two days"), Some(0)));
    bench.holds("certification", number, &json!({"name": "Řízení", "description": "Two days"}));
    let row = format!("certification.delete DELETE /certification/{number} 204");
    assert_eq!(bench.row(&row, certifications.delete(made.id)).await, Deleted::Now);
    assert_eq!(bench.stored("certification", number), Value::Null);
}

async fn holders(bench: &mut Bench) {
    let holders = Api::<Certification>::root().below::<CertificationHolder>(id(801));
    let row = "certification.holder.list GET /certification/801/holder?time_zone=UTC 200";
    let list = bench.row(row, holders.list(&Query::default())).await;
    assert!(!list.is_empty() && list.iter().all(|holder| holder.certification_id == Some(801)));
    let row = "certification.holder.get GET /certification/801/holder/8001?time_zone=UTC 200";
    let one = bench.row(row, holders.get(id(8001))).await.unwrap();
    let fields = ["record_id", "record_type", "validfrom", "validto", "certification_number", "certification_id"];
    bench.shows(&one, "certification.holder", 8001, &fields);
    assert_eq!(json!(one.holder_name), bench.stored("sp.member", one.record_id.unwrap())["name"]);
    assert_eq!(json!(one.certification_name), bench.stored("certification", 801)["name"]);

    let mut input = HolderInput {
        record_id: Some(1006),
        record_type: Some("staff".into()),
        validfrom: Some("2026-03-01".into()),
        ..HolderInput::default()
    };
    let call = holders.create(&input);
    let made = bench.row("certification.holder.create POST /certification/801/holder 201", call).await.unwrap();
    let number = i64::from(made.id.get());
    assert_eq!(json!(made.holder_email), bench.stored("staff", 1006)["email"]);
    let expected = json!({
        "certification_id": 801, "record_id": 1006, "record_type": "staff", "validfrom": "2026-03-01", "validto": null,
    });
    bench.holds("certification.holder", number, &expected);
    input.validto = Some("2028-03-01".into());
    let row = format!("certification.holder.update PUT /certification/801/holder/{number} 200");
    let changed = bench.row(&row, holders.replace(made.id, &input)).await.unwrap();
    assert_eq!(changed.validto.as_deref(), Some("2028-03-01"));
    bench.holds("certification.holder", number, &json!({"validto": "2028-03-01", "certification_id": 801}));
    let row = format!("certification.holder.delete DELETE /certification/801/holder/{number} 204");
    assert_eq!(bench.row(&row, holders.delete(made.id)).await, Deleted::Now);
    assert_eq!(bench.stored("certification.holder", number), Value::Null);
}

async fn qualifications(bench: &mut Bench) {
    let qualifications = Api::<Qualification>::root();
    let row = "qualification.list GET /qualification?time_zone=UTC 200";
    assert_eq!(bench.row(row, qualifications.list(&Query::default())).await.len(), bench.count("certification"));
    let row = "qualification.get GET /qualification/803?time_zone=UTC 200";
    let one = bench.row(row, qualifications.get(id(803))).await.unwrap();
    bench.shows(&one, "certification", 803, &FIELDS);
    assert!(one.extra.is_empty(), "a qualification has nine fields (specification, Certification)");

    let mut input = QualificationInput {
        name: Some("Old style".into()),
        certification_type_id: Some(2),
        ..QualificationInput::default()
    };
    let made = bench.row("qualification.create POST /qualification 201", qualifications.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    bench.holds("certification", number, &json!({"name": "Old style", "certification_type_id": 2, "category": null}));
    input.category = Some("external".into());
    let row = format!("qualification.update PUT /qualification/{number} 200");
    let changed = bench.row(&row, qualifications.replace(made.id, &input)).await.unwrap();
    assert_eq!(changed.category.as_deref(), Some("external"));
    assert_eq!(changed.extra["certification_type_id"], 2, "its update answers with the shape of a certification");
    bench.holds("certification", number, &json!({"category": "external", "name": "Old style"}));
    let row = format!("qualification.delete DELETE /qualification/{number} 204");
    assert_eq!(bench.row(&row, qualifications.delete(made.id)).await, Deleted::Now);
    assert_eq!(bench.stored("certification", number), Value::Null);
}

async fn qualification_holders(bench: &mut Bench) {
    let holders = Api::<Qualification>::root().below::<QualificationHolder>(id(802));
    let row = "qualification.holder.list GET /qualification/802/holder?time_zone=UTC 200";
    let list = bench.row(row, holders.list(&Query::default())).await;
    assert!(!list.is_empty() && list.iter().all(|holder| holder.certification_id == Some(802)));
    let row = "qualification.holder.get GET /qualification/802/holder/8002?time_zone=UTC 200";
    let one = bench.row(row, holders.get(id(8002))).await.unwrap();
    bench.shows(&one, "certification.holder", 8002, &["record_id", "record_type", "validfrom", "certification_number"]);

    let mut input = QualificationHolderInput {
        record_id: Some(2004),
        record_type: Some("sp".into()),
        certification_number: Some("Q-1".into()),
        ..QualificationHolderInput::default()
    };
    let call = holders.create(&input);
    let made = bench.row("qualification.holder.create POST /qualification/802/holder 201", call).await.unwrap();
    let number = i64::from(made.id.get());
    let expected =
        json!({"certification_id": 802, "record_id": 2004, "record_type": "sp", "certification_number": "Q-1"});
    bench.holds("certification.holder", number, &expected);
    input.certification_number = None;
    let row = format!("qualification.holder.update PUT /qualification/802/holder/{number} 200");
    let changed = bench.row(&row, holders.replace(made.id, &input)).await.unwrap();
    assert_eq!((changed.certification_number, changed.record_id), (None, Some(2004)));
    bench.holds("certification.holder", number, &json!({"certification_number": null, "record_id": 2004}));
    let row = format!("qualification.holder.delete DELETE /qualification/802/holder/{number} 204");
    assert_eq!(bench.row(&row, holders.delete(made.id)).await, Deleted::Now);

    let document = bench.sandbox.all("certification.holder.document")[0].clone();
    let holder = bench.stored("certification.holder", document["holder_id"].as_i64().unwrap());
    let [certification, holder] = [&holder["certification_id"], &holder["id"]].map(|number| number.as_i64().unwrap());
    let documents = Api::<Qualification>::root()
        .below::<QualificationHolder>(id(certification))
        .below::<Document>(id(holder))
        .list(&Query::default());
    let row = format!(
        "qualification.holder.document.list GET /qualification/{certification}/holder/{holder}/document?time_zone=UTC 200"
    );
    let list = bench.row(&row, documents).await;
    let number = document["id"].as_i64().unwrap();
    bench.shows(&list[0], "certification.holder.document", number, &["name", "type", "size", "modified"]);
}

async fn inductions(bench: &mut Bench) {
    let holders = Api::<Induction>::root().below::<InductionHolder>(id(901));
    let row = "induction.holder.list GET /induction/901/holder?time_zone=UTC 200";
    assert_eq!(bench.row(row, holders.list(&Query::default())).await.len(), bench.count("induction.holder"));
    let row = "induction.holder.get GET /induction/901/holder/9002?time_zone=UTC 200";
    let one = bench.row(row, holders.get(id(9002))).await.unwrap();
    let fields = ["completed", "sp_member_id", "status", "attempts", "attempts_left", "renew"];
    bench.shows(&one, "induction.holder", 9002, &fields);
    assert_eq!(json!(one.learner_name), bench.stored("sp.member", one.sp_member_id.unwrap())["name"]);

    let input = InductionHolderCreate { staff_id: Some(1007), ..InductionHolderCreate::default() };
    let made =
        bench.row("induction.holder.create POST /induction/901/holder 201", holders.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    bench.holds("induction.holder", number, &json!({"staff_id": 1007, "sp_member_id": null, "induction_id": 901}));
    let count = bench.count("induction.holder");
    let completed = Some("2026-05-06T07:08:09+00:00".to_owned());
    let input = InductionHolderCreate { completed: completed.clone(), ..input };
    let again =
        bench.row("induction.holder.create POST /induction/901/holder 201", holders.create(&input)).await.unwrap();
    assert_eq!((again.id, bench.count("induction.holder")), (made.id, count), "an association is updated, not doubled");
    bench.holds("induction.holder", number, &json!({"staff_id": 1007, "completed": completed}));

    let input = InductionHolderInput {
        staff_id: Some(1007),
        completed: Some("2026-05-07T00:00:00+00:00".into()),
        ..InductionHolderInput::default()
    };
    let row = format!("induction.holder.update PUT /induction/901/holder/{number} 200");
    let changed = bench.row(&row, holders.replace(made.id, &input)).await.unwrap();
    assert_eq!((changed.staff_id, changed.completed.as_deref()), (Some(1007), Some("2026-05-07T00:00:00+00:00")));
    bench.holds("induction.holder", number, &json!({"staff_id": 1007, "completed": "2026-05-07T00:00:00+00:00"}));
    let row = format!("induction.holder.delete DELETE /induction/901/holder/{number} 204");
    assert_eq!(bench.row(&row, holders.delete(made.id)).await, Deleted::Now);
    assert_eq!(bench.stored("induction.holder", number), Value::Null);
}
