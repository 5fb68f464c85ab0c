//! What a bind sends without waiting for answers reaches an operator in the same order, however it is cut into
//! pieces on its way in.

use std::time::Duration;

use crate::harness::{FakeOperator, Peer, Smsc, accept, next_submit, submit};
use smsc::smpp::Body;

const MESSAGES: usize = 1_500;

#[test]
fn pipelined_messages_keep_their_order() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account_with("test", "test", "window = 2000")
        .operator_with("up", operator.address(), "window = 2000")
        .route("", "up")
        .start();
    let mut bind = operator.accept_bind();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for at in 0..MESSAGES {
        esme.request(Body::SubmitSm(submit("447700900123", &at.to_string())));
        // Many small batches, so that several wait for their commits at once: answers may come meanwhile.
        if at.is_multiple_of(3) {
            let _ = esme.next(Duration::from_micros(300));
        }
    }
    let mut came = Vec::with_capacity(MESSAGES);
    for _ in 0..MESSAGES {
        let (sequence, message) = next_submit(&mut bind);
        let text = String::from_utf8(message.short_message.to_vec()).unwrap();
        accept(&mut bind, sequence, &format!("m{text}"));
        came.push(text.parse::<usize>().unwrap());
    }
    let late: Vec<&[usize]> = came.windows(2).filter(|pair| pair[0] > pair[1]).collect();
    assert!(late.is_empty(), "out of order: {late:?}");
    smsc.assert_no_panic();
}
