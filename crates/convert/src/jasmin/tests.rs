//! A session of jcli as it is captured, and the commands with which a Jasmin was set up.

use super::*;
use crate::draft::NO_PASSWORD;

const SESSION: &str = r"
Welcome to Jasmin 0.10.13 console
Type help or ? to list commands.
Session ref: 2
jcli : smppccm -l
#Connector id                        Service Session          Starts Stops
#acme                                started BOUND_TRX        1      0

#spare                               stopped None             0      0

Total connectors: 2
jcli : smppccm -s acme
ripf 0
con_fail_delay 10
dlr_expiry 86400
coding 0
logrotate midnight
submit_throughput 50
elink_interval 10
bind_to 30
port 2776
con_fail_retry yes
password secret
src_addr None
bind_npi 1
addr_range None
dst_ton 1
res_to 60
def_msg_id 0
priority 0
con_loss_retry yes
username gateway
dst_npi 1
validity None
requeue_delay 120
host smpp.acme.example
src_npi 1
trx_to 300
logfile /var/log/jasmin/default-acme.log
ssl yes
systype
cid acme
loglevel 20
bind transceiver
proto_id None
dlr_msgid 1
con_loss_delay 15
logprivacy no
bind_ton 0
pdu_red_to 10
src_ton 2
jcli : smppccm -s spare
cid spare
host 192.0.2.9
port 2775
username us
password them
bind transmitter
submit_throughput 0
jcli : group -l
#Group id
#marketing
Total Groups: 1
jcli : user -l
#User id          Group id         Username         Balance MT SMS Throughput
#foo              marketing        foouser          ND      ND     ND/5.0
#bar              marketing        bar              10.0    ND     ND/ND
Total Users: 2
jcli : user -s foo
username foouser
mt_messaging_cred quota balance 44.2
mt_messaging_cred quota smpps_throughput 5.0
mt_messaging_cred valuefilter dst_addr .*
mt_messaging_cred authorization smpps_send True
uid foo
smpps_cred quota max_bindings 2
smpps_cred authorization bind True
gid marketing
jcli : mtrouter -l
#Order Type                    Rate       Connector ID(s)                                  Filter(s)
#30    StaticMTRoute           0 (!)      smppc(acme)                                      <U (uid=foo)>, <DA (dst_addr=^33\d+)>
#20    RandomRoundrobinMTRoute 0.00       smppc(acme), smppc(spare)                        <DestinationAddrFilter (dst_addr=^44.*)>
#15    StaticMTRoute           0 (!)      smppc(spare)                                     <DA (dst_addr=^447)>
#10    StaticMTRoute           0 (!)      smppc(acme)                                      <TI (08:00:00,18:00:00)>
#0     DefaultRoute            0 (!)      smppc(spare)
Total MT Routes: 5
jcli : morouter -l
#Order Type                    Connector ID(s)                                  Filter(s)
#20    StaticMORoute           smpps(foouser)                                   <DA (dst_addr=^12345$)>
#10    StaticMORoute           http(http_1)                                     <T>
#0     DefaultRoute            smpps(bar)
Total MO Routes: 3
jcli : httpccm -l
#Httpcc id        Type                   Method URL
#http_1           HttpConnector          GET    http://10.10.20.125/mo.php
Total Httpccs: 1
jcli : quit
";

const ADDED: &str = "\
jcli : user -a
Adding a new User: (ok: save, ko: exit)
> username foo
> password bar
> gid marketing
> uid foo
> ok
Successfully added User [foo] to Group [marketing]
jcli : user -a
> username never
> password saved
> gid marketing
> uid never
> ko
jcli : smppccm -a
> cid Demo
> ok
jcli : filter -a
> type DestinationAddrFilter
> destination_addr ^44
> fid uk
> ok
jcli : filter -a
> type GroupFilter
> gid marketing
> fid group
> ok
jcli : mtrouter -a
Adding a new MT Route: (ok: save, ko: exit)
> type StaticMTRoute
jasmin.routing.Routes.StaticMTRoute arguments:
filters, connector
> filters uk;group
> order 10
> connector smppc(Demo)
> rate 0.0
> ok
";

fn source(text: &str) -> SourceText {
    SourceText {
        name: "jcli.txt".to_owned(),
        text: text.to_owned(),
    }
}

fn tables(toml: &str, head: &str) -> Vec<String> {
    toml.split("\n\n")
        .filter(|table| table.lines().any(|line| line == head))
        .map(|table| {
            let lines = table.lines().filter(|line| !line.starts_with(['#', '[']));
            lines.collect::<Vec<_>>().join("; ")
        })
        .collect()
}

