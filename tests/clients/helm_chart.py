"""Renders the chart helm/smsc as `helm template` does, and checks what comes out.

    helm_chart.py render              every combination of values: lint, Kubernetes' schemas, and what no schema says
    helm_chart.py custom FILE         writes the custom resources of all of them, for custom_resources.js
    helm_chart.py refused             wrong values, each refused with the right words
    helm_chart.py config CASE FOLDER VALUES
                                      writes smsc.toml and the secrets that a pod of CASE with more values would see
    helm_chart.py cases               the names of the combinations

The combinations are helm/smsc/ci/*-values.yaml.

The last line is JSON for the Rust test that started it; what is wrong stands before it, and the
exit code is 1. The Helm SDK does what the helm program does, the schema of values included.
"""

import functools
import json
import re
import socket
import sys
import tomllib
from pathlib import Path

import helm_keda
import helm_network
import helm_python
import helm_refused
import helm_upgrades
import yaml
from helm_network import objects_in, of_kind

CHART = str(Path(__file__).resolve().parents[2] / "helm" / "smsc")
# The oldest release that the chart allows, one between, and the newest that the schemas know.
KUBERNETES = ["1.30", "1.33", "1.37"]
# Arguments of `smsc apply` that decide what it does.
DECIDING = {"--refuse-removals", "--dry-run", "--names-only", "--if-running", "--yes"}
# Custom resources: their schemas are elsewhere.
CUSTOM = {"ServiceMonitor", "PrometheusRule", "HTTPRoute", "TCPRoute", "Cluster", "Redis", "Certificate"}

CASES = {
    file.name.removesuffix("-values.yaml"): yaml.safe_load(file.read_text())
    for file in sorted(Path(CHART).glob("ci/*-values.yaml"))
}
# What users are given to begin with.
CASES["embedded-small"] = yaml.safe_load(
    (Path(CHART).parents[1] / "deploy" / "kubernetes" / "small.yaml").read_text()
)


def rendered(values):
    """The objects, and the text of NOTES.txt."""
    files = helm_python.Chart.load(CHART).render(values, name="smsc", namespace="messages")
    notes = next(text for name, text in files.items() if name.endswith("NOTES.txt"))
    return objects_in(text for name, text in files.items() if not name.endswith("NOTES.txt")), notes


class Report:
    def __init__(self):
        self.wrong = []

    def expect(self, holds, what):
        if not holds:
            self.wrong.append(what)

    def end(self, **result):
        for line in self.wrong:
            print(line)
        print(json.dumps(result))
        sys.exit(bool(self.wrong))


def render():
    report = Report()
    lint = helm_python.lint(CHART, strict=True)
    report.expect(not lint["errors"], f"lint: {lint['errors']}")
    for message in lint["messages"]:
        report.expect(message["severity"] < 2, f"lint: {message}")
    count = 0
    for case, values in CASES.items():
        objects, notes = rendered(values)
        count += len(objects)
        with_schemas(report, case, [one for one in objects if one["kind"] not in CUSTOM])
        names = [(one["kind"], one["metadata"]["name"]) for one in objects]
        report.expect(len(names) == len(set(names)), f"{case}: two objects of one name: {names}")
        look_closer(report, case, values, objects)
        report.expect("smsc queue list" in notes, f"{case}: NOTES.txt says nothing")
    restarts(report)
    helm_upgrades.check(report, CASES)
    helm_network.policies(report, rendered)
    helm_keda.check(report, rendered, schemas(), KUBERNETES[-1])
    report.end(objects=count)


def restarts(report):
    """Pods restart for what only that changes, and not for what `smsc apply` brings."""

    def checksum(**more):
        peers = CASES["embedded"]
        objects, _ = rendered({**peers, "config": {**peers["config"], **more}})
        (workload,) = of_kind(objects, "StatefulSet")
        return workload["spec"]["template"]["metadata"]["annotations"]["checksum/config"]

    before = checksum()
    for applied in (
        {"account": []},
        {"operator": []},
        {"route": []},
        {"list": [{"name": "brands"}]},
        {"limit": [{"name": "few", "rate": 1}]},
        {"policy": {"blocked_senders": ["BANK"]}},
        {"mo_rule": [{"name": "hello", "keywords": ["HELLO"]}]},
        {"gsm": [{"name": "home", "address": "hlr:4222", "smsc_address": "447700900999"}]},
        {"number_range": [{"name": "home", "prefixes": ["44"]}]},
        {"event_sink": [{"name": "billing", "servers": ["nats://nats:4222"]}]},
        {"nats_source": [{"name": "up", "servers": ["nats://nats"], "subject": "a", "account": "shop"}]},
    ):
        report.expect(checksum(**applied) == before, f"{applied} restarts the pods")
    report.expect(checksum(queue={"page": 512}) != before, "another queue restarts nothing")


