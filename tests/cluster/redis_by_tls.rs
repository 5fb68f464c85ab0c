//! Redis over TLS: its certificate is verified against `redis.ca_file`. One from another authority is
//! refused, and then only shared limits are lost.

use crate::harness::{Peer, PrivateRedis, Smsc, submit, until};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// An authority's certificate, and the certificate and key of a server at 127.0.0.1.
fn authority() -> (String, String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    (pem, certificate.pem(), key.serialize_pem())
}

#[test]
fn the_servers_certificate_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (ca, certificate, key) = authority();
    let (ca, certificate) = (file("ca.pem", &ca), file("server.pem", &certificate));
    let server = PrivateRedis::start_with_tls(&certificate, &file("key.pem", &key));
    let stranger = file("stranger.pem", &authority().0);
    let url = format!("rediss://127.0.0.1:{}", server.tls_port());
    let start = |ca: &std::path::Path| {
        Smsc::new()
            .account_with("test", "test", "rate = 1000.0")
            .route("", "test:delivered")
            .toml(&format!("[redis]\nurl = {url:?}\nca_file = {ca:?}"))
            .start()
    };
    let is_up = |smsc: &Smsc| smsc.admin().metric("smsc_throttle_redis_up");

    let smsc = start(&ca);
    until("Redis to be connected", || {
        (is_up(&smsc)? == 1.0).then_some(())
    });
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(submit("447700900123", "hello"));
    until("tokens of Redis", || {
        let granted = smsc.admin().metric("smsc_throttle_redis_granted_total");
        (granted? > 0.0).then_some(())
    });

    let refusing = start(&stranger);
    until("the certificate to be refused", || {
        refusing.log().contains("ertificate").then_some(())
    });
    until("Redis to count as down", || {
        (is_up(&refusing)? == 0.0).then_some(())
    });
    let mut esme = Peer::bind(refusing.smpp(), "test", "test");
    esme.submit(submit("447700900123", "hello"));
    refusing.assert_no_panic();
}
