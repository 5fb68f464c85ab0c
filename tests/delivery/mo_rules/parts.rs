//! A long text takes its keyword from its first part, whichever part comes first, and all parts go to one place.

use super::{brought, gets, matches, messages_of, mo, nothing, rule, two};
use crate::harness::{FakeOperator, Peer, Smsc, until};
use smsc::smpp::SubmitSm;

const NUMBER: &str = super::NUMBER;

/// One part of a text to 12345, with the header of a concatenated message.
pub(super) fn part(reference: u8, (sequence, total): (u8, u8), text: &str) -> SubmitSm {
    let mut user_data = vec![5, 0, 3, reference, total, sequence];
    user_data.extend(text.as_bytes());
    SubmitSm {
        esm_class: 0x40,
        short_message: user_data.into(),
        ..mo(NUMBER, "12345", "")
    }
}

fn scene(keys: &str, more: &str) -> (Smsc, Peer, Peer, Peer) {
    let listener = FakeOperator::listen();
    let smsc = Smsc::new()
        .account_with("shop", "shop", "addresses = [\"12345\"]")
        .account_with("club", "club", more)
        .operator("up", listener.address())
        .route("", "test:delivered")
        .toml(keys)
        .start();
    let up = listener.accept_bind();
    let shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let club = Peer::bind(smsc.smpp(), "club", "club");
    (smsc, up, shop, club)
}

fn win() -> String {
    rule("win", 10, "keywords = [\"win\"]\ndeliver_to = \"club\"")
}

#[test]
fn parts_go_as_they_came_to_where_the_first_one_says() {
    let (smsc, mut up, mut shop, mut club) = scene(&win(), "");
    let (first, second) = (part(7, (1, 2), "WIN a long"), part(7, (2, 2), "win text"));
    brought(&mut up, second.clone());
    nothing(&mut club);
    brought(&mut up, first.clone());
    assert_eq!(club.deliver().short_message, first.short_message);
    assert_eq!(club.deliver().short_message, second.short_message);
    // The keyword is not at the beginning of the text: they are for the account of the address.
    let (first, second) = (part(8, (1, 2), "I will"), part(8, (2, 2), "win it"));
    brought(&mut up, second.clone());
    brought(&mut up, first.clone());
    assert_eq!(shop.deliver().short_message, first.short_message);
    assert_eq!(shop.deliver().short_message, second.short_message);
    assert_eq!(matches(&smsc, "win", "deliver"), 2.0);
    nothing(&mut club);
    nothing(&mut shop);
}

#[test]
fn an_account_that_wants_whole_texts_gets_them() {
    let (smsc, mut up, _shop, mut club) = scene(&win(), "long_messages = \"payload\"");
    brought(&mut up, part(7, (2, 2), " of two"));
    brought(&mut up, part(7, (1, 2), "win a text"));
    gets(&mut club, "win a text of two");
    until("the end of all", || {
        let all = messages_of(&smsc, "up");
        (all.len() == 3 && all.iter().all(|one| one["state"] == "DELIVERED")).then_some(())
    });
}

#[test]
fn a_long_text_is_answered_once() {
    let keys = "keywords = [\"win\"]\nreply = \"You said {{text}}\"\nreply_account = \"shop\"";
    let (smsc, mut up, _shop, _club) = scene(&rule("win", 10, keys), "");
    brought(&mut up, part(7, (3, 3), " text"));
    brought(&mut up, part(7, (1, 3), "WIN a "));
    brought(&mut up, part(7, (2, 3), "long"));
    until("the answer", || {
        (messages_of(&smsc, "shop").len() == 1).then_some(())
    });
    let answer = &messages_of(&smsc, "shop")[0];
    let id = answer["id"].as_str().unwrap();
    let shown = smsc.admin().get(&format!("/v1/messages/{id}?text=true"));
    assert_eq!(shown["content"]["text"], "You said a long text");
    until("the end of all", || {
        let all = messages_of(&smsc, "up");
        (all.len() == 4 && all.iter().all(|one| one["state"] == "DELIVERED")).then_some(())
    });
    assert_eq!(messages_of(&smsc, "shop").len(), 1);
}

#[test]
fn parts_whose_first_one_does_not_come_have_no_keyword() {
    let keys = format!("{}[content]\nreassembly_timeout = \"1s\"\n", win());
    let (smsc, mut up, mut shop, mut club) = scene(&keys, "");
    let lonely = part(7, (2, 2), "win something");
    brought(&mut up, lonely.clone());
    assert_eq!(shop.deliver().short_message, lonely.short_message);
    // The first one alone has it.
    let first = part(8, (1, 2), "win something");
    brought(&mut up, first.clone());
    assert_eq!(club.deliver().short_message, first.short_message);
    assert_eq!(matches(&smsc, "win", "deliver"), 1.0);
}

#[test]
fn parts_that_wait_for_their_first_one_survive_a_kill() {
    let listener = FakeOperator::listen();
    let mut smsc = two(&win(), &listener).start();
    let mut up = listener.accept_bind();
    let (first, second) = (part(7, (1, 2), "win a long"), part(7, (2, 2), "text"));
    brought(&mut up, second.clone());
    smsc.kill();
    smsc.start_again();
    let mut up = listener.accept_bind();
    brought(&mut up, first.clone());
    until("the rule", || {
        (matches(&smsc, "win", "deliver") == 2.0).then_some(())
    });
    // Where the rule sent them is durable, too.
    until("the parts to move", || {
        let parts = messages_of(&smsc, "up");
        let mut ids = parts.iter().filter_map(|part| part["id"].as_str());
        ids.all(|id| smsc.queue_of(id) == "account:club")
            .then_some(())
    });
    smsc.kill();
    smsc.start_again();
    let _up = listener.accept_bind();
    let mut club = Peer::bind(smsc.smpp(), "club", "club");
    // After a restart they come in the order of their arrival.
    assert_eq!(club.deliver().short_message, second.short_message);
    assert_eq!(club.deliver().short_message, first.short_message);
    let message = &messages_of(&smsc, "up")[0];
    let message = smsc.wait_for_final(message["id"].as_str().unwrap());
    assert_eq!(
        (&message["state"], &message["mo_rule"]),
        (&"DELIVERED".into(), &"win".into())
    );
    assert_eq!(message["changes"][0]["by"], "mo rule win");
}
