//! Validation of `[compat.smpp_connector]`, and of operators whose credentials come from there.

use super::refused;

fn connector(lines: &str) -> Vec<String> {
    refused(&format!("[compat.smpp_connector]\n{lines}"))
}

#[test]
fn where_credentials_come_from() {
    let cases = [
        (
            "management_url = 'ftp://ops'",
            "compat.smpp_connector.management_url: is no URL; write \"https://operators.example:3000\"",
        ),
        (
            "management_url = 'https://'",
            "compat.smpp_connector.management_url: is no URL; write \"https://operators.example:3000\"",
        ),
        (
            "management_url = 'https://user:secret@ops:3000'",
            "compat.smpp_connector.management_url: must hold no user; log in with management_token or management_cert",
        ),
        (
            "management_url = 'https://ops:3000/?a=b'",
            "compat.smpp_connector.management_url: must end before any `?` or `#`, because a path is appended to it",
        ),
        (
            "management_cert = 'tls.crt'",
            "compat.smpp_connector.management_cert: needs management_key, and management_key needs it",
        ),
        (
            "management_timeout = '0s'",
            "compat.smpp_connector.management_timeout: must be longer than \"0s\"",
        ),
        (
            "management_url = 'http://ops'\noperators = ['a', 'a']",
            "compat.smpp_connector.operators[1]: is there twice",
        ),
        (
            "operators = ['a']",
            "compat.smpp_connector.management_url: is missing: the operators of `operators` (OPERATOR_IDS) have \
             their credentials from there; set it, or OPERATOR_MGMT_URL",
        ),
        (
            "management_token = 't'\nmanagement_token_file = 'f'",
            "compat.smpp_connector.management_token_file: set either this or `management_token`, not both",
        ),
    ];
    for (lines, problem) in cases {
        assert_eq!(connector(lines), [problem], "{lines}");
    }
    let secret = connector("management_url = 'https://user:s3cr3t@ops'").join(" ");
    assert!(!secret.contains("s3cr3t"), "{secret}");
}

#[test]
fn what_a_managed_operator_must_not_have() {
    let why = "comes from the management service, because of `managed = true`; remove one of them";
    for (lines, problems) in [
        (
            "address = 'h:2775'",
            vec![format!("operator[0].address: {why}")],
        ),
        (
            "system_id = 's'\npassword = 'p'",
            vec![
                format!("operator[0].system_id: {why}"),
                format!("operator[0].password: {why}"),
            ],
        ),
        (
            "protocol = 'cmpp'\nsystem_id = '901234'",
            vec![
                "operator[0].managed: is only for operators over SMPP; remove it".to_owned(),
                format!("operator[0].system_id: {why}"),
            ],
        ),
    ] {
        let found = refused(&format!("[[operator]]\nid = 'op'\nmanaged = true\n{lines}"));
        assert_eq!(found, problems, "{lines}");
    }
}
