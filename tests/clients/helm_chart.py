"""Renders the chart helm/smsc as `helm template` does, and checks what comes out.

    helm_chart.py render              every combination of values: lint, Kubernetes' schemas, CRDs
    helm_chart.py refused             wrong values, each refused with the right words
    helm_chart.py config CASE FOLDER  writes smsc.toml and the secrets that a pod of CASE would see
    helm_chart.py cases               the names of the combinations

The last line is JSON for the Rust test that started it; what is wrong stands before it, and the
exit code is 1. The Helm SDK does what the helm program does, the schema of values included.
"""

import json
import sys
import tomllib
from pathlib import Path

import helm_python
import kubernetes_validate
import yaml

CHART = str(Path(__file__).resolve().parents[2] / "helm" / "smsc")
# The oldest release that the chart allows, and the newest that the schemas know.
KUBERNETES = ["1.30", "1.36"]
CRDS = {"ServiceMonitor", "PrometheusRule"}

PEERS = {
    "config": {
        "account": [
            {"system_id": "shop", "rate": 200, "allow": ["127.0.0.0/8"]},
            {"system_id": "bank"},
        ],
        "operator": [
            {
                "id": "up",
                "address": "127.0.0.1:1",
                "system_id": "us",
                "binds": 2,
                "retry": {"delays": ["1m"]},
            },
            {"id": "open", "address": "127.0.0.1:1", "system_id": "us", "password": ""},
        ],
        "route": [
            {"prefix": "", "to": ["test:delivered"]},
            {"prefix": "4477", "to": {"up": 70, "open": 30}},
            {"prefix": "49", "to": ["up", "open"]},
        ],
        "retry": {
            "delays": ["30s", "5m"],
            "status": [{"status": "ESME_RSYSERR", "class": "throttled"}],
        },
        "queue": {"max_waiting": 20000000, "page": 1024},
        "store": {"min_free_mib": 1},
        "telemetry": {"trace_ratio": 0.05, "numbers": "hashed"},
    },
    "secrets": {
        "accounts": {"shop": "sesame", "bank": 'quo"te'},
        "operators": {"up": "secret"},
    },
}
CLUSTER = {
    **PEERS,
    "mode": "cluster",
    "secrets": {**PEERS["secrets"], "databaseUrl": "postgres://smsc@db.example/smsc"},
}
OBSERVED = {
    "metrics": {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}},
    "prometheusRule": {
        "enabled": True,
        "runbookBaseUrl": "https://git.example/runbooks.md",
        "disabled": ["SmscManyFail"],
        "overrides": {"SmscQueueOld": {"for": "20m", "labels": {"severity": "critical"}}},
        "alertLabels": {"team": "messaging"},
    },
    "dashboards": {"enabled": True},
    "tracing": {
        "enabled": True,
        "endpoint": "http://tempo:4317",
        "resourceAttributes": {"site": "north"},
    },
}
CASES = {
    "defaults": {},
    "embedded": PEERS,
    "embedded-bare": {
        **PEERS,
        "secrets": {**PEERS["secrets"], "sealPasswords": True, "sealingKey": "0f" * 32},
        "serviceAccount": {"create": False},
        "checkConfig": False,
        "applyConfig": False,
        "local": {"enabled": True, "hostPath": "/var/run/smsc"},
        "preStopSeconds": 0,
        "restartOnConfigChange": False,
        "image": {"digest": "sha256:" + "0" * 64, "repository": "registry.example/smsc"},
        "service": {"smpp": {"type": "NodePort", "nodePort": 30275}},
        "listenAddress": "[::]",
    },
    "embedded-policy": {
        "local": {"enabled": True},
        "config": {
            "local": {"mode": "0660", "users": {"10001": "shop"}},
            "policy": {"blocked_senders": ["list:brands"]},
            "list": [{"name": "brands", "entries": ["BANK"]}],
        }
    },
    "cluster": {**CLUSTER, **OBSERVED},
    "cluster-redis": {
        **CLUSTER,
        "redis": {"enabled": True},
        "secrets": {
            **CLUSTER["secrets"],
            "redisUrl": "redis://redis.example/0",
            "adminToken": "sesame",
            "oidcClientSecret": "a secret",
        },
        "config": {
            **CLUSTER["config"],
            "http": {
                "oidc": {
                    "issuer": "https://sso.example",
                    "client_id": "smsc",
                    "redirect_url": "https://smsc.example/oidc/callback",
                    "role_read": ["staff"],
                }
            },
        },
        "persistence": {"enabled": False},
        "replicaCount": 5,
    },
    "cluster-everything": {
        **CLUSTER,
        **OBSERVED,
        "redis": {"enabled": True},
        "secrets": {"existingSecret": "smsc-secrets"},
        "autoscaling": {"enabled": True, "queueAge": {"enabled": True}},
        "networkPolicy": {
            "enabled": True,
            "restrictEgress": True,
            "smppFrom": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
            "egressTo": [
                {
                    "to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}],
                    "ports": [{"port": 2775, "protocol": "TCP"}],
                }
            ],
        },
        "service": {
            "smpp": {
                "type": "LoadBalancer",
                "loadBalancerSourceRanges": ["10.0.0.0/8"],
                "proxyFrom": ["10.0.0.0/8"],
            },
            "smppTls": {"enabled": True, "secretName": "smpp-tls", "clientCertificates": True},
            "cmpp": {"enabled": True},
            "sgip": {"enabled": True, "tlsSecretName": "sgip-tls", "clientCertificates": True},
            "api": {
                "enabled": True,
                "proxyFrom": ["10.0.0.0/8"],
                "ingress": {"enabled": True, "host": "sms.example", "tlsSecret": "sms-tls"},
            },
        },
        "persistence": {"storageClassName": "fast", "annotations": {"a": "b"}},
        "imagePullSecrets": ["pull"],
        "commonLabels": {"team": "messaging"},
        "podLabels": {"x": "y"},
        "podAnnotations": {"x": "y"},
        "extraEnv": [{"name": "SMSC_LOG__LEVEL", "value": "debug"}],
        "extraEnvFrom": [{"secretRef": {"name": "more"}}],
        "extraVolumes": [{"name": "ca", "configMap": {"name": "ca"}}],
        "extraVolumeMounts": [{"name": "ca", "mountPath": "/etc/ca"}],
        "extraContainers": [{"name": "ship", "image": "shipper:1"}],
        "extraConfig": "[runtime]\nsession_threads = 2\n",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "sms", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "high",
        "fullnameOverride": "centre",
    },
}

