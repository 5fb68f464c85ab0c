//! Validation of peers: accounts, operators and routes.

use super::refused;

/// An account with these lines added.
pub(super) fn account(lines: &str) -> Vec<String> {
    refused(&format!(
        "[[account]]\nsystem_id = 'acc'\npassword = 'pw'\n{lines}"
    ))
}

/// An operator with these lines added.
pub(super) fn operator(lines: &str) -> Vec<String> {
    refused(&format!(
        "[[operator]]\nid = 'op'\naddress = 'h:2775'\nsystem_id = 's'\n{lines}"
    ))
}

/// A route between one account and two operators.
fn route(lines: &str) -> Vec<String> {
    refused(&format!(
        "[[account]]\nsystem_id = 'acc'\npassword = 'pw'\n\
         [[operator]]\nid = 'up'\naddress = 'h:1'\nsystem_id = 's'\n\
         [[operator]]\nid = 'rx'\naddress = 'h:1'\nsystem_id = 's'\nbind = 'receiver'\n\
         [[route]]\n{lines}"
    ))
}

#[test]
fn what_operators_share_by() {
    let cases = [
        ("cost = -1", "operator[0].cost: must be a number from 0 up"),
        (
            "costs = { '44' = nan }",
            "operator[0].costs: NaN for \"44\" must be a number from 0 up",
        ),
        (
            "costs = { uk = 3 }",
            "operator[0].costs: \"uk\" must be up to 20 digits; write `cost` for the rest",
        ),
        (
            "costs = 3",
            "operator[0].costs: expected a table of prefixes with numbers, found the number 3; write { \"44\" = 3, \"4477\" = 2.5 }",
        ),
        (
            "breaker_share = 2",
            "operator[0].breaker_share: must be between 0 (none) and 1 (all)",
        ),
        (
            "breaker_failures = 5\nbreaker_pause = '0s'",
            "operator[0].breaker_pause: must be longer than \"0s\"",
        ),
    ];
    for (lines, problem) in cases {
        assert_eq!(operator(lines), [problem], "{lines}");
    }
    let cases = [
        (
            "name = 'x'\nmatches = ''\nto = ['up']",
            "route[0].matches: is empty; leave it out to match everything",
        ),
        (
            "name = 'x'\nsource_matches = '[0-9]{1000}{1000}'\nto = ['up']",
            "route[0].source_matches: repeats too much; make it simpler",
        ),
        (
            "matches = '^44'\nto = ['up']",
            "route[0].name: is missing; a route with an expression needs one",
        ),
    ];
    for (lines, problem) in cases {
        assert_eq!(route(lines), [problem], "{lines}");
    }
    let wrong = route("name = 'x'\nmatches = '^44['\nto = ['up']");
    assert!(
        wrong[0].starts_with("route[0].matches: is no regular expression: "),
        "{wrong:?}"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of mistakes")]
fn accounts() {
    assert_eq!(
        refused("[[account]]\nwindow = 5"),
        [
            "account[0].system_id: is missing",
            "account[0].password: is missing; set it or `password_file`",
        ]
    );
    let cases = [
        (
            "[[account]]\nsystem_id = 'acc'\npassword = 'x'",
            "account[1].system_id: \"acc\" is already account[0]",
        ),
        (
            "window = 0",
            "account[0].window: must be between 1 and 65535",
        ),
        (
            "window = 70000",
            "account[0].window: must be between 1 and 65535",
        ),
        (
            "duplicate_window = '11m'",
            "account[0].duplicate_window: must be at most 10m; \"0s\" never looks for duplicates",
        ),
        ("max_binds = 0", "account[0].max_binds: must be at least 1"),
        (
            "suspect_pause = '0s'",
            "account[0].suspect_pause: must be longer than \"0s\"",
        ),
        (
            "trace_ratio = -0.1",
            "account[0].trace_ratio: must be between 0 (none) and 1 (all)",
        ),
        (
            "rate = 0",
            "account[0].rate: must be above 0; remove the key for no limit",
        ),
        (
            "rate = -1.5",
            "account[0].rate: must be above 0; remove the key for no limit",
        ),
        (
            "rate = nan",
            "account[0].rate: must be above 0; remove the key for no limit",
        ),
        (
            "burst = 10",
            "account[0].burst: means nothing without `rate`; set both",
        ),
        (
            "rate = 5\nburst = 0",
            "account[0].burst: must be at least 1",
        ),
        (
            "allow = ['192.0.2.0/24', 'localhost']",
            "account[0].allow[1]: \"localhost\" is neither an IP address nor a CIDR block such as \
             192.0.2.0/24",
        ),
        (
            "max_waiting = 0",
            "account[0].max_waiting: must be at least 1",
        ),
        ("weight = 101", "account[0].weight: must be from 1 to 100"),
        (
            "quota_per_day = 0",
            "account[0].quota_per_day: must be at least 1",
        ),
        (
            "prepaid = true\nprices = { UK = 2 }",
            "account[0].prices.UK: \"UK\" is no prefix; write up to 20 digits without a plus, or \
             `default`",
        ),
        (
            "addresses = ['44 77']",
            "account[0].addresses[0]: must be digits or letters, with a `*` at the end for a prefix",
        ),
        (
            "addresses = ['1*']\n[[account]]\nsystem_id = 'b'\npassword = 'x'\naddresses = ['1*']",
            "account[1].addresses[0]: already belongs to account[0]",
        ),
        (
            "lists = { team = [] }",
            "account[0].lists.team: is empty; write at least one number",
        ),
        (
            "lists = { team = ['bob'] }",
            "account[0].lists.team: \"bob\" is not a number; write up to 20 digits",
        ),
        (
            "lists = { a-name-with-more-than-twenty = ['447700900001'] }",
            "account[0].lists.a-name-with-more-than-twenty: the name must have 1 to 20 ASCII characters",
        ),
        (
            "lists = { team = '447700900001' }",
            "account[0].lists: expected a table of lists of text, found a table; write { name = [\"447700900001\", \"447700900002\"] }",
        ),
        (
            "outbind = 'there'",
            "account[0].outbind: \"there\" is not an address; write \"host:port\"",
        ),
        (
            "outbind_password = 'knock'",
            "account[0].outbind_password: is without use; set `outbind` to host and port",
        ),
        (
            "priority_max = 4",
            "account[0].priority_max: must be between 0 and 3",
        ),
        (
            "registered_delivery = 32",
            "account[0].registered_delivery: must be between 0 and 31",
        ),
        (
            "system_type = '1234567890123'",
            "account[0].system_type: has 13 octets; the standard allows 12",
        ),
        (
            "message_id = 'octal'",
            "account[0].message_id: expected \"decimal\" or \"hex\", found the text \"octal\"; write one of them, in quotes",
        ),
        (
            "message_id_length = 18",
            "account[0].message_id_length: must be between 19 and 64 for decimal ids",
        ),
        (
            "message_id = 'hex'\nmessage_id_length = 65",
            "account[0].message_id_length: must be between 16 and 64 for hex ids",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(account(text), [message], "{text}");
    }
    assert_eq!(
        account("interface_version = 0"),
        ["account[0].interface_version: must be 0x33, 0x34 or 0x50"]
    );
    assert_eq!(
        refused("[[account]]\nsystem_id = 'a'\npassword = '$argon2id$x'"),
        ["account[0].password: starts like an argon2id hash but is none; write $argon2id$v=19$…"]
    );
}

#[test]
fn rules_that_rewrite_addresses() {
    let cases = [
        (
            "{ prefix = '0' }",
            "field: is missing; write \"source\" or \"destination\"",
        ),
        (
            "{ field = 'source', min_length = 7, max_length = 6 }",
            "min_length: is above max_length; nothing matches",
        ),
        (
            "{ field = 'source', strip = 21 }",
            "strip: must be at most 20, the longest address",
        ),
        (
            "{ field = 'source', add = '123456789012345678901' }",
            "add: has 21 octets; the standard allows 20",
        ),
        (
            "{ field = 'source', replace = 'Café' }",
            "replace: must be printable ASCII",
        ),
        (
            "{ field = 'source', replace = 'A', add = 'B' }",
            "replace: stands for the whole address; remove it, or `strip` and `add`",
        ),
        (
            "{ field = 'destination', replace = '' }",
            "replace: is empty; a message needs a destination",
        ),
        (
            "{ field = 'source', set_npi = 256 }",
            "set_npi: expected a whole number up to 255, found the number 256; write a number without quotes",
        ),
    ];
    let good = "{ field = 'destination', prefix = '00', strip = 2 }";
    for (rule, message) in cases {
        let rules = format!("[{good}, {rule}]");
        assert_eq!(
            account(&format!("rewrite_in = {rules}")),
            [format!("account[0].rewrite_in[1].{message}")]
        );
        assert_eq!(
            operator(&format!("rewrite_out = {rules}")),
            [format!("operator[0].rewrite_out[1].{message}")]
        );
    }
}

#[test]
fn operators() {
    assert_eq!(
        refused("[[operator]]"),
        [
            "operator[0].id: is missing",
            "operator[0].address: is missing; write \"host:port\"",
            "operator[0].system_id: is missing",
        ]
    );
    let cases = [
        (
            "[[operator]]\nid = 'op'\naddress = 'h:1'\nsystem_id = 's'",
            "operator[1].id: \"op\" is already operator[0]",
        ),
        (
            "[[account]]\nsystem_id = 'op'\npassword = 'x'\n[[route]]\nto = 'op'",
            "operator[0].id: \"op\" is also an account; routes could not tell them apart, rename one",
        ),
        ("binds = 0", "operator[0].binds: must be between 1 and 1000"),
        (
            "window = 0",
            "operator[0].window: must be between 1 and 65535",
        ),
        (
            "rate = 0",
            "operator[0].rate: must be above 0; remove the key for no limit",
        ),
        (
            "reconnect = []",
            "operator[0].reconnect: is empty; write at least one pause, such as [\"30m\"]",
        ),
        (
            "interface_version = 4",
            "operator[0].interface_version: must be 0x33, 0x34 or 0x50",
        ),
        (
            "bind_timeout = '0s'",
            "operator[0].bind_timeout: must be longer than \"0s\"",
        ),
        (
            "suspect_pause = '0s'",
            "operator[0].suspect_pause: must be longer than \"0s\"",
        ),
        (
            "correlation_ttl = '0s'",
            "operator[0].correlation_ttl: must be longer than \"0s\"",
        ),
        (
            "outcome_unknown = 'wait'\nreceipts = 'never'",
            "operator[0].outcome_unknown: \"wait\" needs receipts, but `receipts` is \"never\"; write \
             \"resend\"",
        ),
        (
            "retry.delays = []",
            "operator[0].retry.delays: is empty; write at least one pause, such as [\"30m\"]",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(operator(text), [message], "{text}");
    }
    for address in [
        "host",
        ":2775",
        "host:",
        "host:0",
        "host:99999",
        "a b:1",
        "http://h:1",
        "::1:5",
    ] {
        let text = format!("[[operator]]\nid = 'a'\nsystem_id = 's'\naddress = '{address}'");
        let message =
            format!("operator[0].address: {address:?} is not an address; write \"host:port\"");
        assert_eq!(refused(&text), [message]);
    }
    assert_eq!(
        refused("[[operator]]\nid = 'test:up'\naddress = 'h:1'\nsystem_id = 's'"),
        ["operator[0].id: must be up to 64 letters, digits, `-`, `_` or `.`"]
    );
}

#[test]
fn routes() {
    let cases = [
        (
            "prefix = '44'",
            "route[0].to: is missing; write a list of targets",
        ),
        (
            "to = ['upp']",
            "route[0].to[0]: there is no target \"upp\", did you mean `up`?",
        ),
        (
            "to = ['test:deliverd']",
            "route[0].to[0]: there is no target \"test:deliverd\", did you mean `test:delivered`?",
        ),
        (
            "to = ['up', 'up']",
            "route[0].to[1]: \"up\" is in this route twice",
        ),
        ("to = [{ up = 0 }]", "route[0].to[0]: has no weight above 0"),
        (
            "to = ['rx']",
            "route[0].to[0]: \"rx\" binds as receiver and cannot send",
        ),
        (
            "to = 'up'\nprefix = '44x'",
            "route[0].prefix: \"44x\" must be up to 20 digits, or empty",
        ),
        (
            "to = 'up'\naccount = 'ac'",
            "route[0].account: there is no account \"ac\", did you mean `acc`?",
        ),
        (
            "to = 'up'\nsource_prefix = '123456789012345678901'",
            "route[0].source_prefix: has 21 octets; the standard allows 20",
        ),
        (
            "prefix = '44'\nto = 'up'\n[[route]]\nprefix = '+44'\nto = 'acc'",
            "route[1]: has the same conditions as route[0]; join their targets",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(route(text), [message], "{text}");
    }
}

#[test]
fn what_an_operator_s_words_mean() {
    let cases = [
        (
            "statuses = { ESME_RNOSUCH = 'temporary' }",
            "operator[0].statuses.\"ESME_RNOSUCH\": is no command_status; write a name, a number such \
             as 0x0400, or a range such as 0x0410-0x041F",
        ),
        (
            "statuses = { '0x41F-0x410' = 'temporary' }",
            "operator[0].statuses.\"0x41F-0x410\": is no command_status; write a name, a number such \
             as 0x0400, or a range such as 0x0410-0x041F",
        ),
        (
            "statuses = { '0x0400' = 'later' }",
            "operator[0].statuses.\"0x0400\": \"later\" is no class; write one of temporary, \
             permanent, throttled",
        ),
        (
            "statuses = { '0-3' = 'temporary' }",
            "operator[0].statuses.\"0-3\": must not be ESME_ROK, which is no refusal; remove it",
        ),
        (
            "statuses = { '0x400-0x410' = 'temporary', '0x409-0x420' = 'permanent' }",
            "operator[0].statuses.\"0x409-0x420\": overlaps with \"0x400-0x410\"; write ranges that \
             do not",
        ),
        (
            "statuses = { RSYSERR = 'temporary', '8' = 'permanent' }",
            "operator[0].statuses.\"RSYSERR\": overlaps with \"8\"; write ranges that do not",
        ),
        (
            "receipt_states = { ACCEPTD = 'SENT' }",
            "operator[0].receipt_states.\"ACCEPTD\": \"SENT\" is no state; write one of ENROUTE, \
             DELIVERED, EXPIRED, DELETED, UNDELIVERABLE, ACCEPTED, UNKNOWN, REJECTED",
        ),
        (
            "receipt_states = { 'err:' = 'EXPIRED' }",
            "operator[0].receipt_states.\"err:\": is no word of a receipt; write its stat, or `err:` \
             and its error code",
        ),
        (
            "receipt_states = { SENT = 'ENROUTE', sent = 'DELIVERED' }",
            "operator[0].receipt_states.\"sent\": is there twice, in another case; remove one",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(operator(text), [expected], "{text}");
    }
    assert_eq!(
        operator("statuses = { RSYSERR = 8 }"),
        [
            "operator[0].statuses: expected a table of text, found a table; write { \"key\" = \"word\" }"
        ]
    );
}

#[test]
fn numbers_of_accounts() {
    let country = "account[0].country: must be two capital letters of ISO 3166 such as GB or DE";
    for code in ["", "gb", "UK", "GBR", "001"] {
        assert_eq!(account(&format!("country = '{code}'")), [country], "{code}");
    }
    let check = account("number_check = 'strict'");
    assert!(
        check[0].contains("\"any\", \"possible\" or \"valid\""),
        "{check:?}"
    );
}
