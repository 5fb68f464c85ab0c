//! One text to many destinations by submit_multi, with distribution lists (SMPP 3.4 §4.5), and data_sm
//! in both directions (§4.7).

use crate::harness::{Peer, Scene, Simulator, Smsc, stat_of, submit, until};
use bytes::Bytes;
use smsc::smpp::{
    Body, CancelSm, CommandId, CommandStatus, DataSm, DataSmResp, DestAddress, Pdu, QuerySm,
    ReplaceSm, SubmitMulti, SubmitMultiResp, Tlvs, UnsuccessSme, tag,
};

const SOURCE: &str = "12345";
const ENROUTE: u8 = 1;
const DELIVERED: u32 = 2;
const DELETED: u8 = 4;

fn text(of: &str) -> Bytes {
    Bytes::copy_from_slice(of.as_bytes())
}

fn to(address: &str) -> DestAddress {
    DestAddress::Sme {
        dest_addr_ton: 1,
        dest_addr_npi: 1,
        destination_addr: text(address),
    }
}

fn list(name: &str) -> DestAddress {
    DestAddress::DistributionList {
        dl_name: text(name),
    }
}

fn multi(destinations: Vec<DestAddress>) -> SubmitMulti {
    SubmitMulti {
        source_addr: text(SOURCE),
        dest_address: destinations,
        registered_delivery: 1,
        short_message: text("hello"),
        ..SubmitMulti::default()
    }
}

fn answer(peer: &mut Peer, body: Body) -> Pdu {
    let sequence = peer.request(body);
    peer.answer_to(sequence)
}

fn accepted(peer: &mut Peer, multi: SubmitMulti) -> (String, Vec<UnsuccessSme>) {
    let answer = answer(peer, Body::SubmitMulti(multi));
    assert_eq!(answer.status, CommandStatus::ESME_ROK);
    match answer.body {
        Body::SubmitMultiResp(SubmitMultiResp {
            message_id,
            unsuccess_sme,
            ..
        }) => (
            String::from_utf8(message_id.to_vec()).unwrap(),
            unsuccess_sme,
        ),
        other => panic!("not an answer to submit_multi: {other:?}"),
    }
}

fn state(peer: &mut Peer, id: &str) -> u8 {
    let query = QuerySm {
        message_id: text(id),
        source_addr: text(SOURCE),
        ..QuerySm::default()
    };
    match answer(peer, Body::QuerySm(query)).body {
        Body::QuerySmResp(resp) => resp.message_state,
        other => panic!("{other:?}"),
    }
}

const TEAM: &str = "lists = { team = [\"447700900001\", \"447700900002\", \"+447700900003\"] }";

#[test]
fn each_destination_is_a_message_with_a_receipt() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new()
        .account_with("test", "test", TEAM)
        .operator("up", operator.address())
        .route("44", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    // One is in the list as well, one has no route, one list does not exist.
    let (id, failures) = accepted(
        &mut esme,
        multi(vec![
            to("447700900009"),
            to("447700900002"),
            list("team"),
            to("33100000000"),
            list("nobody"),
        ]),
    );
    let failed: Vec<(&[u8], CommandStatus)> = failures
        .iter()
        .map(|one| (one.destination_addr.as_ref(), one.error_status_code))
        .collect();
    assert_eq!(
        failed,
        [
            (&b"nobody"[..], CommandStatus::ESME_RINVDLNAME),
            (&b"33100000000"[..], CommandStatus::ESME_RINVDSTADR),
        ]
    );
    let mut told: Vec<String> = (0..4)
        .map(|_| {
            let receipt = esme.deliver();
            assert_eq!(stat_of(&receipt), (id.clone(), DELIVERED));
            String::from_utf8(receipt.source_addr.to_vec()).unwrap()
        })
        .collect();
    told.sort();
    let expected = [
        "447700900001",
        "447700900002",
        "447700900003",
        "447700900009",
    ];
    assert_eq!(told, expected);
    assert_eq!(operator.wait_for(4).len(), 4);
    assert_eq!(u32::from(state(&mut esme, &id)), DELIVERED);
    smsc.assert_no_panic();
}

#[test]
fn when_nobody_can_be_reached_it_is_refused() {
    let smsc = Smsc::new()
        .account_with("test", "test", TEAM)
        .operator("up", Simulator::new().address())
        .route("44", "up")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut refused = |destinations| {
        let answer = answer(&mut esme, Body::SubmitMulti(multi(destinations)));
        assert_eq!(answer.command_id(), CommandId::SUBMIT_MULTI_RESP);
        answer.status
    };
    let no_list = CommandStatus::ESME_RINVDLNAME;
    assert_eq!(refused(vec![list("nobody")]), no_list);
    let no_route = CommandStatus::ESME_RINVDSTADR;
    assert_eq!(refused(vec![to("33100000000")]), no_route);
    assert_eq!(refused(vec![to("")]), no_route);
    let none = CommandStatus::ESME_RINVNUMDESTS;
    assert_eq!(refused(Vec::new()), none);
    smsc.assert_no_panic();
}

