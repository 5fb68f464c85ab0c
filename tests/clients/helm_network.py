"""What of the chart's objects leads to the nodes and away from them. Used by helm_chart.py."""

import yaml

# That of C, where it is: the one in Python takes half a second for a chart with its dashboards.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def objects_in(texts):
    return [one for text in texts for one in yaml.load_all(text, Loader=LOADER) if one]


def of_kind(objects, kind, name=None):
    return [
        one for one in objects if one["kind"] == kind and name in (None, one["metadata"]["name"])
    ]


def ways_in(expect, values, objects):
    """Ingresses and routes lead to ports that exist, and the NetworkPolicy lets them through."""
    services = {one["metadata"]["name"]: one["spec"]["ports"] for one in of_kind(objects, "Service")}
    wanted = []
    given = values.get("service", {})
    for name in ("http", "api"):
        ingress = given.get(name, {}).get("ingress", {})
        wanted += [ingress["host"]] if ingress.get("enabled") else []
    hosts = []
    for one in of_kind(objects, "Ingress"):
        (rule,) = one["spec"]["rules"]
        hosts.append(rule["host"])
        backend = rule["http"]["paths"][0]["backend"]["service"]
        ports = [port["name"] for port in services.get(backend["name"], [])]
        expect(backend["port"]["name"] in ports, f"an Ingress to nothing: {backend}")
    expect(sorted(hosts) == sorted(wanted), f"Ingress: {hosts}")
    routes = of_kind(objects, "HTTPRoute") + of_kind(objects, "TCPRoute")
    asked = str(given).count("'parentRefs'")
    expect(len(routes) == asked, f"{len(routes)} routes, not {asked}")
    for one in routes:
        backend = one["spec"]["rules"][0]["backendRefs"][0]
        ports = [port["port"] for port in services.get(backend["name"], [])]
        expect(backend["port"] in ports, f"a route to nothing: {backend}")
    for one in of_kind(objects, "Service"):
        policy = one["spec"].get("ipFamilyPolicy")
        name = one["metadata"]["name"]
        expect(policy == given.get("ipFamilyPolicy"), f"{name}: {policy}")
    for service in given.values():
        wanted = service.get("loadBalancerClass") if isinstance(service, dict) else None
        classes = [one["spec"].get("loadBalancerClass") for one in of_kind(objects, "Service")]
        expect(not wanted or wanted in classes, f"{wanted} is not among {classes}")
    network(expect, values, objects)
    callers(expect, values, objects)
    in_clear(expect, values, objects)


def network(expect, values, objects):
    """Every port that is served may be reached, and what the SMSC connects to may be left for."""
    policies = of_kind(objects, "NetworkPolicy")
    expect(len(policies) == 1, "the NetworkPolicy")
    spec = policies[0]["spec"]
    served = {
        port["name"]
        for one in of_kind(objects, "StatefulSet") + of_kind(objects, "Deployment")
        for port in one["spec"]["template"]["spec"]["containers"][0]["ports"]
    }
    allowed = {port["port"] for rule in spec["ingress"] for port in rule["ports"]}
    # The kubelet, which probes, is always let in.
    expect(allowed == served - {"health"}, f"lets in to {allowed}, serves {served}")
    expect(("egress" in spec) == values.get("networkPolicy", {}).get("restrictEgress", False), "egress")
    # However few may reach it, the hooks of the release do.
    hooks = of_kind(objects, "Pod") + [one["spec"]["template"] for one in of_kind(objects, "Job")]
    peers = [peer.get("podSelector", {}).get("matchLabels") for peer in from_of(objects, "http")]
    for hook in hooks:
        labels = hook["metadata"]["labels"].items()
        expect(
            any(peer and peer.items() <= labels for peer in peers), f"HTTP only from {peers}"
        )


def from_of(objects, port):
    (policy,) = of_kind(objects, "NetworkPolicy")
    (rule,) = [one for one in policy["spec"]["ingress"] if one["ports"][0]["port"] == port]
    return rule["from"]


