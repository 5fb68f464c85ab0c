"""Values that the chart refuses, and words of the answer. Used by helm_chart.py."""

PEER = {"id": "up", "address": "a:1", "system_id": "u"}
CLUSTER = {"mode": "cluster", "secrets": {"databaseUrl": "postgres://smsc@db.example/smsc"}}

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
    ({"tracing": {"endpoint": "tempo:4317"}}, ["tracing/endpoint"]),
    (
        {"tracing": {"endpoint": "http://tempo:4317", "tls": {"secretName": "ca"}}},
        ["tracing.tls.secretName", "http://tempo:4317", "https://"],
    ),
    (
        {"tracing": {"endpoint": "https://tempo:4317", "tls": {"clientCertificate": True}}},
        ["tracing.tls.clientCertificate", "tracing.tls.secretName"],
    ),
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
        {"config": {"operator": [PEER]}},
        ["up", "secrets.operators.up"],
    ),
    ({"tracing": {"enabled": True}}, ["tracing.endpoint"]),
    ({"terminationGracePeriodSeconds": 30}, ["terminationGracePeriodSeconds", "45"]),
    (
        {"prometheusRule": {"enabled": True, "disabled": ["SmscNothing"]}},
        ["SmscNothing", "SmscQueueOld"],
    ),
    ({"replicaCount": 3}, ["replicaCount", "3", "exactly one node", "mode: cluster", "PostgreSQL"]),
    ({"replicaCount": 0}, ["replicaCount"]),
    (
        {**CLUSTER, "persistence": {"existingClaim": "data"}},
        ["persistence.existingClaim", "a volume each", "mode: embedded"],
    ),
    (
        {"updateStrategy": {"type": "Recreate"}},
        ["updateStrategy.type", "Recreate", "StatefulSet", "OnDelete"],
    ),
    (
        {**CLUSTER, "persistence": {"enabled": False}, "updateStrategy": {"type": "OnDelete"}},
        ["updateStrategy.type", "OnDelete", "Deployment", "Recreate"],
    ),
    ({"updateStrategy": {"typ": "Recreate"}}, ["updateStrategy", "typ"]),
    (
        {"service": {"smpp": {"loadBalancerClass": "c"}}},
        ["service.smpp.loadBalancerClass", "LoadBalancer", "ClusterIP"],
    ),
    (
        {"service": {"sgip": {"loadBalancerClass": "c"}}},
        ["service.sgip.loadBalancerClass", "LoadBalancer", "ClusterIP"],
    ),
    ({"service": {"http": {"url": "smsc-http:8080"}}}, ["service/http/url"]),
    ({"config": {"operator": [{"id": "up", "system_id": "u"}]}}, ["operator/0", "address"]),
    (
        {"config": {"operator": [{"id": "up", "managed": False, "address": "a:1"}]}},
        ["operator/0", "system_id"],
    ),
    (
        {"service": {"ipFamilies": ["IPv4", "IPv6"]}},
        ["service.ipFamilies", "ipFamilyPolicy", "PreferDualStack"],
    ),
    ({"service": {"ipFamilies": ["ipv4"]}}, ["service/ipFamilies", "IPv4"]),
    (
        {"service": {"http": {"ingress": {"enabled": True}}}},
        ["service.http.ingress.host", "empty"],
    ),
    (
        {"service": {"api": {"ingress": {"enabled": True, "host": "h"}}}},
        ["service.api.ingress.enabled", "not served", "service.api.enabled"],
    ),
    (
        {"service": {"http": {"httpRoute": {"enabled": True}}}},
        ["service.http.httpRoute.parentRefs", "Gateway"],
    ),
    (
        {"service": {"smpp": {"tcpRoute": {"enabled": True, "parentRefs": [{"nam": "g"}]}}}},
        ["parentRefs", "nam"],
    ),
    (
        {"service": {"smppTls": {"tcpRoute": {"enabled": True, "parentRefs": [{"name": "g"}]}}}},
        ["service.smppTls.tcpRoute.enabled", "service.smppTls.enabled"],
    ),
    (
        {**CLUSTER, "secrets": {**CLUSTER["secrets"], "databaseUrlFrom": {"name": "db"}}},
        ["secrets.databaseUrl", "secrets.databaseUrlFrom.name", "keep one"],
    ),
    # Keys of Kubernetes itself, at every depth.
    ({"resources": {"limit": {"memory": "1Gi"}}}, ["resources", "limit"]),
    ({"securityContext": {"readonlyRootFilesystem": True}}, ["securityContext", "readonlyRoot"]),
    ({"podSecurityContext": {"runAsUser": "root"}}, ["podSecurityContext/runAsUser"]),
    ({"affinity": {"nodeAfinity": {}}}, ["affinity", "nodeAfinity"]),
    ({"tolerations": [{"key": "a", "operater": "Exists"}]}, ["tolerations/0", "operater"]),
    (
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone"}]},
        ["topologySpreadConstraints/0", "whenUnsatisfiable"],
    ),
    ({"extraEnv": [{"name": "A", "val": "b"}]}, ["extraEnv/0", "val"]),
    ({"extraVolumes": [{"name": "a", "configmap": {"name": "a"}}]}, ["extraVolumes/0", "configmap"]),
    ({"extraVolumeMounts": [{"name": "a", "path": "/a"}]}, ["extraVolumeMounts/0", "path"]),
    ({"initContainers": [{"name": "a", "img": "b"}]}, ["initContainers/0", "img"]),
    (
        {"extraContainers": [{"name": "a", "image": "b", "ports": [{"port": 1}]}]},
        ["extraContainers/0/ports/0", "port"],
    ),
    ({"extraObjects": [{"kind": "ConfigMap"}]}, ["extraObjects/0"]),
    (
        {"networkPolicy": {"smppFrom": [{"ipblock": {"cidr": "10.0.0.0/8"}}]}},
        ["networkPolicy/smppFrom/0", "ipblock"],
    ),
    (
        {"networkPolicy": {"egressTo": [{"port": 25}]}},
        ["networkPolicy/egressTo/0", "port"],
    ),
    ({"metrics": {"serviceMonitor": {"tlsConfig": {"insecure": True}}}}, ["tlsConfig", "insecure"]),
    (
        {"autoscaling": {"behavior": {"scaleUp": {"policy": []}}}},
        ["autoscaling/behavior/scaleUp", "policy"],
    ),
    (
        {"config": {"route": [{"prefix": "", "to": [{"up": "most"}]}]}},
        ["config/route/0/to"],
    ),
]