#[test]
fn orders_by_the_id_of_a_submit_multi_are_for_all_of_it() {
    let mut smsc = Smsc::new()
        .account_with("test", "test", TEAM)
        .operator("up", Simulator::new().address())
        .route("", "up")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (id, failures) = accepted(&mut esme, multi(vec![list("team")]));
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(state(&mut esme, &id), ENROUTE);
    let replace = ReplaceSm {
        message_id: text(&id),
        source_addr: text(SOURCE),
        registered_delivery: 1,
        short_message: text("changed"),
        ..ReplaceSm::default()
    };
    let replaced = answer(&mut esme, Body::ReplaceSm(replace));
    assert_eq!(replaced.status, CommandStatus::ESME_ROK);

    smsc.kill();
    smsc.start_again();
    let admin = smsc.admin();
    let found = admin.get("/v1/messages?from=12345");
    let ids: Vec<String> = found["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 3, "{found}");
    for id in &ids {
        let message = admin.get(&format!("/v1/messages/{id}?text=true"));
        assert_eq!(message["content"]["text"], "changed", "{message}");
    }
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let cancel = CancelSm {
        message_id: text(&id),
        source_addr: text(SOURCE),
        ..CancelSm::default()
    };
    let cancelled = answer(&mut esme, Body::CancelSm(cancel));
    assert_eq!(cancelled.status, CommandStatus::ESME_ROK);
    assert_eq!(state(&mut esme, &id), DELETED);
    for _ in 0..3 {
        assert_eq!(stat_of(&esme.deliver()), (id.clone(), u32::from(DELETED)));
    }
    smsc.terminate();
    smsc.fsck();
    smsc.assert_no_panic();
}

#[test]
fn one_destination_of_a_submit_multi_is_cancelled_by_its_address() {
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("up", Simulator::new().address())
        .route("", "up")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let numbers = ["447700900001", "447700900002", "447700900003"];
    let (id, refused) = accepted(&mut esme, multi(numbers.map(to).to_vec()));
    assert_eq!(refused, []);
    let cancel = |esme: &mut Peer, destination: &str| {
        let cancel = CancelSm {
            message_id: text(&id),
            source_addr: text(SOURCE),
            destination_addr: text(destination),
            ..CancelSm::default()
        };
        answer(esme, Body::CancelSm(cancel)).status
    };
    let failed = CommandStatus::ESME_RCANCELFAIL;
    assert_eq!(cancel(&mut esme, "447700900009"), failed);
    assert_eq!(cancel(&mut esme, "+447700900002"), CommandStatus::ESME_ROK);
    assert_eq!(cancel(&mut esme, "447700900002"), failed, "twice");
    let states = || {
        numbers.map(|to| {
            let found = smsc.admin().get(&format!("/v1/messages?to={to}"));
            found["messages"][0]["final"].is_object()
        })
    };
    assert_eq!(states(), [false, true, false]);
    assert_eq!(cancel(&mut esme, ""), CommandStatus::ESME_ROK, "the others");
    assert_eq!(states(), [true; 3]);
    smsc.assert_no_panic();
}

#[test]
fn lists_come_by_the_admin_api_too() {
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("up", Simulator::new().address())
        .route("", "up")
        .start();
    let admin = smsc.admin();
    let account = |members: serde_json::Value| serde_json::json!({ "password": "test", "lists": { "late": members } });
    let right = account(serde_json::json!(["447700900007"]));
    admin.put("/v1/accounts/test", &right);
    assert_eq!(
        admin.get("/v1/accounts/test")["settings"]["lists"],
        right["lists"],
        "read back"
    );
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    until("the list to be known", || {
        let answer = answer(&mut esme, Body::SubmitMulti(multi(vec![list("late")])));
        answer.status.is_ok().then_some(())
    });
    let wrong = account(serde_json::json!(["nonsense"]));
    let (status, refused) = admin.call("PUT", "/v1/accounts/test", Some(&wrong));
    assert_eq!(status, 422, "{refused}");
    assert!(refused.to_string().contains("lists.late"), "{refused}");
}

fn payload(of: &str) -> Tlvs {
    let mut tlvs = Tlvs::new();
    tlvs.push(tag::MESSAGE_PAYLOAD, of.as_bytes());
    tlvs
}

/// A data_sm_resp with this message id.
fn data_sm_resp(bind: &mut Peer, sequence: u32, id: &str) {
    let body = Body::DataSmResp(DataSmResp {
        message_id: text(id),
        ..DataSmResp::default()
    });
    let mut out = bytes::BytesMut::new();
    Pdu::response(CommandStatus::ESME_ROK, sequence, body).encode(&mut out);
    bind.send(&out);
}

#[test]
fn data_sm_goes_both_ways_on_both_sides() {
    let mut scene = Scene::of(
        "deliver_as = \"data_sm\"\naddresses = [\"12345\"]",
        "send_as = \"data_sm\"",
        |builder| builder,
    );

    // From the ESME to the operator, with its text and validity.
    let mut tlvs = payload("hello");
    tlvs.push(tag::QOS_TIME_TO_LIVE, &3_600u32.to_be_bytes());
    let sent = answer(
        &mut scene.esme,
        Body::DataSm(DataSm {
            source_addr: text(SOURCE),
            dest_addr_ton: 1,
            dest_addr_npi: 1,
            destination_addr: text("447700900123"),
            registered_delivery: 1,
            tlvs,
            ..DataSm::default()
        }),
    );
    assert_eq!(sent.status, CommandStatus::ESME_ROK);
    let Body::DataSmResp(resp) = sent.body else {
        panic!("not an answer to data_sm: {sent:?}");
    };
    let id = String::from_utf8(resp.message_id.to_vec()).unwrap();
    let pdu = scene
        .bind
        .expect("a data_sm", |pdu| matches!(pdu.body, Body::DataSm(_)));
    let Body::DataSm(passed) = &pdu.body else {
        unreachable!("just matched")
    };
    assert_eq!(passed.payload(), "hello");
    assert_eq!(passed.destination_addr, "447700900123");
    let left = passed.tlvs.get_uint(tag::QOS_TIME_TO_LIVE).unwrap();
    assert!((3_000..=3_600).contains(&left), "{left}");
    data_sm_resp(&mut scene.bind, pdu.sequence, "theirs");

    // The receipt comes as data_sm and is passed on as data_sm.
    let mut tlvs = Tlvs::new();
    tlvs.push(tag::RECEIPTED_MESSAGE_ID, b"theirs\0");
    tlvs.push(tag::MESSAGE_STATE, &[2]);
    let receipt = DataSm {
        source_addr: text("447700900123"),
        destination_addr: text(SOURCE),
        esm_class: 4,
        tlvs,
        ..DataSm::default()
    };
    let taken = answer(&mut scene.bind, Body::DataSm(receipt));
    assert_eq!(
        (taken.command_id(), taken.status),
        (CommandId::DATA_SM_RESP, CommandStatus::ESME_ROK)
    );
    let told = received(&mut scene.esme);
    assert!(told.payload().starts_with(format!("id:{id}").as_bytes()));
    assert_eq!(told.tlvs.get_uint(tag::MESSAGE_STATE), Some(2));
    assert_eq!(told.esm_class, 4);

    // Mobile-originated messages, too.
    let mo = DataSm {
        source_addr: text("447700900999"),
        destination_addr: text(SOURCE),
        tlvs: payload("question"),
        ..DataSm::default()
    };
    let taken = answer(&mut scene.bind, Body::DataSm(mo));
    assert_eq!(taken.command_id(), CommandId::DATA_SM_RESP);
    assert_eq!(taken.status, CommandStatus::ESME_ROK);
    let got = received(&mut scene.esme);
    assert_eq!(got.payload(), "question");
    assert_eq!(got.source_addr, "447700900999");

    // A submit_sm is sent as data_sm as well.
    scene.esme.submit(submit("447700900124", "short"));
    let pdu = scene
        .bind
        .expect("a data_sm", |pdu| matches!(pdu.body, Body::DataSm(_)));
    assert!(matches!(&pdu.body, Body::DataSm(data) if data.payload() == "short"));
    scene.smsc.assert_no_panic();
}

/// The next data_sm that an ESME gets; acknowledges it.
fn received(esme: &mut Peer) -> DataSm {
    let pdu = esme.expect("a data_sm", |pdu| matches!(pdu.body, Body::DataSm(_)));
    data_sm_resp(esme, pdu.sequence, "");
    match pdu.body {
        Body::DataSm(data) => data,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_data_sm_is_a_submission_to_any_operator() {
    let mut scene = Scene::new("");
    let sent = answer(
        &mut scene.esme,
        Body::DataSm(DataSm {
            source_addr: text(SOURCE),
            destination_addr: text("447700900123"),
            tlvs: payload("hello"),
            ..DataSm::default()
        }),
    );
    assert_eq!(sent.status, CommandStatus::ESME_ROK);
    assert_eq!(scene.take("abc").payload(), "hello");
    // Without a destination it is refused with a data_sm_resp.
    let nowhere = answer(&mut scene.esme, Body::DataSm(DataSm::default()));
    assert_eq!(
        (nowhere.command_id(), nowhere.status),
        (CommandId::DATA_SM_RESP, CommandStatus::ESME_RINVDSTADR)
    );
    scene.smsc.assert_no_panic();
}
