//! A text that is sent as several messages, or put together of several, is one message to whoever reads of it: one `sent`
//! event, when all of it was sent, one delivery report, and one end in the timeline of its account.

use crate::harness::{
    Admin, Login, PrivateNats, Scene, SmscBuilder, accept, answer, database, migrate, next_submit,
    submit, until,
};
use serde_json::{Value, json};
use smsc::smpp::{CommandStatus, SubmitSm, tag};

const TEXT: &str = "a long text that needs more than one message ";

fn sinks(nats: &PrivateNats) -> String {
    let sink = |name: &str, keys: &str| {
        format!(
            "[[event_sink]]\nname = '{name}'\nservers = ['{}']\ntimeout = '1s'\n{keys}\n",
            nats.url()
        )
    };
    let all = sink(
        "all",
        "events = ['accepted', 'sent', 'ended']\nsubject = 'sms.all'",
    );
    all + &sink("dlr", "events = ['dlr']\nsubject = 'dlr.inbound'")
}

/// What was published on a subject.
fn told(nats: &PrivateNats, subject: &str) -> Vec<Value> {
    let all = nats.published().into_iter();
    all.filter(|one| one.subject == subject)
        .map(|one| serde_json::from_slice(&one.body).unwrap())
        .collect()
}

fn names(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect()
}

/// Submits a text of three parts by HTTP; returns its id.
fn submit_long(api: &Admin) -> String {
    let order = json!({"to": "447700900123", "from": "12345", "text": TEXT.repeat(8)});
    let (status, said) = api.call("POST", "/v1/messages", Some(&order));
    assert_eq!(status, 202, "{said}");
    said["messages"][0]["id"].as_str().unwrap().to_owned()
}

fn steps(api: &Admin, id: &str) -> Vec<String> {
    let message = api.get(&format!("/v1/messages/{id}"));
    let timeline = message["timeline"].as_array().unwrap().iter();
    timeline
        .map(|step| step["what"].as_str().unwrap().to_owned())
        .collect()
}

fn one_report_of_the_whole(more: impl FnOnce(SmscBuilder) -> SmscBuilder) {
    let nats = PrivateNats::of(&["sms.>", "dlr.>"], Login::Nobody);
    let section = sinks(&nats);
    let mut scene = Scene::with(
        "long_messages = \"udh\"\nretry.delays = [\"50ms\"]",
        |smsc| more(smsc.with_api().toml(&section)),
    );
    let api = scene.smsc.api_of("test", "both");
    let id = submit_long(&api);
    assert_eq!(steps(&api, &id), ["accepted"], "nothing is sent yet");
    // All three are here before one is refused, which comes again soon and would be taken for another one.
    let [first, second, third] = [(); 3].map(|()| next_submit(&mut scene.bind).0);
    accept(&mut scene.bind, first, "p1");
    answer(&mut scene.bind, second, CommandStatus::ESME_RSYSERR, "");
    accept(&mut scene.bind, third, "p3");
    until("the first failure to be known", || {
        (steps(&api, &id) == ["accepted", "not sent"]).then_some(())
    });
    until("it to be told that it is accepted", || {
        (!told(&nats, "sms.all").is_empty()).then_some(())
    });
    assert_eq!(names(&told(&nats, "sms.all")), ["accepted"]);
    scene.take("p2");
    until("all of it to be sent", || {
        (steps(&api, &id) == ["accepted", "not sent", "sent"]).then_some(())
    });
    let all = until("it to be told", || {
        let all = told(&nats, "sms.all");
        (all.len() > 1).then_some(all)
    });
    assert_eq!(names(&all), ["accepted", "sent"]);
    assert_eq!(all[1]["id"], *id);
    assert_eq!(all[1]["operator"], "operator:up");
    assert_eq!(all[1]["operator_message_ids"], json!(["p1", "p2", "p3"]));
    for theirs in ["p1", "p2", "p3"] {
        assert_eq!(told(&nats, "dlr.inbound").len(), 0);
        scene.report(theirs, "DELIVRD");
    }
    let dlr = until("a delivery report", || told(&nats, "dlr.inbound").pop());
    assert_eq!(dlr["messageId"], *id);
    assert_eq!(dlr["status"], "DELIVERED");
    assert_eq!(dlr["operatorId"], "up");
    assert_eq!(dlr["operatorMessageId"], "p3");
    assert_eq!(dlr["operatorMessageIds"], json!(["p1", "p2", "p3"]));
    let all = until("its end to be told", || {
        let all = told(&nats, "sms.all");
        (all.len() > 2).then_some(all)
    });
    assert_eq!(names(&all), ["accepted", "sent", "ended"]);
    assert_eq!(told(&nats, "dlr.inbound").len(), 1);
    assert_eq!(
        steps(&api, &id),
        ["accepted", "not sent", "sent", "delivered"]
    );
    let of = |record: &&Value| record["id"] == *id;
    let count = until("its record", || {
        let count = scene.smsc.records().iter().filter(of).count();
        (count > 0).then_some(count)
    });
    assert_eq!(count, 1);
}

#[test]
fn a_divided_text_has_one_report_and_is_sent_when_all_of_it_is() {
    one_report_of_the_whole(|smsc| smsc);
}

#[test]
fn a_divided_text_has_one_report_and_is_sent_when_all_of_it_is_in_postgresql() {
    let database = database();
    migrate(database.url());
    let url = database.url().to_owned();
    one_report_of_the_whole(|smsc| smsc.toml(&format!("[postgres]\nurl = {url:?}")));
}

#[test]
fn submitted_parts_that_were_put_together_have_a_report_each() {
    let nats = PrivateNats::of(&["sms.>", "dlr.>"], Login::Nobody);
    let section = sinks(&nats);
    let mut scene = Scene::with("long_messages = \"payload\"", |smsc| smsc.toml(&section));
    let ids: Vec<String> = [1, 2]
        .map(|number| {
            let mut part = SubmitSm {
                ..submit("447700900123", "half of it ")
            };
            part.tlvs.push(tag::SAR_MSG_REF_NUM, &[0, 9]);
            part.tlvs.push(tag::SAR_TOTAL_SEGMENTS, &[2]);
            part.tlvs.push(tag::SAR_SEGMENT_SEQNUM, &[number]);
            scene.esme.submit(part)
        })
        .into();
    scene.take("whole");
    scene.report("whole", "DELIVRD");
    let reports = until("both reports", || {
        let all = told(&nats, "dlr.inbound");
        (all.len() >= 2).then_some(all)
    });
    let mut of: Vec<&str> = reports
        .iter()
        .map(|dlr| dlr["messageId"].as_str().unwrap())
        .collect();
    of.sort_unstable();
    assert_eq!(of, ids);
    for dlr in &reports {
        assert_eq!(dlr["operatorMessageId"], "whole");
        assert_eq!(dlr["status"], "DELIVERED");
    }
    let all = until("their ends to be told", || {
        let all = told(&nats, "sms.all");
        (all.iter().filter(|event| event["event"] == "ended").count() == 2).then_some(all)
    });
    for id in &ids {
        let of: Vec<Value> = all
            .iter()
            .filter(|event| event["id"] == **id)
            .cloned()
            .collect();
        assert_eq!(names(&of), ["accepted", "sent", "ended"]);
    }
}
