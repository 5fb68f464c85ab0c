"""The part `config` of values.schema.json: every key of docs/configuration.md with its type."""

import re

# What the chart sets itself, from other values.
OURS = {
    "data_dir": "the chart",
    "node": "the store, which leases one",
    "smpp.listen": "listenAddress",
    "http.listen": "listenAddress",
    "http.health_listen": "listenAddress",
    "http.admin_token": "secrets.adminToken",
    "http.admin_token_file": "secrets.existingSecret",
    "api.listen": "service.api.enabled",
    "sgip.listen": "service.sgip.enabled",
    "compat.smpp_connector.listen": "service.smppConnector.enabled",
    "postgres.url": "secrets.databaseUrl",
    "postgres.url_file": "secrets.existingSecret",
    "secrets.key": "secrets.sealingKey",
    "secrets.key_file": "secrets.sealPasswords",
    "redis.url": "secrets.redisUrl",
    "redis.url_file": "secrets.existingSecret",
}
HEADING = re.compile(r"^## (?:`\[+([\w.]+)\]+`|Top level)$")
# A table with the keys of an earlier one.
SAME = re.compile(r"^Keys: see `\[+([\w.]+)\]+`\.$")
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+) \|$")
WEIGHTS = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
DURATION = {"type": "string", "pattern": r"^[0-9]+(ms|s|m|h|d)$"}
KINDS = {
    "text": {"type": "string"},
    "table of lists of text": {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "string"}},
    },
    "table of text": {"type": "object", "additionalProperties": {"type": "string"}},
    "path": {"type": "string"},
    "secret text": {"type": "string"},
    "true or false": {"type": "boolean"},
    "number": {"type": "number"},
    "whole number": {"type": "integer", "minimum": 0},
    "duration": DURATION,
    "IP address with port": {"type": "string"},
    "command_status (name or number)": {"type": ["string", "integer"]},
    "target, or a table of targets with weights": {
        "anyOf": [
            {"type": "array", "items": {"type": "string"}},
            {"type": "array", "items": WEIGHTS},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, WEIGHTS]}},
            WEIGHTS,
        ]
    },
}


def with_config(schema, reference):
    """The schema with its `$defs.config` made anew."""
    tables = tables_of(reference)
    config = table(tables.pop("", []), "")
    for name, rows in tables.items():
        *above, leaf = name.split(".")
        parent = config["properties"]
        for part in above:
            parent = parent[part].get("items", parent[part])["properties"]
        described = table(rows, name)
        repeated = f"`[[{name}]]`" in reference
        parent[leaf] = {"type": "array", "items": described} if repeated else described
    # A managed one has neither: its service knows them.
    operator = config["properties"]["operator"]["items"]
    operator["required"] = ["id"]
    operator["if"] = {"properties": {"managed": {"const": True}}, "required": ["managed"]}
    operator["else"] = {"required": ["address", "system_id"]}
    # Over MAP there are gateways instead of an HLR.
    network = config["properties"]["gsm"]["items"]
    network["if"] = {"properties": {"protocol": {"const": "map"}}, "required": ["protocol"]}
    network["then"] = {"required": ["map"]}
    network["else"] = {"required": ["address"]}
    schema["$defs"]["config"] = config
    return schema


def tables_of(reference):
    """Rows (key, kind, default, meaning) of every table of the page, by its name."""
    tables, rows = {}, []
    for line in reference.splitlines():
        if heading := HEADING.match(line):
            rows = tables[heading[1] or ""] = []
        elif same := SAME.match(line):
            rows += tables[same[1]]
        elif row := ROW.match(line):
            rows.append(row.groups())
    return tables


def table(rows, name):
    """One table; keys that the chart sets are missing, and so refused."""
    properties, required = {}, []
    for key, kind, default, meaning in rows:
        full = f"{name}.{key}" if name else key
        if full in OURS:
            continue
        properties[key] = {**kind_of(kind), "description": meaning}
        if default == "required" and key not in ("password",):
            required.append(key)
    found = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**found, "required": required} if required else found


def kind_of(kind):
    """JSON Schema of a kind as the page names it; anything goes for one that is not known here."""
    if kind.startswith("list: "):
        inner = kind_of(kind[6:])
        return inner if "anyOf" in inner else {"type": "array", "items": inner}
    if limit := re.fullmatch(r"whole number up to (\d+)", kind):
        return {"type": "integer", "minimum": 0, "maximum": int(limit[1])}
    if kind.startswith('"'):
        return {"enum": re.findall(r'"([^"]+)"', kind)}
    return dict(KINDS.get(kind, {}))
