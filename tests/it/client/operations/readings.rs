//! What can only be read: custom questions and notifications.

use rosterd::api::{Api, Notification, Query, Question};

use super::bench::Bench;
use crate::support::caller::id;

pub(super) async fn calls(bench: &mut Bench) {
    let questions = Api::<Question>::root();
    let since = "2020-01-01T00:00:00Z".parse().unwrap();
    let query = Query::default().ascending("id").limit(2).page(2).since(since);
    let row = "custom-questionnaire.question.list GET /custom-questionnaire/question?order=id&limit=2&page=2&time_zone=UTC 200";
    let list = bench.row(row, questions.list(&query)).await;
    assert_eq!(list.iter().map(|question| question.id).collect::<Vec<_>>(), [id(5003)]);
    let row = "custom-questionnaire.question.get GET /custom-questionnaire/question/5002?time_zone=UTC 200";
    let one = bench.row(row, questions.get(id(5002))).await.unwrap();
    let fields = ["question", "type", "compulsory", "order", "version", "parent_id", "settings_options"];
    bench.shows(&one, "custom-questionnaire.question", 5002, &fields);

    let notifications = Api::<Notification>::root();
    let row = "notification.list GET /notification?time_zone=UTC 200";
    assert_eq!(bench.row(row, notifications.list(&Query::default())).await.len(), bench.count("notification"));
    let row = "notification.get GET /notification/90002?time_zone=UTC 200";
    let one = bench.row(row, notifications.get(id(90_002))).await.unwrap();
    bench.shows(&one, "notification", 90_002, &["method", "type", "recipient", "messageid", "to_staff_id", "status"]);
    assert!(one.to_staff_name.is_some());
}