def callers(expect, values, objects):
    """The hooks call the admin API by a name that its certificate has, and know who has issued that."""
    http = values.get("service", {}).get("http", {})
    mounts = {one["mountPath"] for one in values.get("extraVolumeMounts", [])}
    for one in of_kind(objects, "Pod") + [one["spec"]["template"] for one in of_kind(objects, "Job")]:
        container = one["spec"]["containers"][0]
        given = {one["name"]: one.get("value") for one in container.get("env", [])}
        expect(given.get("SMSC_CA") == http.get("caFile"), f"trusts {given}")
        found = {one["mountPath"] for one in container.get("volumeMounts", [])}
        expect(mounts | {"/etc/smsc"} <= found, f"{container['args']} has only {found}")
        arguments = container["args"]
        if "--url" in arguments:
            url = arguments[arguments.index("--url") + 1]
            has_tls = "tls_cert" in values.get("config", {}).get("http", {})
            expect(url.startswith("https:") == has_tls, f"calls {url}")
            expect("url" not in http or url == http["url"], f"calls {url}")


def in_clear(expect, values, objects):
    """Nothing warns of HTTP without TLS inside of the cluster, and whatever else is reached so is warned of."""
    is_inside = values.get("service", {}).get("http", {}).get("type", "ClusterIP") == "ClusterIP"
    has_tls = "tls_cert" in values.get("config", {}).get("http", {})
    meant = is_inside and not has_tls and not values.get("hostNetwork", False)
    pods = [one["spec"]["template"] for kind in ("StatefulSet", "Deployment", "Job") for one in of_kind(objects, kind)]
    for pod in pods:
        container = pod["spec"]["containers"][0]
        names = [one["name"] for one in container["env"]]
        said = names.count("SMSC_HTTP__IN_CLEAR")
        expect(said == meant, f"{container['args']}: SMSC_HTTP__IN_CLEAR {said} times")


# What is reached from where, beside the hooks of the release: values, who reaches HTTP and who the paths of smpp-connector.
SAME, PODS = [{"podSelector": {}}], [{"namespaceSelector": {}}]
ANY = [{"ipBlock": {"cidr": "0.0.0.0/0"}}, {"ipBlock": {"cidr": "::/0"}}, *PODS]
FEW, SOME = [{"ipBlock": {"cidr": "192.0.2.0/24"}}], [{"ipBlock": {"cidr": "198.51.100.0/24"}}]
REACHED = [
    ({}, {}, SAME, SAME),
    ({"http": {"ingress": {"enabled": True, "host": "h"}}}, {}, PODS, PODS),
    ({"http": {"type": "LoadBalancer"}}, {}, ANY, SAME),
    ({"smppConnector": {"type": "LoadBalancer"}}, {}, SAME, ANY),
    ({"smppConnector": {"type": "NodePort"}}, {"httpFrom": FEW}, FEW, FEW),
    ({"smppConnector": {"type": "NodePort"}}, {"smppConnectorFrom": SOME}, SAME, SOME),
    ({"http": {"type": "NodePort"}}, {"httpFrom": FEW, "smppConnectorFrom": SOME}, FEW, SOME),
]
# Signalling gateways by SCTP, the default, and by TCP.
GATEWAYS = [{"address": "stp"}, {"address": "10.0.0.1:2906"}, {"address": "stp:2907", "transport": "tcp"}]
SIGNALLING = {"point_code": "0.1.1", "destination": "0.2.1", "gateways": GATEWAYS}
SCTP = {2905, 2906}
# What `config` names, and the ports that it needs.
LEFT_FOR = [
    ({}, set()),
    ({"operator": [{"id": "up", "address": "a:2776", "system_id": "u"}]}, {2776}),
    ({"operator": [{"id": "up", "address": "local", "system_id": "u"}]}, set()),
    ({"operator": [{"id": "up", "managed": True}]}, set()),
    ({"gsm": [{"name": "home", "address": "hlr", "smsc_address": "44"}]}, {4222}),
    # A number at the end is no port.
    ({"gsm": [{"name": "home", "address": "hlr9", "smsc_address": "44"}]}, {4222}),
    ({"gsm": [{"name": "home", "address": "10.0.0.1:4223", "smsc_address": "44"}]}, {4223}),
    ({"gsm": [{"name": "home", "address": "local", "smsc_address": "44"}]}, set()),
    ({"gsm": [{"name": "ss7", "protocol": "map", "smsc_address": "44", "map": SIGNALLING}]}, SCTP | {2907}),
    ({"event_sink": [{"name": "a", "servers": ["nats://a", "tls://b:4333"]}]}, {4222, 4333}),
    ({"event_sink": [{"name": "a", "kind": "kafka", "servers": ["a", "b:9093"]}]}, {9092, 9093}),
    ({"compat": {"smpp_connector": {"nats_servers": ["nats://a:4444"]}}}, {4444}),
    ({"compat": {"smpp_connector": {"management_url": "https://a/b"}}}, {443}),
    ({"compat": {"smpp_connector": {"management_url": "http://a:3000"}}}, {3000}),
]
# The same of a cluster.
CLUSTER_LEFT_FOR = [
    ({"secrets": {"databaseUrl": "postgres://u:p@a/smsc"}}, {5432}),
    ({"secrets": {"databaseUrl": "postgresql://u:p@a:6543/smsc?sslmode=require"}}, {6543}),
    # A primary and its standby.
    ({"secrets": {"databaseUrl": "postgres://u:p@a:5433,b/smsc"}}, {5433, 5432}),
    ({"secrets": {"databaseUrl": "postgres://u:p@[2001:db8::5],[2001:db8::6]:5433/smsc"}}, {5432, 5433}),
    ({"secrets": {"databaseUrlFrom": {"name": "db"}}}, {5432}),
    (
        {
            "secrets": {"databaseUrl": "postgres://a/smsc", "redisUrl": "rediss://:p@r:6380/0"},
            "redis": {"enabled": True},
        },
        {5432, 6380},
    ),
    (
        {
            "secrets": {"databaseUrl": "postgres://a:7000/smsc"},
            "tracing": {"enabled": True, "endpoint": "http://tempo:4317"},
        },
        {7000, 4317},
    ),
]
# By its name a server is found.
DNS = {("UDP", 53), ("TCP", 53)}