fn note<'a>(converted: &'a Converted, what: &str) -> &'a crate::Note {
    converted
        .notes
        .iter()
        .find(|note| note.what.contains(what))
        .unwrap_or_else(|| panic!("no {what:?} in {:#?}", converted.notes))
}

#[test]
fn connectors_become_operators() {
    let converted = convert(&[source(SESSION)]).unwrap();
    assert_eq!(
        tables(&converted.toml, "[[operator]]"),
        [
            "id = \"acme\"; address = \"smpp.acme.example:2776\"; system_id = \"gateway\"; \
             password = \"secret\"; tls = true; rate = 50; response_timeout = \"60s\"; bind_timeout = \"30s\"; \
             enquire_link_interval = \"10s\"; correlation_ttl = \"86400s\"; reconnect = [\"15s\"]; \
             message_id = \"decimal\"",
            "id = \"spare\"; address = \"192.0.2.9:2775\"; system_id = \"us\"; password = \"them\"; \
             bind = \"transmitter\"; enabled = false",
        ]
    );
    assert!(note(&converted, "ssl yes").instead.contains("tls_ca_file"));
    let quiet = ["trx_to", "logfile", "coding", "src_ton"];
    assert!(
        !converted
            .notes
            .iter()
            .any(|note| quiet.iter().any(|key| note.what.contains(key)))
    );
}

#[test]
fn users_become_accounts_that_wait_for_their_passwords() {
    let converted = convert(&[source(SESSION)]).unwrap();
    assert_eq!(
        tables(&converted.toml, "[[account]]"),
        [
            "system_id = \"foouser\"; rate = 5; max_binds = 2; password = \"change-me\"; \
             enabled = false; addresses = [\"12345\"]",
            "system_id = \"bar\"; password = \"change-me\"; enabled = false",
            // The application behind the URL, to which nobody can bind.
            &format!(
                "system_id = \"http_1\"; deliver_by = \"callback\"; \
                 callback_url = \"http://10.10.20.125/mo.php\"; callback_format = \"jasmin_get\"; \
                 callback_allow_private = [\"10.10.20.125\"]; password = \"{NO_PASSWORD}\"; addresses = [\"*\"]"
            ),
        ]
    );
    assert!(
        note(&converted, "MO route 0: \"*\" belongs to another user")
            .instead
            .contains("as in Jasmin")
    );
    assert!(
        note(&converted, "password of \"foouser\"")
            .instead
            .contains("enabled")
    );
    assert!(
        note(&converted, "quota balance 44.2")
            .instead
            .contains("billing")
    );
    assert!(
        note(&converted, "\"bar\" is only listed")
            .instead
            .contains("user -s bar")
    );
}

#[test]
fn the_first_route_that_fits_still_decides() {
    let converted = convert(&[source(SESSION)]).unwrap();
    assert_eq!(
        tables(&converted.toml, "[[route]]"),
        [
            "prefix = \"\"; to = [\"spare\"]",
            "prefix = \"33\"; account = \"foouser\"; to = [\"acme\"]",
            "prefix = \"44\"; to = [{ \"acme\" = 1, \"spare\" = 1 }]",
        ]
    );
    assert!(
        note(&converted, "no message reaches the route for \"447\"")
            .instead
            .contains("higher order")
    );
    assert!(
        note(&converted, "route 10: the filter \"TI")
            .instead
            .contains("left out")
    );
    assert!(note(&converted, "httpccm http_1").place.line > 60);
}

#[test]
fn rates_become_prices_in_whole_credits() {
    let session = "\
jcli : smppccm -s acme
cid acme
host 127.0.0.1
port 2776
jcli : user -s foo
username foouser
uid foo
gid all
mt_messaging_cred quota balance 44.2
jcli : mtrouter -l
#Order Type                    Rate       Connector ID(s)  Filter(s)
#30    StaticMTRoute           0.015      smppc(acme)      <U (uid=foo)>, <DA (dst_addr=^33)>
#20    StaticMTRoute           0.02       smppc(acme)      <DA (dst_addr=^33)>
#0     DefaultRoute            0.1        smppc(acme)
";
    let converted = convert(&[source(session)]).unwrap();
    assert_eq!(
        tables(&converted.toml, "[policy]"),
        ["prices = { default = 100, 33 = 20 }; currency = \"1of1000\""]
    );
    assert_eq!(
        tables(&converted.toml, "[[account]]"),
        [
            "system_id = \"foouser\"; prepaid = true; password = \"change-me\"; enabled = false; \
          prices = { 33 = 15 }"
        ]
    );
    let balance = note(&converted, "quota balance 44.2");
    assert!(
        balance.instead.contains("smsc balance add foouser 44200"),
        "{balance:?}"
    );
    assert_eq!(balance.urgency, crate::Urgency::Must);
    assert!(
        note(&converted, "1000 are one of Jasmin's")
            .instead
            .contains("invoice")
    );
}

