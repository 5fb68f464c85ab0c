//! The database over TLS: its certificate is verified against `postgres.ca_file`, and another
//! authority's is refused with the name of that key.

use std::fs;
use std::path::Path;
use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::harness::{Finished, PrivatePostgres, Smsc, rows, run};

/// An authority: its certificate in a file, and its signing key.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    /// Certificate and key of a server at 127.0.0.1.
    fn server(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

fn migrate(folder: &Path, url: &str, ca: Option<&Path>) -> Finished {
    let ca = ca.map_or(String::new(), |ca| format!("ca_file = {ca:?}\n"));
    let config = format!("data_dir = {folder:?}\n[postgres]\nurl = {url:?}\n{ca}");
    fs::write(folder.join("smsc.toml"), config).unwrap();
    run(Command::new(crate::harness::binary())
        .args(["migrate", "--config", "smsc.toml"])
        .current_dir(folder))
}

#[test]
fn the_servers_certificate_is_verified() {
    let authority = Authority::new();
    let (certificate, key) = authority.server();
    let server = PrivatePostgres::start_with_tls(&certificate, &key);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let ca = file("ca.pem", &authority.pem);
    let stranger = file("stranger.pem", &Authority::new().pem);
    let url = format!("{}?sslmode=require", server.url());

    for wrong in [Some(stranger.as_path()), None] {
        let refused = migrate(folder.path(), &url, wrong);
        assert!(!refused.success, "{}", refused.stdout);
        let named = refused.stderr.contains("postgres.ca_file");
        assert!(
            named && refused.stderr.contains("certificate"),
            "{}",
            refused.stderr
        );
    }
    let empty = file("empty.pem", "");
    let refused = migrate(folder.path(), &url, Some(&empty));
    assert!(
        refused.stderr.contains("postgres.ca_file") && refused.stderr.contains("empty.pem"),
        "{}",
        refused.stderr
    );

    let migrated = migrate(folder.path(), &url, Some(&ca));
    assert!(migrated.success, "{}", migrated.stderr);
    let smsc = Smsc::new()
        .toml(&format!("[postgres]\nurl = {url:?}\nca_file = {ca:?}"))
        .start();
    let spoken = rows(
        &server.url(),
        "SELECT ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE application_name = 'smsc'",
    );
    assert!(spoken.len() >= 2, "the readers and the writers");
    assert!(
        spoken.iter().all(|row| row.get::<_, bool>(0)),
        "each over TLS"
    );
    smsc.assert_no_panic();
}
