//! Ids of the platform: those of its counter, which every program of it draws from.

use serde_json::{Value, json};

use super::{ask, connect, finished, list, without_receipt};
use crate::harness::{
    Client, Peer, PrivateRedis, Smsc, SmscBuilder, database, migrate, python_script,
    redis_database, until,
};

const TO: &str = "447700900123";
/// Where builds without aliases raise the counter to.
const RAISED: &str = "4611686018427387904";

/// Redis may take as long as can be configured: without an answer in time, on a busy machine, there would be other ids.
fn with_aliases(redis: &str, more: &str) -> SmscBuilder {
    let platform = "enabled = true\naliases = true";
    Smsc::new()
        .with_api_and("xml_rpc = true")
        .account("test", "test")
        .route("", "test:delivered")
        .toml(&format!(
            "{more}\n[redis]\nurl = {redis:?}\ntimeout = \"1s\"\n[redis_platform]\n{platform}\naccount = \"test\"\n"
        ))
}

/// A business system that speaks XML-RPC.
struct Business<'s> {
    smsc: &'s Smsc,
    key: String,
}

impl Business<'_> {
    fn of(smsc: &Smsc) -> Business<'_> {
        let key = smsc.api_of("test", "both").token().to_owned();
        Business { smsc, key }
    }

    fn call(&self, method: &str, params: Value) -> Value {
        let url = format!("http://{}/RPC2", self.smsc.api_address());
        let params = params.to_string();
        let arguments = [&url, &self.key[..], "call", method, &params];
        Client::run(python_script("xml_rpc_client.py", &arguments))
    }

    fn send(&self, order: Value) -> String {
        let said = self.call("sms.send", json!([order]));
        let id = said["result"]["id"].as_str();
        id.unwrap_or_else(|| panic!("{said}")).to_owned()
    }

    fn state(&self, id: &str) -> String {
        let said = self.call("sms.status", json!([id]));
        assert_eq!(said["result"]["id"], id, "{said}");
        said["result"]["state"].as_str().unwrap().to_owned()
    }
}

fn order(text: &str) -> Value {
    json!({ "user_numbers": TO, "sp_number": "12345", "content": text })
}

/// The counter stands at 41.
fn ids_are_those_of_the_counter(more: &str) {
    let redis = redis_database();
    let mut connection = connect(&redis.url());
    let _: String = ask(&mut connection, &["SET", "MT-gid", "41"]);
    let smsc = with_aliases(&redis.url(), more).start();
    let business = Business::of(&smsc);
    assert_eq!(business.send(order("hello")), "42");
    assert_eq!(finished(&mut connection, 1), ["42"]);
    assert_eq!(business.state("42"), "DELIVERED");
    let mut field =
        |key: &str, name: &str| -> Option<String> { ask(&mut connection, &["HGET", key, name]) };
    assert_eq!(field("MT:42", "text").as_deref(), Some("hello"));
    assert_eq!(field("MT:42", "state").as_deref(), Some("DELIVERED"));

    // A message that came otherwise gets the next one when it is mirrored.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let own = esme.submit(without_receipt());
    assert_eq!(finished(&mut connection, 2), ["43", "42"]);
    assert!(own.len() > 16, "{own}");

    // The same call twice is one message, and says so.
    let mut again = order("only once");
    again["idempotency_key"] = "k1".into();
    let (first, second) = (business.send(again.clone()), business.send(again));
    assert_eq!((&first[..], &second[..]), ("44", "44"));

    let mut later = order("later");
    later["schedule_time"] = "000000020000000R".into();
    let waits = business.send(later);
    let done = business.call("sms.cancel", json!([waits]));
    assert_eq!(done["result"], json!({ "id": waits, "done": true }));
    assert_eq!(business.state(&waits), "DELETED");
    let nobody = business.call("sms.status", json!(["4711"]));
    assert_eq!(nobody["fault"][0], 404, "{nobody}");

    // What a program puts into a list is known by its id, too.
    let _: i64 = ask(
        &mut connection,
        &["HSET", "MT:7", "to", TO, "text", "of a list"],
    );
    let _: i64 = ask(&mut connection, &["LPUSH", "list:Pending-1", "7"]);
    until("the message of the list", || {
        let ids = list(&mut connection, "list:Finish");
        ids.contains(&"7".to_owned()).then_some(())
    });
    assert_eq!(business.state("7"), "DELIVERED");
    let counter: String = ask(&mut connection, &["GET", "MT-gid"]);
    assert!(counter.parse::<u64>().unwrap() < 60, "it is at {counter}");
    assert!(!smsc.log().contains("MT-gid is as high"), "{}", smsc.log());
    smsc.assert_no_panic();
}

