//! The chart helm/smsc: valid in every mode, strict about values, and its output starts the real
//! binary. Its dashboards and alerts name existing metrics, fire when they should, and have runbooks.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::harness::{
    self, Admin, Client, Peer, Process, database, debian_tool, free_port, python_script, run,
    submit, until,
};
use serde_json::Value;

const METRICS: [&str; 4] = [
    "smsc_messages_accepted_total",
    "smsc_binds",
    "smsc_queue_oldest_seconds",
    "smsc_store_commit_seconds_total",
];

/// Runs a script of tests/clients to its end; its output lists the errors.
fn checked(script: &str, arguments: &[&str]) -> Value {
    Client::run(python_script(script, arguments))
}

/// The files and settings of a pod for one combination of values, with paths of this machine.
struct Pod {
    folder: tempfile::TempDir,
    smpp: SocketAddr,
    http: SocketAddr,
    health: SocketAddr,
    token: String,
}

// === impl Pod ===

impl Pod {
    fn of(case: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let rendered = checked("helm_chart.py", &["config", case, path]);
        Self {
            smpp: ([127, 0, 0, 1], free_port()).into(),
            http: ([127, 0, 0, 1], free_port()).into(),
            health: ([127, 0, 0, 1], free_port()).into(),
            token: rendered["token"].as_str().unwrap().to_owned(),
            folder,
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The container's command; only ports and the data folder differ from the pod's.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(harness::binary());
        command
            .args(arguments)
            .current_dir(self.path())
            .env("SMSC_CONFIG", self.path().join("smsc.toml"))
            .env("SMSC_DATA_DIR", self.path().join("data"))
            .env("SMSC_SMPP__LISTEN", self.smpp.to_string())
            .env("SMSC_HTTP__LISTEN", self.http.to_string())
            .env("SMSC_HTTP__HEALTH_LISTEN", self.health.to_string());
        command
    }

    /// Runs the hook of an upgrade with a changed file.
    fn applies_a_change(&self) {
        let file = self.path().join("smsc.toml");
        let route = "\n[[route]]\nprefix = \"99\"\nto = [\"test:failed\"]\n";
        let before = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, before + route).unwrap();
        let url = format!("http://{}", self.http);
        let file = file.to_str().unwrap();
        let said = run(&mut self.command(&["apply", "--file", file, "--yes", "--url", &url]));
        assert!(said.success, "{}{}", said.stdout, said.stderr);
        let routes = Admin::new(self.http, &self.token).get("/v1/routes");
        assert!(routes.to_string().contains("\"99\""), "{routes}");
    }

    /// Serves, passes the same probes as in Kubernetes, accepts a message and ends in good order.
    fn serves(&self) {
        let log = self.path().join("log");
        let mut process = Process::start("smsc serve", self.command(&["serve"]), &log);
        until("the health check to succeed", || {
            process.assert_running();
            run(&mut self.command(&["health"])).success.then_some(())
        });
        // The probes of the pod use a separate port.
        let probed = Admin::new(self.health, "none")
            .text("/health/ready")
            .unwrap();
        assert_eq!(probed.0, 200, "{}", probed.1);
        let mut esme = Peer::bind(self.smpp, "shop", "sesame");
        let id = esme.submit(submit("33123456789", "through the chart"));
        let admin = Admin::new(self.http, &self.token);
        until("the message to be delivered", || {
            let message = admin.try_get(&format!("/v1/messages/{id}")).ok()?;
            (message["state"] == "DELIVERED").then_some(())
        });
        self.applies_a_change();
        // `kubectl exec` needs no flags.
        let queues = run(&mut self.command(&["queues"]));
        assert!(queues.stdout.contains("operator:up"), "{}", queues.stderr);
        let (_, metrics) = admin.text("/metrics").unwrap();
        for name in METRICS {
            assert!(metrics.contains(&format!("\n{name}")), "{name}: {metrics}");
        }
        // The alert for operators fires for one that is down.
        let down = "smsc_binds{name=\"up\",direction=\"out\",state=\"waiting\"}";
        until("binds to nobody to wait", || {
            let (_, metrics) = admin.text("/metrics").ok()?;
            metrics.contains(down).then_some(())
        });
        assert_eq!(process.terminate().code(), Some(0));
    }
}

#[test]
fn every_mode_renders_objects_that_kubernetes_accepts() {
    checked("helm_chart.py", &["render"]);
}

#[test]
fn wrong_values_are_refused_with_the_reason() {
    checked("helm_chart.py", &["refused"]);
}

#[test]
fn the_binary_accepts_what_is_rendered() {
    let cases = checked("helm_chart.py", &["cases"]);
    for case in cases["cases"].as_array().unwrap() {
        let case = case.as_str().unwrap();
        let pod = Pod::of(case);
        let answer = run(&mut pod.command(&["check-config"]));
        assert!(answer.success, "{case}: {}{}", answer.stdout, answer.stderr);
    }
}

#[test]
fn a_node_starts_from_what_is_rendered() {
    Pod::of("embedded").serves();
}

#[test]
fn a_cluster_starts_from_what_is_rendered() {
    let pod = Pod::of("cluster");
    let database = database();
    std::fs::write(pod.path().join("database-url"), database.url()).unwrap();
    // The hook runs first; without it the node logs what is missing.
    let early = run(&mut pod.command(&["serve"]));
    assert!(
        !early.success && early.stderr.contains("migrate"),
        "{}",
        early.stderr
    );
    let migrated = run(&mut pod.command(&["migrate"]));
    assert!(migrated.success, "{}", migrated.stderr);
    pod.serves();
}

/// `SMSC_BLESS=1` writes them.
#[test]
fn what_is_derived_is_up_to_date() {
    let bless = std::env::var_os("SMSC_BLESS").is_some();
    let arguments: &[&str] = if bless { &[] } else { &["--check"] };
    let said = run(&mut python_script("../../helm/generate", arguments));
    let text = format!("{}{}", said.stdout, said.stderr);
    assert!(
        said.success,
        "{text}or SMSC_BLESS=1 cargo test --test docs helm_chart"
    );
}

#[test]
fn every_query_names_metrics_that_exist() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    checked("observability.py", &["metrics", path]);
    // Prometheus checks their syntax.
    promtool(&["check", "rules", &format!("{path}/queries.yaml")]);
}

#[test]
fn every_alert_fires_when_it_should_and_has_its_runbook() {
    promtool(&["check", "rules", "helm/smsc/alerts/smsc.rules.yaml"]);
    promtool(&["test", "rules", "tests/alerts/smsc.test.yaml"]);
    checked("observability.py", &["runbooks"]);
}

#[test]
fn image_and_compose_files_fit_together() {
    checked("observability.py", &["files"]);
    let mut check = Command::new(harness::binary());
    check
        .args(["check-config", "--config", "deploy/compose/smsc.toml"])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let said = run(&mut check);
    assert!(said.success, "{}", said.stderr);
}

fn promtool(arguments: &[&str]) {
    let mut command = debian_tool("promtool");
    command
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let said = run(&mut command);
    assert!(said.success, "{}{}", said.stdout, said.stderr);
}