#[test]
fn an_http_connector_that_was_not_captured_is_named() {
    let session = "\
jcli : morouter -l
#Order Type            Connector ID(s)   Filter(s)
#10    StaticMORoute   http(http_9)      <T>
jcli : httpccm -a
> cid secure
> url https://example.com/mo
> method POST
> ok
";
    let converted = convert(&[source(session)]).unwrap();
    assert!(
        note(
            &converted,
            "MO route 10: there is no HTTP connector \"http_9\""
        )
        .instead
        .contains("httpccm -l")
    );
    let accounts = tables(&converted.toml, "[[account]]");
    assert!(
        accounts[0].contains("callback_format = \"jasmin\"") && !accounts[0].contains("private"),
        "{accounts:?}"
    );
}

#[test]
fn commands_that_added_things_have_the_passwords() {
    let converted = convert(&[source(ADDED)]).unwrap();
    assert_eq!(
        tables(&converted.toml, "[[account]]"),
        ["system_id = \"foo\"; password = \"bar\""]
    );
    assert_eq!(
        tables(&converted.toml, "[[operator]]"),
        [
            "id = \"Demo\"; address = \"127.0.0.1:2775\"; system_id = \"smppclient\"; password = \"password\"; rate = 1"
        ]
    );
    assert_eq!(
        tables(&converted.toml, "[[route]]"),
        ["prefix = \"44\"; account = \"foo\"; to = [\"Demo\"]"]
    );
}

#[test]
fn captures_without_commands_and_in_several_files_are_one() {
    let part = |from: &str, to: &str| {
        let text = SESSION.split(from).nth(1).unwrap();
        source(text.split(to).next().unwrap())
    };
    let connector = part("jcli : smppccm -s acme\n", "jcli :");
    let user = part("jcli : user -s foo\n", "jcli :");
    let routes = source(
        "#Order Type  Rate  Connector ID(s)  Filter(s)\n#0  DefaultRoute  0 (!)  smppc(acme)\n",
    );
    let toml = convert(&[connector, user, routes]).unwrap().toml;
    assert_eq!(tables(&toml, "[[operator]]").len(), 1, "{toml}");
    assert_eq!(tables(&toml, "[[account]]").len(), 1, "{toml}");
    assert_eq!(
        tables(&toml, "[[route]]"),
        ["prefix = \"\"; to = [\"acme\"]"]
    );
}

#[test]
fn pickles_are_refused_with_what_to_give_instead() {
    for text in [
        "Persisted on Fri Nov 21 10:00:00 2026 [Jasmin 0.10.13]\n\u{FFFD}\u{2}}q",
        "a\u{0}b",
    ] {
        let refused = convert(&[source(text)]).unwrap_err();
        assert!(refused.why.contains("smppccm -s CID"), "{refused}");
    }
    assert!(convert(&[source("hello world\n")]).is_err());
}

#[test]
fn a_connector_that_only_receives_is_in_no_route() {
    let session = "\
jcli : smppccm -s in
cid in
host 127.0.0.1
port 2775
bind receiver
ssl yes
jcli : smppccm -s out
cid out
host 127.0.0.1
port 2776
bind transmitter
jcli : mtrouter -l
#Order Type                    Rate   Connector ID(s)          Filter(s)
#20    RandomRoundrobinMTRoute 0 (!)  smppc(in), smppc(out)    <DA (dst_addr=^44)>
#10    StaticMTRoute           0 (!)  smppc(in)                <DA (dst_addr=^33)>
#0     DefaultRoute            0 (!)  smppc(out)
";
    let converted = convert(&[source(session)]).unwrap();
    assert_eq!(
        tables(&converted.toml, "[[route]]"),
        // The route for 44 is the same without the receiver.
        ["prefix = \"\"; to = [\"out\"]"],
        "{}",
        converted.toml
    );
    let operators = tables(&converted.toml, "[[operator]]");
    assert!(operators[0].contains("bind = \"receiver\"") && operators[0].contains("tls = true"));
    assert!(!operators[1].contains("tls"), "{operators:?}");
    for order in ["route 20", "route 10"] {
        let what = format!("{order}: smppc(in) binds as receiver");
        assert!(note(&converted, &what).instead.contains("left out"));
    }
    assert!(
        note(&converted, "in: ssl yes")
            .instead
            .contains("tls_ca_file")
    );
}
