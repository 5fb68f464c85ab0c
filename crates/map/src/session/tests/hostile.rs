//! No input panics, loses a token, or grows anything.

use proptest::prelude::*;

use super::*;

/// All that both sides write while a message is delivered and another one is submitted.
fn conversation() -> Vec<Bytes> {
    let mut country = ScriptedNetwork::new();
    country.network.at_both();
    country.network.replies(MSC, [NodeReply::Fails(absent(1))]);
    let mut written = Vec::new();
    country
        .session
        .send(message(PHONE, false), 1, country.now)
        .unwrap();
    let submit = ForwardSmArg {
        imsi: None,
        ..submit()
    };
    let parameter = submit.encode(MapVersion::V3).unwrap();
    let component = invoke(MapOperationCode::FORWARD_SM, parameter);
    let (tcap, now) = (&mut country.network.tcap, country.now);
    let begun = tcap.begin(
        context_of(21, 3),
        own(),
        node_address(MSC),
        vec![component],
        now,
    );
    begun.unwrap();
    loop {
        let mut moved = false;
        while let Some(request) = country.session.next_unitdata() {
            moved = true;
            written.push(request.data.clone());
            (country.network.tcap).received(request.called, request.calling, &request.data, now);
        }
        while let Some(event) = country.network.tcap.next_event() {
            country.network.on_event(event, now);
        }
        while let Some(request) = country.network.tcap.next_unitdata() {
            moved = true;
            written.push(request.data.clone());
            let unitdata = Unitdata {
                called: request.called,
                calling: request.calling,
                data: request.data,
            };
            country.session.received(unitdata, now);
        }
        if !moved {
            return written;
        }
    }
}

fn hand_in(country: &mut ScriptedNetwork, data: Bytes) {
    let unitdata = Unitdata {
        called: own(),
        calling: node_address(MSC),
        data: data.clone(),
    };
    country.session.received(unitdata, country.now);
    country.session.returned(1, &data, country.now);
}

proptest! {
    #[test]
    fn any_octets_are_taken(
        inputs in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..8),
    ) {
        let mut country = ScriptedNetwork::new();
        country.network.hlr_is_silent = true;
        country.send(message(PHONE, false), 1);
        for input in inputs {
            hand_in(&mut country, input.into());
        }
        country.wait(Duration::from_secs(100));
        prop_assert_eq!(country.outcomes().len(), 1);
    }

    #[test]
    fn changed_messages_are_taken(
        which in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let conversation = conversation();
        let mut data = conversation[which.index(conversation.len())].to_vec();
        for (at, octet) in changes {
            let at = at.index(data.len());
            data[at] = octet;
        }
        if let Some(cut) = cut {
            data.truncate(cut.index(data.len()));
        }
        let mut country = ScriptedNetwork::new();
        country.send(message(PHONE, true), 1);
        prop_assert_eq!(country.outcomes().len(), 1);
        hand_in(&mut country, data.into());
        country.settle();
        country.send(message(PHONE, false), 2);
        country.wait(Duration::from_secs(100));
        prop_assert_eq!(country.outcomes().len(), 1);
        prop_assert!(country.session.owners.is_empty());
    }

    /// Whatever is changed of an answer on its way, its message ends once, and so do those behind it.
    #[test]
    fn changed_answers_end_their_messages(
        which in 1_usize..10,
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
        long: bool,
        fails: bool,
        informs: bool,
    ) {
        let mut country = ScriptedNetwork::new();
        country.network.at_both();
        country.network.informs = informs.then(InformServiceCentreArg::default);
        if fails {
            let replies = [absent(0), failure(0)].map(NodeReply::Fails);
            country.network.replies(MSC, replies);
        }
        country.tampers = Some((which, changes));
        for token in 0..4 {
            let mut forward = message(PHONE, token < 3);
            if long {
                forward.tpdu = vec![4; 175].into();
            }
            country.send(forward, token);
            for _ in 0..8 {
                if country.session.held() > 0 {
                    country.wait(Duration::from_secs(60));
                }
            }
            let outcomes = country.outcomes();
            prop_assert_eq!(outcomes.len(), 1);
            prop_assert_eq!(outcomes[0].0, token);
        }
        country.wait(Duration::from_secs(100));
        country.wait(Duration::from_secs(100));
        prop_assert!(country.session.runs.is_empty());
        prop_assert!(country.session.owners.is_empty());
        prop_assert_eq!(country.session.reports, 0);
        prop_assert_eq!(country.session.dialogues().0, 0);
    }

    /// Whatever HLR and nodes do, each message ends once.
    #[test]
    fn each_message_ends_once(
        replies in proptest::collection::vec(0_u8..7, 0..12),
        mores in proptest::collection::vec(any::<bool>(), 1..8),
        hlr_version in 1_u8..=3,
        node_version in 1_u8..=3,
        at_both: bool,
        informs: bool,
    ) {
        let mut country = ScriptedNetwork::new();
        country.network.hlr_version = hlr_version;
        country.network.node_version = node_version;
        if at_both {
            country.network.at_both();
        }
        country.network.informs = informs.then(InformServiceCentreArg::default);
        let replies: Vec<NodeReply> = replies
            .into_iter()
            .map(|reply| match reply {
                0 => NodeReply::Delivers,
                1 => NodeReply::Fails(absent(0)),
                2 => NodeReply::Fails(failure(0)),
                3 => NodeReply::Rejects,
                4 => NodeReply::Aborts,
                5 => NodeReply::EndsWithout,
                _ => NodeReply::Nothing,
            })
            .collect();
        country.network.replies(MSC, replies.clone());
        country.network.replies(SGSN, replies.into_iter().rev());
        for (token, more) in mores.iter().enumerate() {
            let token = token as u32;
            country.send(message(PHONE, *more), token);
            for _ in 0..8 {
                if country.session.held() > 0 {
                    country.wait(Duration::from_secs(60));
                }
            }
            let outcomes = country.outcomes();
            prop_assert_eq!(outcomes.len(), 1);
            prop_assert_eq!(outcomes[0].0, token);
        }
        country.wait(Duration::from_secs(100));
        prop_assert!(country.session.runs.is_empty());
        prop_assert!(country.session.owners.is_empty());
        prop_assert_eq!(country.session.reports, 0);
    }
}
