//! Validation of operators over CMPP, SMGP and SGIP, of listeners for CMPP, and of accounts that use it.

use super::peers::{account, operator};
use super::refused;

#[test]
fn operators_over_protocols_of_carriers() {
    let cases = [
        (
            "carrier = { service_id = 'S' }",
            "operator[0].carrier: means nothing for SMPP; add `protocol = \"cmpp\"` or another, or remove it",
        ),
        (
            "protocol = 'cmpp'\nbind = 'receiver'",
            "operator[0].bind: has no meaning in CMPP, whose connections carry both directions; remove it",
        ),
        (
            "protocol = 'cmpp'\nsend_as = 'deliver_sm'",
            "operator[0].send_as: has no meaning in CMPP; remove it",
        ),
        (
            "protocol = 'cmpp'\ncarrier = { fee_payer = 4 }",
            "operator[0].carrier.fee_payer: must be between 0 and 3",
        ),
        (
            "protocol = 'cmpp'\ncarrier = { fee_payer = 3 }",
            "operator[0].carrier.fee_number: is missing; it pays with `fee_payer = 3`",
        ),
        (
            "protocol = 'cmpp'\ncarrier = { requests = 0 }",
            "operator[0].carrier.requests: must be at least 1",
        ),
        (
            "protocol = 'cmpp'\ncarrier = { fee_type = '1' }",
            "operator[0].carrier.fee_type: must be two digits",
        ),
        (
            "protocol = 'cmpp'\ncarrier = { fee_code = '1000000' }",
            "operator[0].carrier.fee_code: must be up to 6 digits",
        ),
    ];
    for (lines, problem) in cases {
        assert_eq!(operator(lines), [problem], "{lines}");
    }
    let cases = [
        (
            "protocol = 'smgp'\nsend_as = 'data_sm'",
            "operator[0].send_as: has no meaning in SMGP; remove it",
        ),
        (
            "protocol = 'smgp'\ncarrier = { version = '3.0' }",
            "operator[0].carrier.version: has no meaning in SMGP; remove it",
        ),
        (
            "protocol = 'cmpp'\ncarrier = { fixed_fee = '5' }",
            "operator[0].carrier.fixed_fee: has no meaning in CMPP; remove it",
        ),
        (
            "protocol = 'smgp'\ncarrier = { fixed_fee = 'five' }",
            "operator[0].carrier.fixed_fee: must be up to 6 digits",
        ),
        (
            "protocol = 'smgp'\ncarrier = { msg_src = '123456789' }",
            "operator[0].carrier.msg_src: has 9 octets; the standard allows 8",
        ),
    ];
    for (lines, problem) in cases {
        assert_eq!(operator(lines), [problem], "{lines}");
    }
    for (lines, key) in [
        ("carrier = { service_id = '12345678901' }", "service_id"),
        ("carrier = { msg_src = '1234567' }", "msg_src"),
        (
            "carrier = { fee_number = '1234567890123456789012' }",
            "fee_number",
        ),
    ] {
        let problems = operator(&format!("protocol = 'cmpp'\n{lines}"));
        assert_eq!(problems.len(), 1, "{problems:?}");
        let start = format!("operator[0].carrier.{key}: ");
        assert!(problems[0].starts_with(&start), "{problems:?}");
    }
}

#[test]
fn operators_over_sgip() {
    let sgip = |keys: &str| format!("protocol = 'sgip'\n{keys}");
    let carrier = |keys: &str| sgip(&format!("carrier = {{ {keys} node = 3010012345 }}"));
    let cases = [
        (
            sgip(""),
            "operator[0].carrier.node: is missing; the gateway's owner assigns it: 3, area code, company",
        ),
        (
            carrier("") + "\nbind = 'receiver'",
            "operator[0].bind: has no meaning in SGIP, where we only send; remove it",
        ),
        (
            carrier("") + "\npassword = 'seventeen octets.'",
            "operator[0].password: has more than the 16 octets of Login Password",
        ),
        (
            carrier("msg_src = 'S',"),
            "operator[0].carrier.msg_src: has no meaning in SGIP; remove it",
        ),
        (
            carrier("corp_id = '123456',"),
            "operator[0].carrier.corp_id: has 6 octets; the standard allows 5",
        ),
        (
            carrier("agent_flag = 2,"),
            "operator[0].carrier.agent_flag: must be 0 or 1",
        ),
        (
            carrier("mt_flag = 4,"),
            "operator[0].carrier.mt_flag: must be between 0 and 3",
        ),
        (
            carrier("fee_payer = 1,"),
            "operator[0].carrier.fee_payer: must be 0, 2 or 3 in SGIP",
        ),
        (
            carrier("fee_type = '01',"),
            "operator[0].carrier.fee_type: must be a digit between 0 and 4",
        ),
        (
            carrier("given_value = 'x',"),
            "operator[0].carrier.given_value: must be up to 6 digits",
        ),
        (
            carrier("gateway_name = '12345678901234567',"),
            "operator[0].carrier.gateway_name: has 17 octets; the standard allows 16",
        ),
        (
            carrier("gateway_from = ['here'],"),
            "operator[0].carrier.gateway_from[0]: \"here\" is neither an IP address nor a CIDR block such as 192.0.2.0/24",
        ),
        (
            "protocol = 'cmpp'\ncarrier = { node = 1 }".to_owned(),
            "operator[0].carrier.node: has no meaning in CMPP; remove it",
        ),
    ];
    for (lines, problem) in cases {
        assert_eq!(operator(&lines), [problem], "{lines}");
    }
}

#[test]
fn listeners_and_accounts_over_cmpp() {
    assert_eq!(
        refused("[[listener]]\nlisten = '127.0.0.1:7890'\nprotocol = 'cmpp'\nalphabet = 'gsm'"),
        [
            "listener[0].alphabet: means nothing with CMPP, whose Msg_Fmt says what a text is; remove it"
        ]
    );
    let unknown = refused("[[listener]]\nlisten = '127.0.0.1:7890'\nprotocol = 'sgip'");
    assert!(
        unknown[0].starts_with("listener[0].protocol: expected"),
        "{unknown:?}"
    );
    for (lines, problem) in [
        (
            "carrier = { fee_payer = 4 }",
            "account[0].carrier.fee_payer: must be between 0 and 3",
        ),
        (
            "carrier = { fee_code = 'free' }",
            "account[0].carrier.fee_code: must be up to 6 digits",
        ),
        (
            "carrier = { fee_type = '002' }",
            "account[0].carrier.fee_type: must be up to 2 digits",
        ),
        (
            "carrier = { service_id = '12345678901' }",
            "account[0].carrier.service_id: has 11 octets; the standard allows 10",
        ),
        (
            "carrier = { version = '3.0' }",
            "account[0].carrier.version: unknown key, known are: service_id, msg_src, fee_payer, fee_number, fee_type, fee_code",
        ),
        (
            "carrier_secret = 's'\ncarrier_secret_file = 'f'",
            "account[0].carrier_secret_file: set either this or `carrier_secret`, not both",
        ),
    ] {
        assert_eq!(account(lines), [problem], "{lines}");
    }
    // Source_Addr has room for six octets.
    let long = refused("[[account]]\nsystem_id = '1234567'\npassword = 'pw'\ncarrier_secret = 's'");
    assert_eq!(
        long,
        ["account[0].system_id: has 7 octets; the standard allows 6"]
    );
}