def let_out(objects):
    """Protocols and ports of the rules for what goes out. None of them says to whom."""
    (one,) = of_kind(objects, "NetworkPolicy")
    return {
        (port["protocol"], port["port"])
        for rule in one["spec"]["egress"]
        for port in rule["ports"]
        if "to" not in rule
    }


def policies(report, rendered):
    """The NetworkPolicy of values, one by one."""
    for service, policy, http, connector in REACHED:
        connected = {"enabled": True, **service.get("smppConnector", {})}
        objects, notes = rendered(
            {"service": {**service, "smppConnector": connected}, "networkPolicy": policy}
        )
        (_, *found) = from_of(objects, "http")
        report.expect(found == http, f"{service}, {policy}: HTTP from {found}")
        found = from_of(objects, "connector")
        report.expect(found == connector, f"{service}, {policy}: the connector from {found}")
        report.expect(("any address" in notes) == (http == ANY), f"{service}: NOTES.txt")
    for config, wanted in LEFT_FOR:
        secrets = {"operators": {"up": "secret"}}
        values = {"config": config, "secrets": secrets, "networkPolicy": {"restrictEgress": True}}
        objects, _ = rendered(values)
        (one,) = of_kind(objects, "NetworkPolicy")
        ports = [port for rule in one["spec"]["egress"] for port in rule["ports"]]
        out = {port["port"] for port in ports} - {53}
        report.expect(out == wanted, f"{config}: lets out to {out}")
        by_sctp = {port["port"] for port in ports if port.get("protocol") == "SCTP"}
        report.expect(by_sctp == wanted & SCTP, f"{config}: lets out by SCTP to {by_sctp}")
        report.expect(DNS <= let_out(objects), f"{config}: no DNS")
    for values, wanted in CLUSTER_LEFT_FOR:
        objects, _ = rendered({"mode": "cluster", "networkPolicy": {"restrictEgress": True}, **values})
        found = let_out(objects)
        expected = DNS | {("TCP", port) for port in wanted}
        report.expect(found == expected, f"{values}: lets out to {found}")
