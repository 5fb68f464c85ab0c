//! The chart helm/smsc: valid in every mode, strict about values, and its output starts the real
//! binary. Its dashboards and alerts name existing metrics, fire when they should, and have runbooks.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::harness::{
    self, Admin, Authority, Client, Database, Finished, Peer, Process, RedisDatabase, database,
    debian_tool, node_modules, python_script, redis_database, run, submit, until,
};
use serde_json::{Value, json};

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
    ports: HashMap<String, u16>,
    variables: HashMap<String, String>,
    /// Jobs and the pod of `helm test`, by their names.
    hooks: Value,
    token: String,
}

// === impl Pod ===

impl Pod {
    fn of(case: &str) -> Self {
        Self::with(case, &Value::Null)
    }

    /// With more values than the case has; lists get longer by them.
    fn with(case: &str, more: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let more = more.to_string();
        let rendered = checked("helm_chart.py", &["config", case, path, &more]);
        let read = |key: &str| rendered[key].clone();
        Self {
            ports: serde_json::from_value(read("ports")).unwrap(),
            variables: serde_json::from_value(read("variables")).unwrap(),
            hooks: read("hooks"),
            token: rendered["token"].as_str().unwrap().to_owned(),
            folder,
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where it listens here, by the port in its container.
    fn at(&self, port: &str) -> SocketAddr {
        ([127, 0, 0, 1], self.ports[port]).into()
    }

    fn smpp(&self) -> SocketAddr {
        self.at("2775")
    }

    fn admin(&self) -> Admin {
        Admin::new(self.at("8080"), &self.token)
    }

    /// Databases behind its URLs, and certificates where its Secrets would be.
    fn supplied(case: &str) -> (Self, Database, RedisDatabase) {
        let pod = Self::of(case);
        let (database, redis) = (database(), redis_database());
        std::fs::write(pod.path().join("database-url"), database.url()).unwrap();
        std::fs::write(pod.path().join("redis-url"), redis.url()).unwrap();
        pod.gets_certificates();
        (pod, database, redis)
    }

    fn gets_certificates(&self) {
        let authority = Authority::new("cluster");
        let certificate = authority.sign("127.0.0.1");
        for secret in ["smsc-tls", "smsc-sgip", "smsc-otlp", "smsc-http"] {
            let folder = self.path().join(secret);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("ca.crt"), &authority.pem).unwrap();
            std::fs::write(folder.join("tls.crt"), &certificate.certificate).unwrap();
            std::fs::write(folder.join("tls.key"), &certificate.key).unwrap();
        }
    }

    /// The container's command; only ports and folders differ from the pod's.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(harness::binary());
        command
            .args(arguments)
            .current_dir(self.path())
            .envs(&self.variables)
            .env("SMSC_CONFIG", self.path().join("smsc.toml"))
            .env("SMSC_DATA_DIR", self.path().join("data"));
        command
    }

    fn start(&self) -> Process {
        let log = self.path().join("log");
        let mut process = Process::start("smsc serve", self.command(&["serve"]), &log);
        let probe = Admin::new(self.at("8081"), "none");
        until("the readiness probe to succeed", || {
            process.assert_running();
            let answer = probe.text("/health/ready").ok()?;
            (answer.0 == 200).then_some(())
        });
        process
    }

    /// Runs a hook of this pod's release while the nodes are those of another one.
    fn runs(&self, hook: &str, nodes: &Self) -> Finished {
        let hook = &self.hooks[hook];
        let here = |argument: &str| match argument.split_once("://smsc-http") {
            _ if argument == "/etc/smsc/smsc.toml" => {
                self.path().join("smsc.toml").display().to_string()
            }
            Some((scheme, _)) => format!("{scheme}://{}", nodes.at("8080")),
            None => argument.to_owned(),
        };
        let arguments = hook["arguments"].as_array().unwrap().iter();
        let arguments: Vec<String> = arguments.map(|one| here(one.as_str().unwrap())).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = self.command(&arguments);
        if let Some(ca) = hook["ca"].as_str().filter(|ca| !ca.is_empty()) {
            command.env("SMSC_CA", ca);
        }
        run(&mut command)
    }

