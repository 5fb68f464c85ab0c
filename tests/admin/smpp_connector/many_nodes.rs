//! Several nodes in the place of several replicas: one has the session, the others are ready to take it over.

use std::sync::{Arc, Mutex};

use super::{OPERATOR, address, bind_of};
use crate::harness::{Admin, Cluster, FakeOperator, Management, until, within};

const NODES: usize = 3;

#[test]
fn one_of_three_nodes_has_the_session_and_another_one_takes_it_over() {
    let operator = FakeOperator::listen();
    let management = Management::start();
    management.set(OPERATOR, operator.address(), "first");
    let (url, faces) = (management.url(), Arc::new(Mutex::new(Vec::new())));
    let for_nodes = Arc::clone(&faces);
    let mut cluster = Cluster::of(NODES)
        .usual_lease()
        .each(move |smsc| {
            let face = address();
            for_nodes.lock().unwrap().push(face);
            smsc.toml(&format!(
                "[compat.smpp_connector]\nlisten = \"{face}\"\nmanagement_url = {url:?}\n\
                 operators = [{OPERATOR:?}]\n"
            ))
        })
        .start();
    let faces: Vec<Admin> = faces
        .lock()
        .unwrap()
        .iter()
        .map(|face| Admin::new(*face, ""))
        .collect();
    let (_bind, _) = bind_of(&operator);
    let bound = |among: &[usize]| {
        let is_bound = |node: &usize| {
            let sessions = faces[*node].try_get("/sessions").ok()?;
            (sessions["sessions"][0]["state"] == "BOUND").then_some(*node)
        };
        let bound: Vec<usize> = among.iter().filter_map(is_bound).collect();
        (bound.len() == 1).then(|| bound[0])
    };
    let all: Vec<usize> = (0..NODES).collect();
    let first = until("one session", || bound(&all));
    for face in &faces {
        until("every node to be ready", || {
            (face.text("/ready").ok()?.0 == 200).then_some(())
        });
    }
    management.set(OPERATOR, operator.address(), "second");
    cluster.nodes[first].kill();
    let (_bind, password) = bind_of(&operator);
    assert_eq!(password, "second", "it is asked for again");
    let others: Vec<usize> = all.into_iter().filter(|node| *node != first).collect();
    let second = within(crate::harness::PATIENCE, || bound(&others));
    assert!(second.is_some(), "no other node has the session");
}
