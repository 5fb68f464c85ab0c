//! The servers and gates of the test harness work as the cluster tests assume: databases are empty and
//! belong to one test, a killed server keeps what it committed, nothing is left behind.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::harness::{
    self, Gate, PrivatePostgres, PrivateRedis, database, execute, redis_database, rows,
};
use deadpool_redis::redis::{Client, Connection, cmd};

#[test]
fn each_test_has_a_postgres_database_of_its_own_and_leaves_none() {
    let (first, second) = (database(), database());
    execute(first.url(), "CREATE TABLE mark (id int)");
    execute(second.url(), "CREATE TABLE mark (id int)");
    let server = first.url().rsplit_once('/').unwrap().0.to_owned() + "/postgres";
    let name = first.url().rsplit('/').next().unwrap().to_owned();
    let count = || -> i64 {
        let sql = format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'");
        rows(&server, &sql)[0].get(0)
    };
    assert_eq!(count(), 1);
    drop(first);
    assert_eq!(count(), 0);
}

#[test]
fn a_killed_postgres_keeps_what_it_committed() {
    let mut server = PrivatePostgres::start();
    server.execute("CREATE TABLE mark (id int); INSERT INTO mark VALUES (7)");
    server.kill9();
    server.restart();
    assert_eq!(server.rows("SELECT id FROM mark")[0].get::<_, i32>(0), 7);
    server.stop();
    server.restart();
    assert_eq!(server.rows("SELECT id FROM mark").len(), 1);
    let fsync: String = server.rows("SHOW fsync")[0].get(0);
    assert_eq!(fsync, "on");
}

fn get(connection: &mut Connection, key: &str) -> Option<String> {
    cmd("GET").arg(key).query(connection).unwrap()
}

fn set(connection: &mut Connection, key: &str) {
    cmd("SET")
        .arg(key)
        .arg("x")
        .query::<()>(connection)
        .unwrap();
}

fn connect(url: &str) -> Connection {
    Client::open(url).unwrap().get_connection().unwrap()
}

#[test]
fn each_test_has_a_redis_database_of_its_own() {
    let (first, second) = (redis_database(), redis_database());
    set(&mut connect(&first.url()), "mark");
    assert_eq!(get(&mut connect(&second.url()), "mark"), None);
    assert_ne!(first.url(), second.url());
}

#[test]
fn redis_forgets_when_it_is_killed_or_flushed_and_waits_while_paused() {
    let mut server = PrivateRedis::start();
    set(&mut connect(&server.url()), "mark");
    server.flush();
    assert_eq!(get(&mut connect(&server.url()), "mark"), None);
    set(&mut connect(&server.url()), "mark");
    server.kill9();
    server.restart();
    let mut connection = connect(&server.url());
    assert_eq!(get(&mut connection, "mark"), None);
    let began = Instant::now();
    server.pause(Duration::from_millis(300));
    assert_eq!(get(&mut connection, "mark"), None);
    assert!(began.elapsed() >= Duration::from_millis(300));
}

#[test]
fn a_gate_that_is_shut_keeps_what_is_sent_until_it_opens() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let gate = Gate::to(listener.local_addr().unwrap());
    let mut client = TcpStream::connect(gate.address()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    gate.shut();
    client.write_all(b"late").unwrap();
    let mut octets = [0; 4];
    server
        .read_exact(&mut octets)
        .expect_err("the gate is shut");
    gate.open();
    server.set_read_timeout(Some(harness::PATIENCE)).unwrap();
    server.read_exact(&mut octets).unwrap();
    assert_eq!((&octets, gate.connections()), (b"late", 1));
    drop(client);
    harness::until("the end of the connection", || {
        (gate.connections() == 0).then_some(())
    });
    assert_eq!(server.read(&mut octets).unwrap(), 0);
    assert_eq!(gate.most_connections(), 1);
}
