"""deploy/kubernetes/keda.yaml against what KEDA documents of a ScaledObject (keda.sh/docs: "ScaledObject specification", and
"Prometheus" of its scalers), and against the chart. Used by helm_chart.py."""

import copy
from pathlib import Path

import yaml

FILE = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes" / "keda.yaml"
KEYS = {
    "spec": {
        "scaleTargetRef",
        "pollingInterval",
        "cooldownPeriod",
        "initialCooldownPeriod",
        "idleReplicaCount",
        "minReplicaCount",
        "maxReplicaCount",
        "fallback",
        "advanced",
        "triggers",
    },
    "scaleTargetRef": {"apiVersion", "kind", "name", "envSourceContainerName"},
    "advanced": {
        "restoreToOriginalReplicaCount",
        "horizontalPodAutoscalerConfig",
        "scalingModifiers",
    },
    "horizontalPodAutoscalerConfig": {"name", "behavior"},
    "trigger": {"type", "name", "metadata", "metricType", "useCachedMetrics", "authenticationRef"},
    "metadata": {
        "serverAddress",
        "query",
        "threshold",
        "activationThreshold",
        "namespace",
        "customHeaders",
        "ignoreNullValues",
        "queryParameters",
        "unsafeSsl",
        "timeout",
        "authModes",
    },
}
NEEDED = {"serverAddress", "query", "threshold"}


def wrong_in(scaled, schemas, version):
    """What is wrong with a ScaledObject, by the schemas of a version of Kubernetes."""
    found = []

    def known(where, table):
        more = set(table) - KEYS[where]
        if more:
            found.append(f"{where} has no {sorted(more)}")

    if (scaled["apiVersion"], scaled["kind"]) != ("keda.sh/v1alpha1", "ScaledObject"):
        found.append(f"it is a {scaled['kind']} of {scaled['apiVersion']}")
    spec = scaled["spec"]
    advanced = spec.get("advanced", {})
    scaler = advanced.get("horizontalPodAutoscalerConfig", {})
    known("spec", spec)
    known("scaleTargetRef", spec["scaleTargetRef"])
    known("advanced", advanced)
    known("horizontalPodAutoscalerConfig", scaler)
    for trigger in spec["triggers"]:
        known("trigger", trigger)
        if trigger["type"] != "prometheus":
            found.append(f"a trigger of type {trigger['type']}")
        if trigger.get("metricType", "AverageValue") not in ("AverageValue", "Value"):
            found.append(f"metricType is {trigger['metricType']}")
        known("metadata", trigger["metadata"])
        if lacks := NEEDED - set(trigger["metadata"]):
            found.append(f"a trigger lacks {sorted(lacks)}")
        # The definition has a map of texts there, and KEDA reads numbers from them.
        for key, text in trigger["metadata"].items():
            if not isinstance(text, str):
                found.append(f"{key} is no text: {text!r}")
            elif key.lower().endswith("threshold") and not text.replace(".", "", 1).isdigit():
                found.append(f"{key} is no number: {text}")
    # KEDA makes this of it.
    made = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "keda-hpa-smsc"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", **spec["scaleTargetRef"]},
            "minReplicas": spec["minReplicaCount"],
            "maxReplicas": spec["maxReplicaCount"],
            "behavior": scaler.get("behavior", {}),
        },
    }
    try:
        schemas.validate(made, version, strict=True)
    except schemas.ValidationError as error:
        found.append(f"the autoscaler that KEDA makes: {error}")
    return found


def check(report, rendered, schemas, version):
    """The example is right, names what the chart makes, and scales as the chart's own autoscaler does."""
    (scaled,) = yaml.safe_load_all(FILE.read_text())
    for problem in wrong_in(scaled, schemas, version):
        report.expect(False, f"keda.yaml: {problem}")
    spec = scaled["spec"]
    values = {
        "mode": "cluster",
        "secrets": {"databaseUrl": "postgres://smsc@db/smsc"},
        "autoscaling": {"enabled": True, "queueAge": {"enabled": True}},
    }
    objects, _ = rendered(values)
    (own,) = [one["spec"] for one in objects if one["kind"] == "HorizontalPodAutoscaler"]
    target = {key: own["scaleTargetRef"][key] for key in ("kind", "name")}
    report.expect(spec["scaleTargetRef"] == target, f"keda.yaml: scales {spec['scaleTargetRef']}")
    between = (spec["minReplicaCount"], spec["maxReplicaCount"])
    report.expect(between == (own["minReplicas"], own["maxReplicas"]), f"keda.yaml: {between} nodes")
    behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    report.expect(behavior == own["behavior"], f"keda.yaml: {behavior}")
    # An age is not divided by the nodes.
    age = next(one["external"] for one in own["metrics"] if one["type"] == "External")
    trigger = spec["triggers"][0]
    found = (trigger.get("metricType", "AverageValue"), trigger["metadata"]["threshold"])
    wanted = (age["target"]["type"], age["target"]["value"])
    report.expect(found == wanted, f"keda.yaml: the age counts as {found}, not {wanted}")
    # What a slip of the pen would be.
    for where in ("spec", "trigger", "metadata", "behavior"):
        slip = copy.deepcopy(scaled)
        place = {
            "spec": slip["spec"],
            "trigger": slip["spec"]["triggers"][0],
            "metadata": slip["spec"]["triggers"][0]["metadata"],
            "behavior": slip["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"],
        }[where]
        place["nonsense"] = "1"
        report.expect(wrong_in(slip, schemas, version), f"keda.yaml: nonsense in {where} is not found")
