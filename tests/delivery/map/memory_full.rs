//! A handset without memory: the HLR is told, and says when it has some.

use serde_json::json;

use super::{DELIVERED, MapTown, NEVER, numbered, until_scheduled};
use crate::harness::{stat_of, submit};

#[test]
fn a_full_handset_gets_its_messages_when_it_has_memory_again() {
    for version in [3, 2, 1] {
        let town = MapTown::start(NEVER, "");
        town.network
            .node(crate::harness::map::MSC, json!({ "version": version }));
        let (number, imsi) = town
            .network
            .subscriber(1, json!({ "forward": ["memory_full"] }));
        let mut esme = town.esme();
        let ids: Vec<String> = (numbered(5).iter())
            .map(|text| esme.submit(submit(&number, text)))
            .collect();
        until_scheduled(&town.smsc, 5);
        town.until_tried(&ids[0], "MAP_MEMORY_CAPACITY_EXCEEDED");
        let came = town.network.messages(Some(&imsi));
        assert_eq!((came.len(), came[0].version), (1, version));
        town.network
            .wait_for_report(&number, "memoryCapacityExceeded");
        assert_eq!(town.network.release(&number).len(), 1);
        town.network.wait_for(&imsi, 5);
        assert_eq!(town.network.texts(&imsi), numbered(5));
        let told: Vec<u32> = (0..5).map(|_| stat_of(&esme.deliver()).1).collect();
        assert_eq!(told, [DELIVERED; 5]);
        town.assert_content(&["number 0", "number 4"]);
    }
}