@functools.cache
def schemas():
    """kubernetes_validate: more than a second to import, and all of a release's definitions are read for each object if
    nothing keeps them."""
    import kubernetes_validate
    from kubernetes_validate import utils

    utils.schema_contents = functools.cache(utils.schema_contents)
    return kubernetes_validate


def with_schemas(report, case, objects):
    kubernetes_validate = schemas()
    for version in KUBERNETES:
        for one in objects:
            try:
                kubernetes_validate.validate(one, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                name = f"{one['kind']} {one['metadata']['name']}"
                report.expect(False, f"{case}, Kubernetes {version}, {name}: {error}")


def look_closer(report, case, values, objects):
    """What no schema says."""

    def expect(holds, what):
        report.expect(holds, f"{case}: {what}")

    cluster = values.get("mode") == "cluster"
    workloads = of_kind(objects, "StatefulSet") + of_kind(objects, "Deployment")
    expect(len(workloads) == 1, "not exactly one workload")
    workload = workloads[0]
    stateful = not cluster or values.get("persistence", {}).get("enabled", True)
    expect(
        workload["kind"] == ("StatefulSet" if stateful else "Deployment"),
        f"is a {workload['kind']}",
    )
    scaled = values.get("autoscaling", {}).get("enabled", False)
    replicas = workload["spec"].get("replicas")
    # Nothing runs yet.
    fewest = values.get("autoscaling", {}).get("minReplicas", 3)
    wanted = fewest if scaled else values.get("replicaCount", 3) if cluster else 1
    expect(replicas == wanted, f"{replicas} replicas, not {wanted}")
    jobs = of_kind(objects, "Job")
    hooks(expect, values, cluster, jobs)
    pods = [
        workload["spec"]["template"],
        *[job["spec"]["template"] for job in jobs],
        *of_kind(objects, "Pod"),
    ]
    secret_names = {one["metadata"]["name"] for one in of_kind(objects, "Secret")} | {
        values.get("secrets", {}).get("existingSecret")
    }
    configs = {one["metadata"]["name"] for one in of_kind(objects, "ConfigMap")}
    for pod in pods:
        spec = pod["spec"]
        expect(spec["automountServiceAccountToken"] is False, "a token is mounted")
        expect(spec["securityContext"]["runAsNonRoot"] is True, "may run as root")
        expect(
            spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault",
            "no seccomp profile",
        )
        container = spec["containers"][0]["securityContext"]
        expect(
            container["readOnlyRootFilesystem"] and not container["allowPrivilegeEscalation"],
            "too many rights",
        )
        expect(container["capabilities"] == {"drop": ["ALL"]}, "keeps capabilities")
        volumes = {volume["name"]: volume for volume in spec.get("volumes", [])}
        for mount in spec["containers"][0].get("volumeMounts", []):
            claims = [
                claim["metadata"]["name"]
                for claim in workload["spec"].get("volumeClaimTemplates", [])
            ]
            expect(
                mount["name"] in volumes or mount["name"] in claims, f"no volume {mount['name']}"
            )
        if volumes:
            expect(
                volumes["config"]["configMap"]["name"] in configs, "the ConfigMap does not exist"
            )
            used = secrets_of(volumes["secrets"])
            expect(used[0] in secret_names, f"the Secret {used[0]} does not exist")
            elsewhere = [
                values.get("secrets", {}).get(key, {}).get("name")
                for key in ("databaseUrlFrom", "redisUrlFrom")
            ]
            expect(used[1:] == [name for name in elsewhere if name], f"uses the Secrets {used}")
    labels = workload["spec"]["template"]["metadata"]["labels"]
    for selector in [one["spec"]["selector"] for one in of_kind(objects, "Service")] + [
        workload["spec"]["selector"]["matchLabels"]
    ]:
        expect(selector.items() <= labels.items(), f"selects nothing: {selector}")
    for one in of_kind(objects, "Pod") + [job["spec"]["template"] for job in jobs]:
        expect(
            one["metadata"]["labels"].get("app.kubernetes.io/component") != "node",
            "a Job behind a service",
        )
    served = [
        port
        for one in of_kind(objects, "Service")
        for port in one["spec"]["ports"]
        if port["port"] == 3550
    ]
    wanted = values.get("service", {}).get("smppTls", {}).get("enabled", False)
    expect(len(served) == wanted, f"ports for TLS: {served}")
    listening = {port["name"] for port in workload["spec"]["template"]["spec"]["containers"][0]["ports"]}
    expect(
        {port["targetPort"] for port in served} <= listening, "a TLS port that nothing serves"
    )
    (settings,) = of_kind(objects, "ConfigMap", workload["metadata"]["name"])
    settings = tomllib.loads(settings["data"]["smsc.toml"])
    cmpp = values.get("service", {}).get("cmpp", {}).get("enabled", False)
    expect(("cmpp" in listening) == cmpp, "a port for CMPP")
    protocols = [one.get("protocol") for one in settings.get("listener", [])]
    expect(("cmpp" in protocols) == cmpp, f"a listener for CMPP: {protocols}")
    sgip = values.get("service", {}).get("sgip", {})
    has_sgip = sgip.get("enabled", False)
    expect(("sgip" in listening) == has_sgip, "a port for gateways of SGIP")
    served = [one for one in of_kind(objects, "Service") if one["metadata"]["name"].endswith("-sgip")]
    expect(len(served) == has_sgip, f"a service for gateways of SGIP: {served}")
    expect(bool(settings.get("sgip", {}).get("listen")) == has_sgip, "sgip.listen")
    has_tls = bool(has_sgip and sgip.get("tlsSecretName"))
    expect(("tls_cert" in settings.get("sgip", {})) == has_tls, "sgip.tls_cert")
    api = values.get("service", {}).get("api", {})
    expect(("api" in settings) == api.get("enabled", False), "the table [api]")
    expect(("api" in listening) == api.get("enabled", False), "a port for the API")
    helm_network.ways_in(expect, values, objects)
    listeners = settings.get("listener", [])
    expect(
        len([one for one in listeners if "tls_cert" in one]) == wanted, f"listeners: {listeners}"
    )
    expect(len(of_kind(objects, "PodDisruptionBudget")) == cluster, "PodDisruptionBudget")
    for scaler in of_kind(objects, "HorizontalPodAutoscaler"):
        target = scaler["spec"]["scaleTargetRef"]
        expect(
            (target["kind"], target["name"]) == (workload["kind"], workload["metadata"]["name"]),
            f"scales {target}",
        )
        expect(len(scaler["spec"]["metrics"]) == 2, "no fallback to CPU")
    observed(expect, values, objects)


def hooks(expect, values, cluster, jobs):
    """Which Jobs there are: what would be removed is asked before, and applied after."""
    applied = {"account", "operator", "route", "list", "policy", "mo_rule"}
    applies = values.get("applyConfig", True) and bool(applied & set(values.get("config", {})))
    checks = values.get("checkConfig", True)
    allowed = values.get("allowRemovals", False)
    wanted = [["migrate"]] if cluster else [["check-config"]] if checks else []
    refuse = [] if allowed else ["--refuse-removals"]
    if applies:
        wanted += [["apply", *refuse, "--yes"]]
    if applies and checks and not allowed:
        wanted += [["apply", *refuse, "--dry-run", "--names-only", "--if-running"]]
    found = []
    for job in jobs:
        arguments = job["spec"]["template"]["spec"]["containers"][0]["args"]
        hook = job["metadata"]["annotations"]["helm.sh/hook"]
        before = arguments[0] != "apply" or "--dry-run" in arguments
        expect(("pre-upgrade" in hook) == before, f"{arguments} at {hook}")
        found.append([arguments[0], *[one for one in arguments if one in DECIDING]])
    expect(sorted(found) == sorted(wanted), f"hooks {found}, not {wanted}")


def secrets_of(volume):
    """The Secrets of a volume: the one of the release, then those of others."""
    if "secret" in volume:
        return [volume["secret"]["secretName"]]
    return [source["secret"]["name"] for source in volume["projected"]["sources"]]


def custom(file):
    """Custom resources of all combinations, with those of deploy/kubernetes/."""
    found = {case: [one for one in rendered(values)[0] if one["kind"] in CUSTOM] for case, values in CASES.items()}
    folder = Path(CHART).parents[1] / "deploy" / "kubernetes"
    for example in ("cloudnative-pg", "redis"):
        found[example] = list(yaml.safe_load_all((folder / f"{example}.yaml").read_text()))
    Path(file).write_text(json.dumps(found))
    Report().end(custom=sum(len(objects) for objects in found.values()))


def observed(expect, values, objects):
    monitors, rules = of_kind(objects, "ServiceMonitor"), of_kind(objects, "PrometheusRule")
    wanted = "prometheusRule" in values
    expect(len(monitors) == wanted and len(rules) == wanted, "ServiceMonitor or PrometheusRule")
    if not wanted:
        return
    selector = monitors[0]["spec"]["selector"]["matchLabels"]
    chosen = [
        one
        for one in of_kind(objects, "Service")
        if selector.items() <= one["metadata"]["labels"].items()
    ]
    expect(len(chosen) == 1, f"the ServiceMonitor selects {len(chosen)} services")
    endpoint = monitors[0]["spec"]["endpoints"][0]
    expect(
        endpoint["port"] in [port["name"] for port in chosen[0]["spec"]["ports"]],
        "a port that does not exist",
    )
    alerts = {
        rule["alert"]: rule
        for group in rules[0]["spec"]["groups"]
        for rule in group["rules"]
        if "alert" in rule
    }
    expect("SmscManyFail" not in alerts and len(alerts) > 15, "an alert that was disabled, or none")
    old = alerts["SmscQueueOld"]
    expect(
        old["for"] == "20m" and old["labels"] == {"severity": "critical", "team": "messaging"},
        f"not changed: {old}",
    )
    expect(
        old["annotations"]["runbook_url"] == "https://git.example/runbooks.md#smscqueueold",
        f"links to {old}",
    )
    boards = [
        one
        for one in of_kind(objects, "ConfigMap")
        if one["metadata"]["labels"].get("grafana_dashboard") == "1"
    ]
    expect(
        len(boards) == len(list(Path(CHART).glob("dashboards/*.json"))), "dashboards are missing"
    )
    for board in boards:
        for text in board["data"].values():
            json.loads(text)


def refused():
    report = Report()
    for values, words in helm_refused.REFUSED:
        try:
            rendered(values)
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is its refusal
            missing = [word for word in words if word not in str(error)]
            report.expect(not missing, f"{values}: {missing} not in: {error}")
        else:
            report.expect(False, f"{values}: accepted")
    report.end(refused=len(helm_refused.REFUSED))


def with_more(values, more):
    """Maps are merged, lists get longer."""
    if isinstance(values, dict) and isinstance(more, dict):
        both = {key: with_more(values[key], more[key]) for key in values.keys() & more.keys()}
        return {**values, **more, **both}
    return values + more if isinstance(values, list) and isinstance(more, list) else more


def config(case, folder, more):
    """The files as the pod has them, at paths that exist here, with free ports."""
    folder = Path(folder)
    values = with_more(CASES[case], json.loads(more) or {})
    values["secrets"] = {**values.get("secrets", {}), "mountPath": str(folder)}
    objects, _ = rendered(values)
    (workload,) = of_kind(objects, "StatefulSet") + of_kind(objects, "Deployment")
    name = workload["metadata"]["name"]
    (settings,) = of_kind(objects, "ConfigMap", name)
    ports = {}

    def elsewhere(match):
        with socket.socket() as tried:
            tried.bind(("127.0.0.1", 0))
            ports[match[1]] = tried.getsockname()[1]
        return f'"127.0.0.1:{ports[match[1]]}"'

    text = re.sub(r'"(?:0\.0\.0\.0|\[::\]):(\d+)"', elsewhere, settings["data"]["smsc.toml"])
    (folder / "smsc.toml").write_text(local(text, folder))
    # Of a Secret that the chart does not make, as its README says.
    secrets = {
        "admin-token": "of-yours",
        "account-shop": "sesame",
        "account-bank": "pass",
        "sealing-key": "0f" * 32,
        "operator-up": "secret",
    }
    for secret in of_kind(objects, "Secret", name):
        secrets = secret["stringData"]
    # In any case, for they may come from elsewhere.
    for key, text in {"database-url": "postgres://a@b/c", "redis-url": "redis://a", **secrets}.items():
        (folder / key).write_text(text)
    variables = {
        one["name"]: local(one["value"], folder)
        for one in workload["spec"]["template"]["spec"]["containers"][0]["env"]
        if "value" in one and one["name"] != "SMSC_CONFIG"
    }
    pods = {one["metadata"]["name"]: one["spec"]["template"] for one in of_kind(objects, "Job")}
    pods |= {one["metadata"]["name"]: one for one in of_kind(objects, "Pod")}
    hooks = {}
    for name, pod in pods.items():
        container = pod["spec"]["containers"][0]
        given = {one["name"]: local(one["value"], folder) for one in container["env"] if "value" in one}
        hooks[name] = {"arguments": container["args"], "ca": given.get("SMSC_CA", "")}
    Report().end(token=secrets["admin-token"], ports=ports, variables=variables, hooks=hooks)


def local(text, folder):
    """Paths of the container as folders of this machine."""
    return text.replace("/run/secrets/", f"{folder}/").replace("/run/smsc/", f"{folder}/")


if __name__ == "__main__":
    cases = lambda: Report().end(cases=list(CASES))  # noqa: E731
    commands = {
        "render": render,
        "custom": custom,
        "refused": refused,
        "config": config,
        "cases": cases,
    }
    commands[sys.argv[1]](*sys.argv[2:])
