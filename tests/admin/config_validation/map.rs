//! Validation of GSM networks over MAP.

use super::{refused, warnings};

const HOME: &str = "[[gsm]]\nname = 'home'\nsmsc_address = '49160000'\naccount = 'handsets'\n";
const ACCOUNT: &str = "[[account]]\nsystem_id = 'handsets'\npassword = 'secret12'\n";
const GATEWAYS: &str = "gateways = [{ address = 'stp-a.example' }, { address = 'stp-b.example:2906', transport = 'tcp' }]\n";
const CODES: &str = "point_code = '1.2.3'\ndestination = '1.2.1'\n";

/// It needs nobody who knows IMSIs.
const ROUTE: &str = "[[route]]\nto = ['gsm:home']\n";

/// A network with these keys of its own, and these of its table.
fn network(keys: &str, map: &str) -> String {
    format!("{ACCOUNT}{ROUTE}{HOME}protocol = 'map'\n{keys}\n[gsm.map]\n{map}")
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn networks_over_map() {
    let gateways = |all: &str| network("", &format!("{CODES}gateways = [{all}]"));
    let with_codes = |codes: &str| network("", &format!("{GATEWAYS}{codes}"));
    let whole = |map: &str| with_codes(&format!("{CODES}{map}"));
    for (text, problem) in [
        (
            format!("{ACCOUNT}{ROUTE}{HOME}protocol = 'map'"),
            "gsm[0].map: is missing; write a table with gateways, point_code and destination, as in docs/gsm.md",
        ),
        (
            format!("{ACCOUNT}{HOME}address = 'hlr.example'\n[gsm.map]\n{CODES}"),
            "gsm[0].map: means nothing with protocol = \"gsup\"; write protocol = \"map\", or remove it",
        ),
        (
            network("address = 'hlr.example'", &format!("{GATEWAYS}{CODES}")),
            "gsm[0].address: means nothing with protocol = \"map\"; write map.gateways instead",
        ),
        (
            network("ipa_name = 'SMSC'", &format!("{GATEWAYS}{CODES}")),
            "gsm[0].ipa_name: means nothing with protocol = \"map\", where point codes are the names; remove it",
        ),
        (
            network("request_timeout = '5s'", &format!("{GATEWAYS}{CODES}")),
            "gsm[0].request_timeout: means nothing with protocol = \"map\"; write map.timer_long instead",
        ),
        (
            network("ping_interval = '5s'", &format!("{GATEWAYS}{CODES}")),
            "gsm[0].ping_interval: means nothing with protocol = \"map\"; write map.beat_interval and map.beat_timeout instead",
        ),
        (
            network("", CODES),
            "gsm[0].map.gateways: is empty; write at least one, such as [{ address = \"stp.example\" }]",
        ),
        (
            gateways("{ address = 'a:b:c' }"),
            "gsm[0].map.gateways[0].address: \"a:b:c\" is not an address; write \"host:port\"",
        ),
        (
            gateways("{ address = 'a' }, { address = 'a:2905' }"),
            "gsm[0].map.gateways[1].address: is that of another gateway; write each once, or with other addresses in local",
        ),
        (
            gateways("{ address = 'a', local = ['here'] }"),
            "gsm[0].map.gateways[0].local[0]: \"here\" is no IP address of this machine; write \"10.0.0.5\" or \"10.0.0.5:2905\"",
        ),
        (
            gateways("{ address = 'a', transport = 'tcp', local = ['10.0.0.5', '10.0.1.5'] }"),
            "gsm[0].map.gateways[0].local: has several addresses, and TCP is connected from one; remove the others",
        ),
        (
            gateways("{ address = 'a', local = ['10.0.0.5:1', '10.0.1.5:2'] }"),
            "gsm[0].map.gateways[0].local: has several ports, and an association has one; write the same port with each address",
        ),
        (
            with_codes("destination = '1.2.1'"),
            "gsm[0].map.point_code: is missing; write the point code of this SMSC, such as \"1.2.3\", or point_codes",
        ),
        (
            with_codes("point_code = '1.2.3'"),
            "gsm[0].map.destination: is missing; write the point code of the STP, such as \"1.2.1\"",
        ),
        (
            with_codes("point_code = '1.2.9'\ndestination = '1.2.1'"),
            "gsm[0].map.point_code: \"1.2.9\" is no point code; write three numbers up to 7, 255 and 7, such as \"1.2.3\", or one up to 16383",
        ),
        (
            with_codes("point_code = '1.2.1'\ndestination = '1.2.1'"),
            "gsm[0].map.destination: is the point code of this SMSC; write that of the STP",
        ),
        (
            whole("point_codes = ['1.2.4']"),
            "gsm[0].map.point_codes: is that of each node, and point_code that of all; remove one",
        ),
        (
            with_codes("destination = '1.2.1'\npoint_codes = ['1.2.4', '1.2.4']"),
            "gsm[0].map.point_codes: has one twice; each node has its own",
        ),
        (
            with_codes(
                "destination = '1.2.1'\npoint_codes = ['1.2.4', '1.2.5']\nglobal_titles = ['49160001']",
            ),
            "gsm[0].map.global_titles: must be as many as point_codes, one for each node",
        ),
        (
            whole("global_title = '49160001'\nglobal_titles = ['49160002']"),
            "gsm[0].map.global_titles: are those of single nodes, and global_title is that of all; remove one",
        ),
        (
            whole("global_title = 'ACME'"),
            "gsm[0].map.global_title: must be the digits of a global title, up to 20",
        ),
        (
            whole("hlr = '49161111'\nhlr_point_code = '1.2.2'"),
            "gsm[0].map.hlr_point_code: is one way to address the HLR, and hlr is another; remove one",
        ),
        (
            whole("register = true\nrouting_context = 1"),
            "gsm[0].map.register: says what routing_context says already; remove one",
        ),
        (
            whole("serving_nodes = ['msc', 'msc']"),
            "gsm[0].map.serving_nodes: has one twice; write each once",
        ),
        (
            whole("serving_nodes = []"),
            "gsm[0].map.serving_nodes: is empty; write [\"msc\"], [\"sgsn\"] or both",
        ),
        (
            whole("network_indicator = 4"),
            "gsm[0].map.network_indicator: must be between 0 and 3",
        ),
        (
            whole("timer_long = '0s'"),
            "gsm[0].map.timer_long: must be longer than \"0s\"",
        ),
        (
            whole("unitdata_octets = 255"),
            "gsm[0].map.unitdata_octets: must be between 60 and 254",
        ),
        (
            whole("home_routing = { network = '26201' }"),
            "gsm[0].map.home_routing.numbers: is empty; write how the numbers of your subscribers begin, such as [\"49170\"]",
        ),
        (
            whole("home_routing = { numbers = ['+4917'], network = '26201' }"),
            "gsm[0].map.home_routing.numbers[0]: must be the first digits of international numbers, 1 to 15, such as \"49170\"",
        ),
        (
            whole("home_routing = { numbers = ['4917'], network = '26201', id_lifetime = '25h' }"),
            "gsm[0].map.home_routing.id_lifetime: must be at most \"24h\": nobody brings a message so much later",
        ),
        (
            whole("home_routing = { numbers = ['4917'] }"),
            "gsm[0].map.home_routing.network: must be MCC and MNC, 5 or 6 digits, such as \"26201\"",
        ),
        (
            whole("home_routing = { numbers = ['4917'], network = '26201', deliver = 'handset' }"),
            "gsm[0].map.home_routing.deliver: there is no account \"handset\", did you mean `handsets`?",
        ),
        (
            whole("home_routing = { numbers = ['4917'], network = '26201' }")
                .replace("account = 'handsets'\n", ""),
            "gsm[0].account: is missing, and home_routing needs it: write the account whose messages those of others become",
        ),
        (
            whole("version = 4"),
            "gsm[0].map.version: must be between 1 and 3",
        ),
        (
            network(
                "rewrite_out = [{ field = 'destination', add = '0' }]",
                &format!("{GATEWAYS}{CODES}"),
            ),
            "gsm[0].rewrite_out[0].field: means nothing: handsets are addressed by the number that was routed; write \"source\"",
        ),
    ] {
        let found = refused(&text);
        assert!(found.iter().any(|one| one == problem), "{text}\n{found:#?}");
    }
    let found = warnings(&whole(""));
    assert!(found.is_empty(), "{found:#?}");
    let own = "destination = '1.2.1'\npoint_codes = ['1.2.4', '1.2.5']\nglobal_titles = ['49160001', '49160002']";
    let found = warnings(&with_codes(own));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn with_home_routing_our_own_questions_need_another_hlr() {
    let home = "home_routing = { numbers = ['4917'], network = '26201' }";
    let whole = |map: &str| network("", &format!("{GATEWAYS}{CODES}{map}"));
    let found = warnings(&whole(home));
    let expected = "gsm[0].map.home_routing.deliver: delivers through this network, whose HLR is asked by the numbers";
    assert!(
        found.iter().any(|one| one.starts_with(expected)),
        "{found:#?}"
    );
    let found = warnings(&whole(&format!("hlr = '49161111'\n{home}")));
    assert!(found.is_empty(), "{found:#?}");
    let to_account = home.replace(" }", ", deliver = 'handsets' }");
    let found = warnings(&whole(&to_account));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn one_point_code_for_all_nodes_connects_one_of_them() {
    let postgres = "[postgres]\nurl = 'postgres://smsc@db.example/smsc'\n";
    let found = warnings(&format!(
        "{postgres}{}",
        network("", &format!("{GATEWAYS}{CODES}"))
    ));
    let expected = "gsm[0].map.point_code: is one for all nodes, so only one node is connected; write point_codes for all of them";
    assert!(found.iter().any(|one| one == expected), "{found:#?}");
}

#[test]
fn one_global_title_for_all_nodes_may_bring_answers_to_another_one() {
    let codes = "destination = '1.2.1'\npoint_codes = ['1.2.4', '1.2.5']\n";
    let found = warnings(&network("", &format!("{GATEWAYS}{codes}")));
    let expected = "gsm[0].map.global_titles: is empty, so all nodes have one title";
    assert!(
        found.iter().any(|one| one.starts_with(expected)),
        "{found:#?}"
    );
    let by_ssn = warnings(&network("", &format!("{GATEWAYS}{codes}routed_by = 'ssn'")));
    assert!(by_ssn.is_empty(), "{by_ssn:#?}");
}

#[test]
fn two_networks_with_one_point_code_at_one_gateway() {
    let home = network("", &format!("{GATEWAYS}{CODES}"));
    let other = format!("{HOME}protocol = 'map'\n[gsm.map]\n{GATEWAYS}{CODES}")
        .replace("'home'", "'other'");
    let found = warnings(&format!("{home}{other}"));
    let expected = "gsm[1].map.point_code: is also that of \"home\" at a gateway of both, which then has one way for two";
    assert!(found.iter().any(|one| one == expected), "{found:#?}");
    let found = warnings(&format!("{home}{other}routing_context = 7\n"));
    assert!(
        !found.iter().any(|one| one.contains("point_code")),
        "{found:#?}"
    );
}

#[test]
fn a_firewall_has_prefixes_and_rates_and_knows_who_is_ours() {
    let guarded = |firewall: &str| {
        let map = format!("{GATEWAYS}{CODES}[gsm.map.firewall]\n{firewall}");
        network("", &map)
    };
    for (firewall, key, problem) in [
        ("deny = ['+49']", "deny", "must be up to 20 digits"),
        (
            "visited_titles = ['']",
            "visited_titles",
            "must be up to 20 digits",
        ),
        (
            "title_rate = 0.0",
            "title_rate",
            "must be above 0; remove the key for no limit",
        ),
        (
            "network_digits = 16",
            "network_digits",
            "must be between 1 and 15",
        ),
    ] {
        let key = format!("gsm[0].map.firewall.{key}");
        let found = refused(&guarded(firewall));
        let is_it = |one: &String| one.starts_with(&key) && one.ends_with(problem);
        assert!(found.iter().any(is_it), "{firewall}\n{found:#?}");
    }
    let found = warnings(&guarded("mode = 'on'\nown_numbers = ['49160']"));
    let expected = "gsm[0].map.firewall.own_titles: is empty";
    assert!(
        found.iter().any(|one| one.starts_with(expected)),
        "{found:#?}"
    );
    let whole = "mode = 'on'\nown_titles = ['49160']\nown_numbers = ['49160']\nrules = { title_rate = 'drop' }\n\
                 networks = [{ name = 'a', titles = ['447', '448'] }]\nmirror = ['spoofed']";
    let found = warnings(&guarded(whole));
    assert!(found.is_empty(), "{found:#?}");
}
