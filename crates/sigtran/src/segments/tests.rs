//! Messages that are divided into segments.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::address::ssn;
use crate::address::tests::any_address;
use crate::global_title::GlobalTitle;
use crate::point_code::PointCode;
use crate::reassembly::{Reassemblies, ReassemblyKey};

fn request(octets: usize) -> UnitdataRequest {
    let party = |digits, ssn| SccpAddress::of_title(GlobalTitle::international(digits, 0), ssn);
    UnitdataRequest {
        called: party("491701234567", ssn::HLR),
        calling: party("491700000001", ssn::MSC),
        data: (0..octets).map(|number| number as u8).collect(),
        sequence: 0,
        in_order: false,
        return_on_error: true,
    }
}

#[test]
fn data_that_fits_is_one_message_and_the_next_octet_is_a_second() {
    // Two parties of 11 octets: 268 - 8 - 22 = 238.
    let whole = messages(&request(238), 254, 1).unwrap();
    assert_eq!(whole.len(), 1);
    assert_eq!(whole[0].name(), "UDT");
    assert_eq!(whole[0].encode().unwrap().len(), MESSAGE_MAX);
    let two = messages(&request(239), 254, 1).unwrap();
    assert_eq!(two.len(), 2);
    // 268 - 17 - 22 = 229.
    assert_eq!(two[0].data.len(), 229);
    assert_eq!(two[0].encode().unwrap().len(), MESSAGE_MAX);
    assert_eq!(two[1].data.len(), 10);
}

#[test]
fn segments_say_what_follows_and_what_was_asked_for() {
    // Q.714 §4.1.1.2.2: class 1, one reference, the number that remains; only the first comes back.
    let segments = messages(&request(500), 200, 0xFF01_0203).unwrap();
    let said: Vec<_> = segments
        .iter()
        .map(|segment| {
            let segmentation = segment.segmentation.unwrap();
            assert_eq!(segmentation.reference, 0x01_0203);
            assert!(!segmentation.in_order);
            let first = segmentation.is_first;
            (
                segment.purpose,
                first,
                segmentation.remaining,
                segment.data.len(),
            )
        })
        .collect();
    let data = |return_on_error| SccpPurpose::Data {
        in_order: true,
        return_on_error,
    };
    assert_eq!(
        said,
        [
            (data(true), true, 2, 200),
            (data(false), false, 1, 200),
            (data(false), false, 0, 100),
        ]
    );
}

#[test]
fn sixteen_segments_are_the_most() {
    let most = 16 * 229;
    assert_eq!(messages(&request(most), 254, 1).unwrap().len(), 16);
    assert_eq!(
        messages(&request(most + 1), 254, 1),
        Err(SccpWriteError::Long(most + 1))
    );
}

#[test]
fn a_limit_that_makes_no_sense_still_sends() {
    assert_eq!(messages(&request(3), 0, 1).unwrap().len(), 3);
    assert_eq!(messages(&request(238), usize::MAX, 1).unwrap().len(), 1);
}

proptest! {
    #[test]
    fn what_is_taken_apart_is_put_together_again(
        called in any_address(),
        calling in any_address(),
        data in prop::collection::vec(any::<u8>(), 0..3_400),
        most in 1_usize..300,
        in_order: bool,
    ) {
        let request = UnitdataRequest {
            called,
            calling: calling.clone(),
            data: data.clone().into(),
            sequence: 0,
            in_order,
            return_on_error: false,
        };
        let Ok(messages) = messages(&request, most, 7) else {
            // Sixteen of the smallest segments hold no more.
            prop_assert!(data.len() > 16 * most.min(200));
            return Ok(());
        };
        let now = Instant::now();
        let mut reassemblies = Reassemblies::new(4, Duration::from_secs(10));
        let mut whole = None;
        for message in messages {
            let octets = message.encode().unwrap();
            prop_assert!(octets.len() <= MESSAGE_MAX);
            let read = SccpMessage::decode(&octets).unwrap();
            prop_assert!(whole.is_none());
            prop_assert_eq!(&read.called, &request.called);
            let Some(segmentation) = read.segmentation else {
                whole = Some(read.data);
                continue;
            };
            prop_assert_eq!(segmentation.in_order, in_order);
            let key = ReassemblyKey {
                originating: PointCode(1),
                calling: calling.clone(),
                reference: segmentation.reference,
            };
            whole = reassemblies.take(key, segmentation, &read.data, now).unwrap();
        }
        prop_assert_eq!(whole.unwrap(), data);
        prop_assert_eq!(reassemblies.len(), 0);
    }
}
