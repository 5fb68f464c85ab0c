"""The parts of values.schema.json that are Kubernetes' own: containers, volumes, affinity and the like.

They come from the schemas of Kubernetes that the package kubernetes-validate brings, in their strict form, which
refuses unknown keys, and without their descriptions. What of it a value of the chart is stands in OBJECTS and LISTS.
"""

import json
from importlib.resources import files

# The newest release whose schemas there are: what an older cluster does not know, it says itself.
RELEASE = "v1.37.0-local-strict"
PREFIX = "k8s."
OBJECTS = {
    "resources": "core.v1.ResourceRequirements",
    "podSecurityContext": "core.v1.PodSecurityContext",
    "securityContext": "core.v1.SecurityContext",
    "affinity": "core.v1.Affinity",
    "autoscaling.behavior": "autoscaling.v2.HorizontalPodAutoscalerBehavior",
}
LISTS = {
    "extraEnv": "core.v1.EnvVar",
    "extraEnvFrom": "core.v1.EnvFromSource",
    "extraVolumes": "core.v1.Volume",
    "extraVolumeMounts": "core.v1.VolumeMount",
    "extraContainers": "core.v1.Container",
    "initContainers": "core.v1.Container",
    "tolerations": "core.v1.Toleration",
    "topologySpreadConstraints": "core.v1.TopologySpreadConstraint",
    "networkPolicy.smppFrom": "networking.v1.NetworkPolicyPeer",
    "networkPolicy.sgipFrom": "networking.v1.NetworkPolicyPeer",
    "networkPolicy.httpFrom": "networking.v1.NetworkPolicyPeer",
    "networkPolicy.smppConnectorFrom": "networking.v1.NetworkPolicyPeer",
    "networkPolicy.apiFrom": "networking.v1.NetworkPolicyPeer",
    "networkPolicy.egressTo": "networking.v1.NetworkPolicyEgressRule",
}


def with_kubernetes(schema):
    """The schema with the definitions that are used, and the values that use them."""
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / RELEASE
    known = json.loads((folder / "_definitions.json").read_text())["$defs"]
    definitions = schema["$defs"]
    for name in [name for name in definitions if name.startswith(PREFIX)]:
        del definitions[name]
    for path, name in OBJECTS.items():
        place(schema, path, use(f"io.k8s.api.{name}", known, definitions))
    for path, name in LISTS.items():
        item = use(f"io.k8s.api.{name}", known, definitions)
        place(schema, path, {"type": "array", "items": item})
    return schema


def place(schema, path, described):
    *above, leaf = path.split(".")
    properties = schema["properties"]
    for part in above:
        properties = properties[part]["properties"]
    properties[leaf] = described


def use(name, known, definitions):
    """A reference to a definition, which is copied with those that it refers to."""
    short = PREFIX + name.rsplit(".", 1)[1]
    if short not in definitions:
        # Before what it refers to, which may be itself.
        definitions[short] = {}
        definitions[short] = copied(known[name], known, definitions)
    return {"$ref": f"#/$defs/{short}"}


def copied(value, known, definitions):
    if isinstance(value, list):
        return [copied(one, known, definitions) for one in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return use(value["$ref"].rsplit("/", 1)[1], known, definitions)
    # Beside `properties` and the like there are words about a value; among properties there are names.
    kept = {}
    for key, one in value.items():
        if key.startswith("x-kubernetes-") or key == "format":
            continue
        if key == "description" and isinstance(one, str):
            continue
        kept[key] = copied(one, known, definitions)
    if kept.get("oneOf"):
        # An empty value would be both.
        kept["anyOf"] = kept.pop("oneOf")
    return kept