    /// Runs the hook of an upgrade with a changed file.
    fn applies_a_change(&self) {
        let file = self.path().join("smsc.toml");
        let route = "\n[[route]]\nprefix = \"99\"\nto = [\"test:failed\"]\n";
        let before = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, before + route).unwrap();
        let said = self.runs("smsc-after", self);
        assert!(said.success, "{}{}", said.stdout, said.stderr);
        let routes = self.admin().get("/v1/routes");
        assert!(routes.to_string().contains("\"99\""), "{routes}");
    }

    /// Serves, passes the same probes as in Kubernetes, accepts a message and ends in good order.
    fn serves(&self) {
        let mut process = self.start();
        let health = run(&mut self.command(&["health"]));
        assert!(health.success, "{}", health.stderr);
        let mut esme = Peer::bind(self.smpp(), "shop", "sesame");
        let id = esme.submit(submit("33123456789", "through the chart"));
        let admin = self.admin();
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
fn custom_resources_are_what_their_makers_define() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = folder.join("resources.json");
    checked("helm_chart.py", &["custom", file.to_str().unwrap()]);
    std::os::unix::fs::symlink(node_modules(), folder.join("node_modules")).unwrap();
    std::fs::write(folder.join("package.json"), r#"{ "type": "module" }"#).unwrap();
    let script = "custom_resources.js";
    let of_tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    std::fs::copy(of_tests.join(script), folder.join(script)).unwrap();
    let mut command = Command::new("node");
    command.current_dir(folder).args([script, "resources.json"]);
    Client::run(command);
}

#[test]
fn every_rendered_configuration_starts_the_binary() {
    let cases = checked("helm_chart.py", &["cases"]);
    let cases = cases["cases"].as_array().unwrap();
    assert!(cases.len() >= 10, "{cases:?}");
    for case in cases {
        let case = case.as_str().unwrap();
        let (pod, _database, _redis) = Pod::supplied(case);
        let answer = run(&mut pod.command(&["check-config"]));
        assert!(answer.success, "{case}: {}{}", answer.stdout, answer.stderr);
        if case.starts_with("cluster") {
            let migrated = run(&mut pod.command(&["migrate"]));
            assert!(migrated.success, "{case}: {}", migrated.stderr);
        }
        println!("{case} starts");
        assert_eq!(pod.start().terminate().code(), Some(0), "{case}");
    }
}

#[test]
fn an_upgrade_removes_nothing_that_the_api_made_without_saying_so() {
    let mut pod = Pod::of("embedded");
    let mut process = pod.start();
    let admin = pod.admin();
    let made = json!({ "password": "pass" });
    let answer = admin.call("PUT", "/v1/accounts/made", Some(&made));
    assert_eq!(answer.0, 201, "{}", answer.1);
    // The hook before the upgrade, and the one after it should anything be made in between.
    for job in ["smsc-before-removals", "smsc-after"] {
        let said = pod.runs(job, &pod);
        assert!(!said.success, "{}", said.stdout);
        for word in [
            "accounts/made",
            "allowRemovals: true",
            "nothing was changed",
        ] {
            assert!(said.stderr.contains(word), "{word}: {}", said.stderr);
        }
        assert!(said.stdout.contains("- accounts/made"), "{}", said.stdout);
        admin.get("/v1/accounts/made");
    }
    let more = json!({ "allowRemovals": true, "secrets": { "adminToken": pod.token } });
    pod.hooks = Pod::with("embedded", &more).hooks;
    assert!(pod.hooks["smsc-before-removals"].is_null());
    let said = pod.runs("smsc-after", &pod);
    assert!(said.success, "{}", said.stderr);
    assert!(admin.try_get("/v1/accounts/made").is_err());
    assert_eq!(process.terminate().code(), Some(0));
}

/// The nodes that are asked before an upgrade do not have the files yet in which new passwords stand.
#[test]
fn an_upgrade_may_bring_accounts_and_operators_with_their_passwords() {
    let pod = Pod::of("embedded");
    let mut process = pod.start();
    let next = Pod::with(
        "embedded",
        &json!({
            "config": {
                "account": [{ "system_id": "fresh" }],
                "operator": [{ "id": "new", "address": "127.0.0.1:1", "system_id": "us" }],
            },
            "secrets": {
                "adminToken": pod.token,
                "accounts": { "fresh": "pass" },
                "operators": { "new": "pass" },
            },
        }),
    );
    let said = next.runs("smsc-before-removals", &pod);
    assert!(said.success, "{}{}", said.stdout, said.stderr);
    for new in [
        "+ accounts/fresh",
        "+ operators/new",
        "2 added, 0 changed, 0 removed",
    ] {
        assert!(said.stdout.contains(new), "{new}: {}", said.stdout);
    }
    // They refuse the whole until their own configuration names these files.
    let early = next.runs("smsc-after", &pod);
    assert!(
        !early.success && early.stderr.contains("account-fresh"),
        "{}",
        early.stderr
    );
    let made = json!({ "password": "pass" });
    let answer = pod.admin().call("PUT", "/v1/accounts/made", Some(&made));
    assert_eq!(answer.0, 201, "{}", answer.1);
    let said = next.runs("smsc-before-removals", &pod);
    assert!(!said.success, "{}", said.stdout);
    assert!(said.stderr.contains("accounts/made"), "{}", said.stderr);
    assert_eq!(process.terminate().code(), Some(0));
}

#[test]
fn hooks_reach_an_admin_api_that_speaks_tls() {
    let pod = Pod::of("embedded-https");
    pod.gets_certificates();
    let mut process = pod.start();
    for hook in ["smsc-before-removals", "smsc-after", "smsc-test-ready"] {
        let said = pod.runs(hook, &pod);
        assert!(said.success, "{hook}: {}{}", said.stdout, said.stderr);
    }
    assert_eq!(process.terminate().code(), Some(0));
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
