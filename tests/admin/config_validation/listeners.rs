//! Validation of TLS and PROXY on both sides: listeners for ESMEs, connections to operators.

use super::peers::operator;
use super::refused;

#[test]
fn listeners() {
    let listener = |lines: &str| refused(&format!("[[listener]]\n{lines}"));
    let cases = [
        (
            "",
            "listener[0].listen: is missing; write an address such as \"0.0.0.0:3550\"",
        ),
        (
            "listen = '127.0.0.1:2775'",
            "listener[0].listen: 127.0.0.1:2775 is already in smpp.listen; choose another, or \
             write smpp.listen = []",
        ),
        (
            "listen = '127.0.0.1:3550'\ntls_cert = 'a.pem'",
            "listener[0].tls_key: is missing; set it beside tls_cert",
        ),
        (
            "listen = '127.0.0.1:3550'\ntls_client_ca = 'a.pem'",
            "listener[0].tls_client_ca: means nothing without `tls_cert` and `tls_key`; set all \
             three",
        ),
        (
            "listen = '127.0.0.1:3550'\nproxy_from = ['balancer']",
            "listener[0].proxy_from[0]: \"balancer\" is neither an IP address nor a CIDR block \
             such as 192.0.2.0/24",
        ),
    ];
    for (lines, problem) in cases {
        assert_eq!(listener(lines), [problem], "{lines}");
    }
    for (lines, problem) in [
        (
            "tls_cert = 'a.pem'",
            "sgip.tls_key: is missing; set it beside tls_cert",
        ),
        (
            "tls_client_ca = 'a.pem'",
            "sgip.tls_client_ca: means nothing without `tls_cert` and `tls_key`; set all three",
        ),
        (
            "tls_client_crl = 'a.pem'",
            "sgip.tls_client_crl: means nothing without `tls_client_ca`; set both",
        ),
    ] {
        assert_eq!(refused(&format!("[sgip]\n{lines}")), [problem], "{lines}");
    }
    let without_tls = "operator[0].tls_name: means nothing without TLS; add `tls = true`";
    assert_eq!(operator("tls_name = 'a.example'"), [without_tls]);
    let no_name = "operator[0].tls_name: \"a b\" is neither a host name nor an IP address";
    assert_eq!(operator("tls = true\ntls_name = 'a b'"), [no_name]);
}
