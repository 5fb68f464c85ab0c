//! The network of these tests, tried by a service centre made with pycrate: what it shows without any SMSC.

use serde_json::json;

use crate::harness::map::{CENTRE_POINT_CODE, MapNetwork, MapReading, NETWORK_POINT_CODE, Stp};
use crate::harness::{Client, python_script};

#[test]
fn the_network_answers_a_service_centre_that_nobody_here_wrote() {
    let stps = [Stp::start(), Stp::start()];
    let addresses = stps.each_ref().map(Stp::m3ua);
    let network = MapNetwork::start(&addresses);
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("centre.txt");
    let (orders, gateways) = (
        network.orders().to_string(),
        addresses.map(|one| one.to_string()),
    );
    let done = Client::run(python_script(
        "map_centre.py",
        &[
            "--stp",
            &gateways[0],
            "--stp",
            &gateways[1],
            "--point-code",
            CENTRE_POINT_CODE,
            "--network",
            NETWORK_POINT_CODE,
            "--orders",
            &orders,
            "--trace",
            trace.to_str().unwrap(),
        ],
    ));
    assert_eq!(done["event"], "done", "{done}");
    network.assert_content();
    assert!(network.traffic().iter().all(|received| *received > 5));
    for file in [&trace, network.trace()] {
        MapReading::of_trace(file).assert_well_formed(&["Hello"]);
    }

    // A begin that is none any more is noticed.
    let text = std::fs::read_to_string(&trace).unwrap();
    let at = text.find(" 62 ").expect("a begin");
    let broken = format!("{} 7f {}", &text[..at], &text[at + 4..]);
    let file = folder.path().join("broken.txt");
    std::fs::write(&file, broken).unwrap();
    assert_eq!(MapReading::of_trace(&file).unread(), 1);
}