# Values, and words of the answer.
REFUSED = [
    ({"mode": "both"}, ["mode", "embedded", "cluster"]),
    ({"replicas": 3}, ["replicas"]),
    ({"config": {"smpp": {"listen": "0.0.0.0:1"}}}, ["config/smpp", "listen"]),
    ({"config": {"queue": {"max_wating": 3}}}, ["config/queue", "max_wating"]),
    ({"config": {"validity": {"default": "3 days"}}}, ["config/validity/default"]),
    ({"config": {"account": [{"password": "x"}]}}, ["account/0", "system_id"]),
    (
        {"config": {"account": [{"system_id": "a", "password": "x"}]}},
        ["account", "\"a\"", "in clear", "ConfigMap", "secrets.accounts.a"],
    ),
    (
        {
            "config": {
                "operator": [
                    {"id": "up", "address": "h:1", "system_id": "us", "password": "$argon2id$x"}
                ]
            }
        },
        ["operator", "in clear", "secrets.operators.up"],
    ),
    ({"secrets": {"sealPasswords": True}}, ["secrets.sealingKey"]),
    (
        {
            "config": {
                "operator": [{"id": "up", "address": "a:1", "system_id": "u", "binds": "two"}]
            }
        },
        ["operator/0/binds"],
    ),
    ({"secrets": {"accounts": {"shop": 1234}}}, ["secrets/accounts/shop", "string"]),
    ({"tracing": {"protocol": "udp"}}, ["tracing/protocol"]),
    ({"tracing": {"endpoint": "https://tempo:4317"}}, ["tracing/endpoint"]),
    ({"service": {"smppTls": {"enabled": True}}}, ["service.smppTls.secretName", "tls.crt"]),
    (
        {"service": {"sgip": {"enabled": True, "clientCertificates": True}}},
        ["service.sgip.tlsSecretName", "ca.crt"],
    ),
    (
        {"config": {"http": {"oidc": {"issuer": "https://sso.example", "client_secret": "s"}}}},
        ["config.http.oidc.client_secret", "secrets.oidcClientSecret"],
    ),
    ({"autoscaling": {"enabled": True}}, ["autoscaling.enabled", "mode: cluster"]),
    ({"persistence": {"enabled": False}}, ["persistence.enabled", "would be lost"]),
    ({"redis": {"enabled": True}}, ["redis.enabled"]),
    ({"mode": "cluster"}, ["secrets.databaseUrl"]),
    ({**CLUSTER, "redis": {"enabled": True}}, ["secrets.redisUrl"]),
    ({"config": {"account": [{"system_id": "shop"}]}}, ["shop", "secrets.accounts.shop"]),
    (
        {"config": {"account": [{"system_id": "shop", "carrier_secret": "s"}]}},
        ["shop", "carrier_secret_file"],
    ),
    (
        {"config": {"operator": [{"id": "up", "address": "a:1", "system_id": "u"}]}},
        ["up", "secrets.operators.up"],
    ),
    ({"tracing": {"enabled": True}}, ["tracing.endpoint"]),
    ({"terminationGracePeriodSeconds": 30}, ["terminationGracePeriodSeconds", "45"]),
    (
        {"prometheusRule": {"enabled": True, "disabled": ["SmscNothing"]}},
        ["SmscNothing", "SmscQueueOld"],
    ),
]


