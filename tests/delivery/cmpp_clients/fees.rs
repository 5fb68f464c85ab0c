//! From a client over CMPP to an operator over CMPP: what accounts say about service and fee.

use smsc::cmpp::{Body, Cmpp};

use crate::harness::carrier_client::{CarrierClient, NUMBER, free_listener, message, with_client};
use crate::harness::gateway::{self, FakeGateway};
use crate::harness::{Peer, Smsc, submit};

#[test]
fn an_account_has_its_own_service_and_fee() {
    let (gateway, address) = (FakeGateway::listen(Cmpp::V30), free_listener());
    let own = "carrier = { service_id = \"OWN\", fee_type = \"02\", fee_code = \"25\", msg_src = \"900009\", fee_payer = 0 }";
    let smsc = with_client(Smsc::new(), address, own)
        .account("test", "test")
        .operator_with(
            "up",
            gateway.address(),
            &format!(
                "protocol = \"cmpp\"\nsystem_id = {:?}\npassword = {:?}\ncarrier = {{ version = \"3.0\", service_id = \"SVC\", fee_code = \"10\" }}",
                gateway::SOURCE,
                gateway::SECRET
            ),
        )
        .route("", "up")
        .start();
    let mut line = gateway.accept(0);
    smsc.wait_for_binds("up", 1);
    let mut client = CarrierClient::log_in(address, Cmpp::V20);
    let msg_id = client.submit(message(&[NUMBER], 15, &[0xC4, 0xE3]));
    let taken = line.take(1);
    assert_eq!(
        (&taken.service_id.0[..], &taken.fee_code.0[..]),
        (&b"OWN"[..], &b"25"[..])
    );
    assert_eq!(
        (&taken.fee_type.0[..], &taken.msg_src.0[..]),
        (&b"02"[..], &b"900009"[..])
    );
    assert_eq!((taken.fee_user_type, taken.msg_fmt), (0, 8));
    // The code of the gateway reaches the client as it was.
    line.report(1, "MK:0012");
    line.expect("the response", |body| matches!(body, Body::DeliverResp(_)));
    let report = client.report();
    assert_eq!(
        (report.msg_id, &report.stat.0[..]),
        (msg_id, &b"MK:0012"[..])
    );
    // Another account has what the operator's section says; a field of ours that it sends means nothing.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut forged = submit(NUMBER, "hello");
    for sender in 0..20_u32 {
        forged.tlvs = Default::default();
        forged.tlvs.push(0x3FFE, &sender.to_be_bytes());
        esme.submit(forged.clone());
        let taken = line.take(10 + u64::from(sender));
        assert_eq!(
            (&taken.service_id.0[..], &taken.fee_code.0[..]),
            (&b"SVC"[..], &b"10"[..])
        );
        assert_eq!(
            (&taken.fee_type.0[..], &taken.msg_src.0[..]),
            (&b"01"[..], gateway::SOURCE.as_bytes())
        );
    }
    smsc.assert_no_panic();
}
