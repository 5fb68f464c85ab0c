//! Traces over TLS: nginx in front of the collector asks for a client certificate and for a header, as hosted ones do.

use std::net::{SocketAddr, TcpStream};

use super::collector::Collector;
use super::{ALL, STEPS, assert_is_whole, smsc};
use crate::harness::{
    Authority, Peer, Process, Simulator, Smsc, SmscBuilder, debian_tool, free_port, submit, until,
};

const TOKEN: &str = "Bearer of-the-tests";
const CONFIGURATION: &str = r#"
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {
        listen 127.0.0.1:PORT ssl http2;
        ssl_certificate server.pem;
        ssl_certificate_key server.key;
        ssl_client_certificate ca.pem;
        ssl_verify_client on;
        if ($http_authorization != "TOKEN") { return 401; }
        location /v1/traces { proxy_pass http://HTTP; }
        location / { grpc_pass grpc://GRPC; }
    }
}
"#;

/// nginx, the collectors behind it, and the files of a client.
struct Secure {
    grpc: Collector,
    http: Collector,
    folder: tempfile::TempDir,
    address: SocketAddr,
    nginx: Process,
}

// === impl Secure ===

impl Secure {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let authority = Authority::new("collectors");
        std::fs::write(path.join("ca.pem"), &authority.pem).unwrap();
        std::fs::write(path.join("other.pem"), Authority::new("others").pem).unwrap();
        authority.sign("127.0.0.1").write(path, "server");
        authority.sign("smsc.example").write(path, "client");
        let (grpc, http) = (Collector::grpc(), Collector::http());
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let configuration = CONFIGURATION
            .replace("PORT", &address.port().to_string())
            .replace("TOKEN", TOKEN)
            .replace("HTTP", &http.address().to_string())
            .replace("GRPC", &grpc.address().to_string());
        std::fs::write(path.join("nginx.conf"), configuration).unwrap();
        let mut command = debian_tool("nginx");
        command.arg("-p").arg(path).args(["-c", "nginx.conf"]);
        let mut nginx = Process::start("nginx", command, &path.join("nginx.log"));
        until("nginx to listen", || {
            nginx.assert_running();
            TcpStream::connect(address).ok()
        });
        Self {
            grpc,
            http,
            folder,
            address,
            nginx,
        }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// An SMSC that sends here, with these authorities.
    fn observes(&self, smsc: SmscBuilder, protocol: &str, authorities: &str) -> SmscBuilder {
        let endpoint = format!("https://{}", self.address);
        smsc.env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
            .env("OTEL_EXPORTER_OTLP_CERTIFICATE", &self.path(authorities))
            .env(
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Bearer%20of-the-tests",
            )
            .env("OTEL_SERVICE_NAME", "smsc-under-test")
            .env("OTEL_BSP_SCHEDULE_DELAY", "20")
    }

    fn with_certificate(&self, smsc: SmscBuilder) -> SmscBuilder {
        let certificate = (
            "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
            self.path("client.pem"),
        );
        let key = ("OTEL_EXPORTER_OTLP_CLIENT_KEY", self.path("client.key"));
        smsc.env(certificate.0, &certificate.1).env(key.0, &key.1)
    }
}

/// Sends a message and waits for its receipt.
fn send(smsc: &Smsc) -> String {
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    esme.deliver();
    id
}

#[test]
fn a_trace_goes_over_tls_with_a_client_certificate_and_headers() {
    let mut secure = Secure::start();
    let operator = Simulator::new().start();
    for (protocol, collector) in [("grpc", &secure.grpc), ("http/protobuf", &secure.http)] {
        let builder = secure.observes(smsc(ALL, operator.address()), protocol, "ca.pem");
        let smsc = secure.with_certificate(builder).start();
        let id = send(&smsc);
        let spans = collector.wait_for(STEPS.len());
        assert_is_whole(&spans, &id);
        smsc.assert_no_panic();
    }
    secure.nginx.assert_running();
}

#[test]
fn a_collector_that_is_not_trusted_or_does_not_trust_us_gets_nothing() {
    let secure = Secure::start();
    let operator = Simulator::new().start();
    for protocol in ["grpc", "http/protobuf"] {
        let stranger = secure.observes(smsc(ALL, operator.address()), protocol, "other.pem");
        let anonymous = secure.observes(smsc(ALL, operator.address()), protocol, "ca.pem");
        for (builder, word) in [
            (secure.with_certificate(stranger), "is not trusted here"),
            (anonymous, ""),
        ] {
            let smsc = builder.start();
            send(&smsc);
            let complaint = until("the log to say so", || {
                let log = smsc.log();
                let mut lines = log.lines();
                let line = lines.find(|line| line.contains("the collector does not take spans"));
                line.map(str::to_owned)
            });
            assert!(complaint.contains(word), "{protocol}: {complaint}");
            println!("{protocol}: {complaint}");
        }
    }
    assert!(secure.grpc.spans().is_empty() && secure.http.spans().is_empty());
}

#[test]
fn files_that_cannot_be_used_stop_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = folder.path().join("nothing.pem");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for (protocol, file, word) in [
        ("grpc", &nothing, "No such file"),
        ("http/protobuf", &empty, "there is no certificate in it"),
    ] {
        let mut command = std::process::Command::new(crate::harness::binary());
        command
            .arg("serve")
            .current_dir(folder.path())
            .env("SMSC_SMPP__LISTEN", format!("127.0.0.1:{}", free_port()))
            .env("SMSC_HTTP__LISTEN", format!("127.0.0.1:{}", free_port()))
            .env(
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "https://collector.example:4318",
            )
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
            .env("OTEL_EXPORTER_OTLP_CERTIFICATE", file);
        let finished = crate::harness::run(&mut command);
        assert!(!finished.success);
        let said = format!("{}{}", finished.stdout, finished.stderr);
        for expected in ["OTEL_EXPORTER_OTLP_CERTIFICATE", word] {
            assert!(said.contains(expected), "{expected}: {said}");
        }
    }
}
