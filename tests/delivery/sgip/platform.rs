//! The keys of the Redis SMS platform have the numbers of SGIP: it was built around this protocol.

use deadpool_redis::redis::{Client, cmd};

use super::{NUMBER, keys, listening, local};
use crate::harness::gateway::sgip::SGIP;
use crate::harness::gateway::{FakeGateway, Line};
use crate::harness::{Peer, free_port, redis_database, submit, until};
use smsc::smpp::tag;

#[test]
fn each_part_is_found_by_the_counter_and_the_time_of_its_submit() {
    let database = redis_database();
    let gateway = FakeGateway::listen(SGIP);
    let listens = local(free_port());
    let smsc = listening(listens)
        .toml(&format!(
            "[redis]\nurl = {:?}\n[redis_platform]\nenabled = true\nforwarder = \"platform\"\n",
            database.url()
        ))
        .account("test", "test")
        .route("", "up")
        .operator_with("up", gateway.address(), &keys("", ""))
        .start();
    let mut line = gateway.accept();
    smsc.wait_for_binds("up", 1);
    let mut brings = Line::enter(listens);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut long = submit(NUMBER, "");
    long.tlvs
        .push(tag::MESSAGE_PAYLOAD, "0123456789".repeat(40).as_bytes());
    let id = esme.submit(long);
    let parts = [(); 3].map(|()| line.take().0);
    let mut redis = Client::open(database.url())
        .unwrap()
        .get_connection()
        .unwrap();
    let mut get = |key: &str| -> Option<String> { cmd("GET").arg(key).query(&mut redis).unwrap() };
    let mut are_there = || {
        for part in parts {
            let key = format!("Submit:{}:{}", part.counter, part.time);
            let found = until(&key, || get(&key));
            assert_eq!(found, id, "{key}");
        }
        let last = parts[2];
        assert_eq!(
            get(&format!("MT-seqno:{id}")),
            Some(last.counter.to_string())
        );
        assert_eq!(get(&format!("MT-ts:{id}")), Some(last.time.to_string()));
    };
    are_there();
    for part in parts {
        brings.report(part, NUMBER, 0, 0);
        assert_eq!(brings.taken(), 0);
    }
    smsc.wait_for_final(&id);
    are_there();
    smsc.assert_no_panic();
}