def rendered(values):
    """The objects, and the text of NOTES.txt."""
    files = helm_python.Chart.load(CHART).render(values, name="smsc", namespace="messages")
    notes = next(text for name, text in files.items() if name.endswith("NOTES.txt"))
    objects = []
    for name, text in files.items():
        if not name.endswith("NOTES.txt"):
            objects += [one for one in yaml.safe_load_all(text) if one]
    return objects, notes


def of_kind(objects, kind, name=None):
    return [
        one for one in objects if one["kind"] == kind and name in (None, one["metadata"]["name"])
    ]


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
        with_schemas(report, case, [one for one in objects if one["kind"] not in CRDS])
        names = [(one["kind"], one["metadata"]["name"]) for one in objects]
        report.expect(len(names) == len(set(names)), f"{case}: two objects of one name: {names}")
        look_closer(report, case, values, objects)
        report.expect("smsc queues" in notes, f"{case}: NOTES.txt says nothing")
    restarts(report)
    report.end(objects=count)


def restarts(report):
    """Pods restart for what only that changes, and not for what `smsc apply` brings."""

    def checksum(**more):
        objects, _ = rendered({**PEERS, "config": {**PEERS["config"], **more}})
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
    ):
        report.expect(checksum(**applied) == before, f"{applied} restarts the pods")
    report.expect(checksum(queue={"page": 512}) != before, "another queue restarts nothing")


def with_schemas(report, case, objects):
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
    wanted = None if scaled else values.get("replicaCount", 3) if cluster else 1
    expect(replicas == wanted, f"{replicas} replicas, not {wanted}")
    jobs = of_kind(objects, "Job")
    before = (
        ["migrate"] if cluster else ["check-config"] if values.get("checkConfig", True) else None
    )
    after = ["apply"] if values.get("config") and values.get("applyConfig", True) else None
    commands = [job["spec"]["template"]["spec"]["containers"][0]["args"][:1] for job in jobs]
    wanted = [command for command in (after, before) if command]
    expect(sorted(commands) == sorted(wanted), f"hooks {commands}, not {wanted}")
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
            expect(
                volumes["secrets"]["secret"]["secretName"] in secret_names,
                "the Secret does not exist",
            )
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
    hosts = [rule["host"] for one in of_kind(objects, "Ingress") for rule in one["spec"]["rules"]]
    ingress = api.get("ingress", {})
    expect(hosts == ([ingress["host"]] if ingress.get("enabled") else []), f"Ingress: {hosts}")
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


def observed(expect, values, objects):
    monitors, rules = of_kind(objects, "ServiceMonitor"), of_kind(objects, "PrometheusRule")
    wanted = "metrics" in values
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
    for values, words in REFUSED:
        try:
            rendered(values)
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is its refusal
            missing = [word for word in words if word not in str(error)]
            report.expect(not missing, f"{values}: {missing} not in: {error}")
        else:
            report.expect(False, f"{values}: accepted")
    report.end(refused=len(REFUSED))


def config(case, folder):
    """The files as the pod has them, at paths that exist here."""
    folder = Path(folder)
    values = {**CASES[case]}
    values["secrets"] = {**values.get("secrets", {}), "mountPath": str(folder)}
    objects, _ = rendered(values)
    (name,) = [
        one["metadata"]["name"]
        for one in of_kind(objects, "StatefulSet") + of_kind(objects, "Deployment")
    ]
    (settings,) = of_kind(objects, "ConfigMap", name)
    (folder / "smsc.toml").write_text(settings["data"]["smsc.toml"])
    # Of a Secret that the chart does not make, as its README says.
    secrets = {
        "admin-token": "of-yours",
        "database-url": "postgres://a@b/c",
        "redis-url": "redis://a",
        "account-shop": "sesame",
        "account-bank": "pass",
        "sealing-key": "0f" * 32,
        "operator-up": "secret",
    }
    for secret in of_kind(objects, "Secret", name):
        secrets = secret["stringData"]
    for key, text in secrets.items():
        (folder / key).write_text(text)
    Report().end(token=secrets["admin-token"])


if __name__ == "__main__":
    cases = lambda: Report().end(cases=list(CASES))  # noqa: E731
    commands = {"render": render, "refused": refused, "config": config, "cases": cases}
    commands[sys.argv[1]](*sys.argv[2:])