#[test]
fn ids_are_those_of_the_counter_which_is_never_raised() {
    ids_are_those_of_the_counter("");
}

#[test]
fn ids_are_those_of_the_counter_with_postgresql() {
    let database = database();
    migrate(database.url());
    ids_are_those_of_the_counter(&format!("[postgres]\nurl = {:?}", database.url()));
}

/// The id of a message does not change when its event comes again after the pump has removed its keys.
#[test]
fn an_event_that_comes_again_makes_no_id_and_no_keys() {
    let redis = redis_database();
    let mut connection = connect(&redis.url());
    let mut smsc = with_aliases(&redis.url(), "").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let own = esme.submit(without_receipt());
    assert_eq!(finished(&mut connection, 1), ["1"]);
    smsc.terminate();
    let _: Option<String> = ask(&mut connection, &["RPOP", "list:Finish"]);
    let _: i64 = ask(
        &mut connection,
        &["DEL", "MT:1", "MT-seqno:1", "MT-ts:1", "Report:1"],
    );
    let store = rusqlite::Connection::open(smsc.data_dir().join("smsc.db")).unwrap();
    let octets = own.parse::<u64>().unwrap().to_be_bytes();
    let again = "INSERT INTO outbox(reader, kind, at, ids) VALUES(9, 1, 1, ?1)";
    store.execute(again, [octets.as_slice()]).unwrap();
    drop(store);
    smsc.start_again();
    let read = "smsc_outbox_read_total{reader=\"redis_platform\"}";
    until("the event to be read again", || {
        (smsc.admin().metric(read) == Some(1.0)).then_some(())
    });
    assert_eq!(list(&mut connection, "list:Finish"), Vec::<String>::new());
    let there: i64 = ask(&mut connection, &["EXISTS", "MT:1", "MT:2", "Report:1"]);
    assert_eq!(there, 0);
    let counter: String = ask(&mut connection, &["GET", "MT-gid"]);
    assert_eq!(counter, "1");
}

#[test]
fn without_redis_answers_over_xml_rpc_have_our_ids() {
    let mut redis = PrivateRedis::start();
    let smsc = with_aliases(&redis.url(), "").start();
    let business = Business::of(&smsc);
    until("Redis to be connected", || {
        smsc.log().contains("Redis is connected").then_some(())
    });
    let known = business.send(order("hello"));
    assert_eq!(known, "1");
    redis.kill9();
    let own = business.send(order("without Redis"));
    assert!(own.len() > 16, "{own}");
    smsc.wait_for_final(&own);
    assert_eq!(business.state(&own), "DELIVERED");
    let said = business.call("sms.status", json!([known]));
    assert_eq!(said["fault"][0], 503, "{said}");
}

#[test]
fn a_counter_that_was_raised_is_said_with_the_cure() {
    let redis = redis_database();
    let mut connection = connect(&redis.url());
    let _: String = ask(&mut connection, &["SET", "MT-gid", RAISED]);
    let smsc = with_aliases(&redis.url(), "").start();
    until("the counter to be said", || {
        smsc.log()
            .contains("SET MT-gid to the highest id")
            .then_some(())
    });
    let business = Business::of(&smsc);
    // It works none the less, in Lua as well, which has no integers of this size.
    assert_eq!(business.send(order("hello")), "4611686018427387905");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(without_receipt());
    let ids = finished(&mut connection, 2);
    assert_eq!(ids, ["4611686018427387906", "4611686018427387905"]);
}
