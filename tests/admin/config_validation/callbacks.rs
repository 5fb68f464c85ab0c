//! Validation of callbacks: where they go and what signs them.

use super::peers::account;

#[test]
fn callbacks_of_accounts() {
    let secret = "callback_secrets = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'";
    let with = |lines: &str| account(&format!("deliver_by = 'callback'\n{secret}\n{lines}"));
    assert_eq!(
        with(""),
        ["account[0].callback_url: is missing"],
        "without a URL"
    );
    assert_eq!(
        account("deliver_by = 'callback'\ncallback_url = 'https://a.example/'"),
        [
            "account[0].callback_secrets: is missing; a receiver could not tell callbacks from forgeries"
        ]
    );
    assert_eq!(
        account("deliver_by = 'webhook'"),
        [
            "account[0].deliver_by: expected \"smpp\", \"callback\" or \"both\", found the text \"webhook\"; write one of them, in quotes"
        ]
    );
    let scheme = "account[0].callback_url: must begin with https://, or http:// for a host of `callback_allow_private`";
    let private = "account[0].callback_url: is not a public address; see `callback_allow_private`";
    for (url, problem) in [
        ("http://a.example/", scheme),
        ("ftp://a.example/", scheme),
        ("https://169.254.169.254/latest", private),
        ("https://[::1]/", private),
        (
            "https://me:pw@a.example/",
            "account[0].callback_url: must not contain a user or a password; receivers know us by the signature",
        ),
        (
            "https://a.example/#top",
            "account[0].callback_url: must not contain `#`: a fragment is never sent",
        ),
    ] {
        assert_eq!(with(&format!("callback_url = '{url}'")), [problem], "{url}");
    }
    let url = "callback_url = 'https://a.example/'";
    for (line, problem) in [
        (
            "callback_allow_private = ['a b']",
            "callback_allow_private: \"a b\" is neither a host name nor an IP address nor a CIDR block such as 10.1.0.0/16",
        ),
        (
            "callback_concurrency = 0",
            "callback_concurrency: must be from 1 to 256",
        ),
        (
            "callback_timeout = '2m'",
            "callback_timeout: must be positive, and at most 1m",
        ),
        ("callback_rate = 0", "callback_rate: must be positive"),
    ] {
        let problem = format!("account[0].{problem}");
        assert_eq!(with(&format!("{url}\n{line}")), [problem], "{line}");
    }
    let wrong = account("callback_secrets = 'whsec_c2hvcnQ='");
    assert_eq!(
        wrong,
        [
            "account[0].callback_secrets: secret 1 must have 24 to 64 octets; `openssl rand -base64 32` makes 32"
        ]
    );
}

#[test]
fn hosts_and_names_of_callbacks_of_messages() {
    let secret = "callback_secrets = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'";
    let hosts = "must be a host name or an IP address, without `https://`, port and path";
    for (line, problem) in [
        ("callback_hosts = ['https://a.example']", format!("callback_hosts[0]: {hosts}")),
        ("callback_hosts = ['a.example:8443']", format!("callback_hosts[0]: {hosts}")),
        ("callback_hosts = ['*.example']", format!("callback_hosts[0]: {hosts}")),
        (
            "callbacks = { a = 'http://a.example/' }",
            "callbacks.a: must begin with https://, or http:// for a host of `callback_allow_private`".to_owned(),
        ),
        (
            "callbacks = { 'a/b' = 'https://a.example/' }",
            "callbacks.a/b: must have a name of up to 64 letters, digits, `-`, `_` and `.`".to_owned(),
        ),
    ] {
        let found = account(&format!("{secret}\n{line}"));
        assert_eq!(found, [format!("account[0].{problem}")], "{line}");
    }
    assert_eq!(
        account("callbacks = { a = 'https://a.example/' }"),
        [
            "account[0].callback_secrets: is missing; a receiver could not tell callbacks from forgeries"
        ]
    );
    let states = "account[0].callback_states:";
    for (line, problem) in [
        (
            "callback_states = ['sent', 'seen']\ncallback_hosts = ['a.example']",
            "\"seen\" is none of the states \"queued\", \"sent\" and \"retrying\"",
        ),
        (
            "callback_states = ['sent']",
            "needs callbacks: deliver_by = \"callback\" or \"both\", or callback_hosts or callbacks",
        ),
        (
            "callback_states = ['queued']\ncallback_format = 'jasmin'\ndeliver_by = 'callback'\ncallback_url = 'https://a.example/'",
            "can only be [\"sent\"] with callback_format = \"jasmin\" or \"jasmin_get\": Jasmin's reports know no other",
        ),
    ] {
        let found = account(line);
        assert_eq!(found, [format!("{states} {problem}")], "{line}");
    }
    // A receiver of Kannel's needs no signature, but a URL.
    assert_eq!(
        account("deliver_by = 'callback'\ncallback_format = 'kannel'"),
        ["account[0].callback_url: is missing"]
    );
}
