//! Who may connect as a gateway, and whose gateway it is.

use smsc::carrier::fields::Content;
use smsc::sgip::bodies::{Bind, Deliver};
use smsc::sgip::{Body, status};

use super::*;

/// Two operators whose gateways log in by names of their own, one of them from an address that nobody has here.
fn two() -> (Smsc, [FakeGateway<Sgip>; 2], SocketAddr) {
    let gateways = [FakeGateway::listen(SGIP), FakeGateway::listen(SGIP)];
    let listens = local(free_port());
    let mut smsc = listening(listens).account_with("test", "test", "addresses = [\"10655\"]");
    for (id, gateway, from) in [
        ("north", &gateways[0], "127.0.0.0/8"),
        ("south", &gateways[1], "192.0.2.0/24"),
    ] {
        let carrier = format!("gateway_name = {id:?}, gateway_from = [{from:?}]");
        smsc = smsc.operator_with(id, gateway.address(), &keys(&carrier, ""));
    }
    (smsc.start(), gateways, listens)
}

#[test]
fn a_gateway_is_known_by_name_password_and_address() {
    let (smsc, gateways, listens) = two();
    for gateway in &gateways {
        gateway.accept();
    }
    let (_line, result) = Line::knock(listens, "north", SECRET);
    assert_eq!(result, status::OK);
    let admin = smsc.admin();
    let bind = until("the gateway's bind", || {
        let binds = admin.get("/v1/operators/north")["binds"].clone();
        let found = binds
            .as_array()?
            .iter()
            .find(|bind| bind["direction"] == "gateway");
        found.cloned()
    });
    assert_eq!(
        (&bind["bind_type"], &bind["state"]),
        (&"receiver".into(), &"bound".into())
    );
    // It is none of ours.
    let shown = admin.get("/v1/operators/north");
    assert_eq!(
        (&shown["bound"], &shown["configured"]),
        (&1.into(), &1.into())
    );
    for (name, password) in [("north", "wrong"), ("nobody", SECRET), ("south", SECRET)] {
        let (_, result) = Line::knock(listens, name, password);
        assert_eq!(result, status::LOGIN, "{name}");
    }
    smsc.assert_no_panic();
}

#[test]
fn another_type_of_login_is_refused_and_a_second_one_is_answered() {
    let mut scene = Scene::new("");
    let again = Bind {
        login_type: 2,
        login_name: SOURCE.into(),
        login_password: SECRET.into(),
        ..Bind::default()
    };
    scene.brings.ask(Body::Bind(again.clone()));
    let fits = |body: &Body| matches!(body, Body::BindResp(resp) if resp.result == status::AGAIN);
    scene.brings.expect("a Bind_Resp", fits);
    // It goes on.
    scene.brings.deliver(NUMBER, "10655", 0, b"hi");
    assert_eq!(scene.brings.taken(), 0);
    let socket = std::net::TcpStream::connect(scene.listens).unwrap();
    let mut line = Line::over(socket, SGIP);
    line.ask(Body::Bind(Bind {
        login_type: 1,
        ..again
    }));
    let fits =
        |body: &Body| matches!(body, Body::BindResp(resp) if resp.result == status::LOGIN_TYPE);
    line.expect("a Bind_Resp", fits);
}

#[test]
fn only_so_many_gateways_are_let_in_and_an_unbind_makes_room() {
    let gateway = FakeGateway::listen(SGIP);
    let listens = local(free_port());
    let smsc = Smsc::new()
        .toml(&format!(
            "[sgip]\nlisten = [\"{listens}\"]\nmax_connections = 1\n"
        ))
        .account("test", "test")
        .operator_with("up", gateway.address(), &keys("", ""))
        .start();
    let mut first = Line::enter(listens);
    let (_, result) = Line::knock(listens, SOURCE, SECRET);
    assert_eq!(result, status::CONNECTIONS);
    first.ask(Body::Unbind(smsc::sgip::bodies::Unbind {}));
    first.expect("an Unbind_Resp", |body| matches!(body, Body::UnbindResp(_)));
    until("room for another", || {
        let (_, result) = Line::knock(listens, SOURCE, SECRET);
        (result == status::OK).then_some(())
    });
    smsc.assert_no_panic();
}

#[test]
fn what_a_gateway_brings_twice_is_answered_and_taken_once() {
    let listens = local(free_port());
    let gateway = FakeGateway::listen(SGIP);
    let smsc = listening(listens)
        .account_with("test", "test", "addresses = [\"10655\"]")
        .operator_with("up", gateway.address(), &keys("", ""))
        .start();
    gateway.accept();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let message = |octets: &'static [u8]| {
        Body::Deliver(Box::new(Deliver {
            user_number: NUMBER.into(),
            sp_number: "10655".into(),
            message_content: Content(octets.into()),
            ..Deliver::default()
        }))
    };
    let mut line = Line::enter(listens);
    let sequence = line.ask(message(b"one"));
    assert_eq!(line.taken(), status::OK);
    line.send(sequence, message(b"one"));
    assert_eq!(line.taken(), status::OK);
    line.send(sequence, message(b"another"));
    assert_eq!(line.taken(), status::SEQUENCE);
    line.cut();
    // Its sequences are its own on each connection.
    let mut line = Line::enter(listens);
    line.send(sequence, message(b"one"));
    assert_eq!(line.taken(), status::OK);
    line.ask(message(b"two"));
    line.ask(message(b"three"));
    let came = [(); 3].map(|()| esme.deliver().short_message);
    assert_eq!(
        came.map(|text| text.to_vec()),
        [b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]
    );
}
