//! The chart helm/smsc: valid in every mode, strict about values, and its output starts the real
//! binary. Its dashboards and alerts name existing metrics, fire when they should, and have runbooks.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::harness::{
    self, Admin, Authority, Client, Cluster, Database, Finished, Peer, Process, RedisDatabase,
    Simulator, Smsc, SmscBuilder, database, debian_tool, node_modules, python_script,
    redis_database, run, submit, until,
};
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus};

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

/// The Secret of the release changes while the nodes run: they use what the kubelet brings, and so do the Jobs.
#[test]
fn a_changed_secret_reaches_nodes_and_jobs_without_a_restart() {
    let mut pod = Pod::of("embedded");
    let mut process = pod.start();
    let binds = |password: &str| {
        let mut peer = Peer::connect(pod.smpp());
        let status = peer.bind_as(Body::BindTransceiver, "shop", password);
        status == CommandStatus::ESME_ROK
    };
    assert!(binds("sesame"));
    std::fs::write(pod.path().join("account-shop"), "open").unwrap();
    std::fs::write(pod.path().join("admin-token"), "another-token-for-admins").unwrap();
    // At once, as an upgrade may follow the change: the nodes may not have looked yet.
    let hooks = ["smsc-before-removals", "smsc-after"];
    for hook in hooks {
        let said = pod.runs(hook, &pod);
        assert!(said.success, "{hook}: {}{}", said.stdout, said.stderr);
    }
    assert!(binds("open") && !binds("sesame"));
    let old = pod.admin().text("/v1/accounts").unwrap().0;
    assert_eq!(old, 401, "the old token");
    "another-token-for-admins".clone_into(&mut pod.token);
    pod.admin().get("/v1/accounts");
    let log = std::fs::read_to_string(pod.path().join("log")).unwrap();
    for key in ["http.admin_token_file", "accounts/shop.password_file"] {
        assert!(log.contains(key), "{key}: {log}");
    }
    assert_eq!(process.terminate().code(), Some(0));
}

/// Whoever watches logs for warnings is not called for a release that comes, is upgraded and goes.
#[test]
fn a_release_that_comes_and_goes_logs_no_warning() {
    let pod = Pod::of("defaults");
    // At every address, as in a container.
    let file = pod.path().join("smsc.toml");
    let rendered = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, rendered.replace("\"127.0.0.1:", "\"0.0.0.0:")).unwrap();
    for _ in ["installed", "restarted by an upgrade"] {
        let mut process = pod.start();
        assert_eq!(process.terminate().code(), Some(0));
    }
    let log = std::fs::read_to_string(pod.path().join("log")).unwrap();
    let loud = ["WARN", "ERROR"].map(|level| format!("\"level\":\"{level}\""));
    let line = log
        .lines()
        .find(|line| loud.iter().any(|level| line.contains(level)));
    assert_eq!(line, None);
    assert!(log.contains("\"level\":\"INFO\""), "{log}");
}

/// As with Argo CD's first sync, which runs the hooks of an upgrade, and where an installation has failed: nothing that
/// could be asked is there.
#[test]
fn nothing_that_runs_holds_no_release_up() {
    let pod = Pod::of("embedded");
    let said = pod.runs("smsc-before-removals", &pod);
    assert!(said.success, "{}{}", said.stdout, said.stderr);
    for word in [
        "nothing listens",
        "nothing was compared",
        "service.http.url",
    ] {
        assert!(said.stderr.contains(word), "{word}: {}", said.stderr);
    }
    // Its Service was never made.
    let file = pod.path().join("smsc.toml").display().to_string();
    let apply = [
        "apply",
        "--file",
        &file,
        "--url",
        "http://smsc-http.invalid:8080",
    ];
    let ask = [
        "--refuse-removals",
        "--dry-run",
        "--names-only",
        "--if-running",
    ];
    let said = run(&mut pod.command(&[&apply[..], &ask].concat()));
    assert!(said.success, "{}{}", said.stdout, said.stderr);
    // Who applies does not go on without nodes.
    let said = run(&mut pod.command(&[&apply[..], &["--yes"]].concat()));
    assert!(!said.success, "{}", said.stdout);
    // Nor does a wrong token count as none that run.
    let mut process = pod.start();
    let url = format!("http://{}", pod.at("8080"));
    let there = [
        "apply",
        "--file",
        &file,
        "--url",
        &url,
        "--token",
        "a-wrong-token",
    ];
    let said = run(&mut pod.command(&[&there[..], &ask].concat()));
    let refused = said.stderr.contains("does not accept the token");
    assert!(!said.success && refused, "{}{}", said.stdout, said.stderr);
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

/// What a node exports, for an hour and a half, as promtool wants it.
fn lasting_series(metrics: &str) -> Vec<Value> {
    let of_scrape = r#"namespace="messages",job="smsc-http",instance="node""#;
    let samples = metrics.lines().filter(|line| !line.starts_with('#'));
    let mut series: Vec<Value> = samples
        .filter_map(|line| {
            let line = line.split(" # ").next()?;
            let (name, value) = line.rsplit_once(' ')?;
            let name = match name.strip_suffix('}') {
                Some(labels) => format!("{labels},{of_scrape}}}"),
                None => format!("{name}{{{of_scrape}}}"),
            };
            // Of all that counts only its rounds are made without anything to do.
            let a_minute = usize::from(name.starts_with("smsc_janitor_rounds_total"));
            Some(json!({"series": name, "values": format!("{value}+{a_minute}x100")}))
        })
        .collect();
    series.push(json!({"series": format!("up{{{of_scrape}}}"), "values": "1+0x100"}));
    series
}

/// None of the chart's alerts fires for a node that is well and has nothing to do, whatever its store.
#[test]
fn no_alert_fires_at_an_idle_node() {
    let operator = Simulator::new().start();
    let up = operator.address();
    let configured = move |smsc: SmscBuilder| smsc.relaying_to(up);
    let embedded = configured(Smsc::new()).start();
    let clusters = [Cluster::of(1), Cluster::of(1).redis()];
    let clusters = clusters.map(|cluster| cluster.each(configured).start());
    let nodes = [&embedded, &clusters[0].nodes[0], &clusters[1].nodes[0]];
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("helm/smsc/alerts/smsc.rules.yaml");
    let text = std::fs::read_to_string(&rules).unwrap();
    let alerts = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    let none_fires: Vec<Value> = alerts
        .map(|name| json!({"eval_time": "95m", "alertname": name, "exp_alerts": []}))
        .collect();
    assert!(none_fires.len() > 15, "{none_fires:?}");
    let folder = tempfile::tempdir().unwrap();
    for node in nodes {
        node.wait_for_binds("up", 1);
        let (_, metrics) = node.admin().text("/metrics").unwrap();
        assert!(metrics.contains("smsc_store_free_bytes"), "{metrics}");
        let test = json!({
            "rule_files": [rules],
            "evaluation_interval": "1m",
            "tests": [{
                "interval": "1m",
                "input_series": lasting_series(&metrics),
                "alert_rule_test": none_fires,
            }],
        });
        let file = folder.path().join("idle.yaml");
        std::fs::write(&file, test.to_string()).unwrap();
        promtool(&["test", "rules", file.to_str().unwrap()]);
    }
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

#[test]
fn base_images_are_named_by_digest() {
    checked("pin_images.py", &[]);
}

fn promtool(arguments: &[&str]) {
    let mut command = debian_tool("promtool");
    command
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let said = run(&mut command);
    assert!(said.success, "{}{}", said.stdout, said.stderr);
}
