"""Dashboards, alert rules and the autoscaler's metric against docs/metrics.md and docs/runbooks.md.

    observability.py metrics FOLDER  every query names metrics and labels that exist; writes each as a
                                     rule into FOLDER, for promtool to read their grammar
    observability.py runbooks        every alert says enough and has its runbook, and no more
    observability.py files           Dockerfile, .dockerignore, compose.yaml and what they mount fit together

The last line is JSON; what is wrong stands before it, and the exit code is 1.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

import build_context
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "smsc"
# What a scrape adds, and what Prometheus itself knows.
SCRAPED = {"namespace", "job", "instance", "le"}
FOREIGN = {
    "up": {"namespace", "job", "instance"},
    "ALERTS": {"alertname", "alertstate", "severity", "name", "queue", "actor"},
}
STATES = {"connecting", "binding", "bound", "waiting", "paused", "closed"}
ENDS = {
    "DELIVERED",
    "EXPIRED",
    "DELETED",
    "UNDELIVERABLE",
    "UNKNOWN",
    "REJECTED",
    "SKIPPED",
    "ACCEPTED",
}
FUNCTIONS = set(
    "sum max min avg count topk rate increase deriv predict_linear histogram_quantile label_replace vector"
    " offset by on and or unless bool ignoring group_left group_right without clamp_min absent time"
    " min_over_time".split()
)
WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z_:][A-Za-z0-9_:]*|\S')


def metrics_of(page):
    """Name of every series to its labels."""
    known = {}
    for name, kind, labels in re.findall(r"^\| `([a-z_]+)` \| (\w+) \| ([^|]*) \|", page, re.M):
        found = {label.strip() for label in labels.split(",") if label.strip()}
        for end in ["_bucket", "_sum", "_count"] if kind == "histogram" else [""]:
            known[name + end] = found
    return known


def queries():
    """Where, and the text, of every query."""
    for file in sorted((CHART / "dashboards").glob("*.json")):
        board = json.loads(file.read_text())
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                if "expr" in target:
                    yield f"{file.name}, {panel['title']!r}", target["expr"]
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                inner = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"])
                yield (
                    f"{file.name}, variable {variable['name']}",
                    f"count by ({inner[2]}) ({inner[1]})",
                )
        for one in board["annotations"]["list"]:
            yield f"{file.name}, annotation", one["expr"]
    keda = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "keda.yaml").read_text())
    for at, trigger in enumerate(keda["spec"]["triggers"]):
        yield f"keda.yaml, trigger {at}", trigger["metadata"]["query"]
    for rule in rules():
        yield f"rule {rule.get('alert') or rule['record']}", rule["expr"]
    (adapter,) = yaml.safe_load((CHART / "alerts" / "prometheus-adapter.yaml").read_text())[
        "rules"
    ]["external"]
    yield "prometheus-adapter seriesQuery", adapter["seriesQuery"]
    yield (
        "prometheus-adapter metricsQuery",
        adapter["metricsQuery"].replace("<<.LabelMatchers>>", ""),
    )


def rules():
    groups = yaml.safe_load((CHART / "alerts" / "smsc.rules.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def plain(query):
    """With the variables of a dashboard filled in."""
    query = query.replace("$__rate_interval", "5m")
    return re.sub(r'"([^"]*)\$[a-z_]\w*([^"]*)"', r'"\1.*\2"', query)


def check_query(where, query, known, wrong):
    """Every metric exists, with every label that is asked of it."""
    grouped = set()
    for names in re.findall(r"\b(?:by|on|ignoring) \(([^)]*)\)", query):
        grouped |= {name.strip() for name in names.split(",") if name.strip()}
    made = set(re.findall(r'label_replace\(.*?, "(\w+)", "\$1", "\w+"', query))
    used, at = set(), 0
    bare = re.sub(r"\b(?:by|on|ignoring) \([^)]*\)", "", query)
    bare = re.sub(r"\[[^\]]*\]|offset \w+", "", bare)
    while match := re.compile(r'"[^"]*"|([A-Za-z_:][A-Za-z0-9_:]*)\s*(\{[^}]*\})?').search(
        bare, at
    ):
        at = match.end()
        name, braces = match.group(1), match.group(2) or ""
        if not name or name in FUNCTIONS or re.fullmatch(r"\d*e\d+|e\d+", name):
            continue
        if name not in known:
            wrong.append(f"{where}: there is no metric {name}")
            continue
        used |= known[name]
        for label, text in re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"', braces):
            if label not in known[name] | SCRAPED:
                wrong.append(f"{where}: {name} has no label {label}")
            if name == "smsc_binds" and label == "state" and not set(text.split("|")) <= STATES:
                wrong.append(f"{where}: binds are never {text}")
            if (
                name == "smsc_messages_final_total"
                and not set(text.split("|")) <= ENDS | {".*"}
                and label == "state"
            ):
                wrong.append(f"{where}: messages never end {text}")
    for label in grouped - used - SCRAPED - made:
        wrong.append(f"{where}: groups by {label}, which none of its metrics has")


def check_boards(wrong):
    """Every variable is declared, no two panels overlap, every panel says what it shows."""
    for file in sorted((CHART / "dashboards").glob("*.json")):
        text = file.read_text()
        board = json.loads(text)
        declared = {variable["name"] for variable in board["templating"]["list"]}
        for name in set(re.findall(r"\$\{?([a-z]\w*)", text)) - declared:
            wrong.append(f"{file.name}: there is no variable {name}")
        taken = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            cells = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            if cells & taken or place["x"] + place["w"] > 24:
                wrong.append(f"{file.name}: {panel['title']!r} overlaps")
            taken |= cells
            if panel["type"] not in ("row", "text") and not panel.get("description"):
                wrong.append(f"{file.name}: {panel['title']!r} has no description")


def metrics(folder):
    known = metrics_of((ROOT / "docs" / "metrics.md").read_text()) | FOREIGN
    for rule in rules():
        if "record" in rule:
            grouped = re.search(r"by \(([^)]*)\)", rule["expr"])[1]
            known[rule["record"]] = {name.strip() for name in grouped.split(",")}
    wrong, written = [], []
    for at, (where, query) in enumerate(queries()):
        query = plain(query)
        check_query(where, query, known, wrong)
        written.append({"record": f"query:{at}", "expr": query})
    text = yaml.safe_dump({"groups": [{"name": "queries", "rules": written}]})
    (Path(folder) / "queries.yaml").write_text(text)
    names = yaml.safe_load((CHART / "values.yaml").read_text())["autoscaling"]["queueAge"][
        "metricName"
    ]
    (adapter,) = yaml.safe_load((CHART / "alerts" / "prometheus-adapter.yaml").read_text())[
        "rules"
    ]["external"]
    if adapter["name"]["as"] != names:
        wrong.append(
            f"autoscaling.queueAge.metricName is {names}, the adapter makes {adapter['name']['as']}"
        )
    check_boards(wrong)
    seen = {
        name for name in known if any(re.search(rf"\b{name}\b", query) for _, query in queries())
    }
    end(wrong, queries=len(written), metrics=len(seen))


def runbooks():
    wrong = []
    page = (ROOT / "docs" / "runbooks.md").read_text()
    headings = re.findall(r"^## (Smsc\w+)$", page, re.M)
    alerts = [rule for rule in rules() if "alert" in rule]
    names = [rule["alert"] for rule in alerts]
    for name in set(names) - set(headings):
        wrong.append(f"docs/runbooks.md has no section {name}")
    for name in set(headings) - set(names):
        wrong.append(f"docs/runbooks.md has a section {name}, and there is no such alert")
    for section in re.split(r"^## ", page, flags=re.M)[1:]:
        for part in ["**Means**", "**Look at**", "**Cure**"]:
            if section.startswith("Smsc") and part not in section:
                wrong.append(f"docs/runbooks.md, {section.split()[0]}: no {part}")
    commands = set(re.findall(r"^## smsc ([\w-]+)$", (ROOT / "docs" / "cli.md").read_text(), re.M))
    for command in set(re.findall(r"(?:`|^)smsc ([a-z][a-z-]+)", page, re.M)) - commands:
        wrong.append(f"docs/runbooks.md: there is no command smsc {command}")
    settings = (ROOT / "docs" / "configuration.md").read_text()
    for rule in alerts:
        notes = rule["annotations"]
        if rule["labels"].get("severity") not in {"critical", "warning", "info"}:
            wrong.append(f"{rule['alert']}: no severity")
        if notes.get("runbook_url") != f"docs/runbooks.md#{rule['alert'].lower()}":
            wrong.append(f"{rule['alert']}: links to {notes.get('runbook_url')}")
        for part in ["summary", "description"]:
            if len(notes.get(part, "")) < 20:
                wrong.append(f"{rule['alert']}: no {part}")
    for table, key in re.findall(
        r"`(smpp|http|store|postgres|redis|cluster|queue|validity|retry|correlation|cdr|outbox|usage|telemetry)\.(\w+)`",
        page,
    ):
        section = re.search(rf"## `\[{table}\]`(.*?)(?=\n## )", settings, re.S)[1]
        if f"| `{key}` |" not in section:
            wrong.append(f"docs/runbooks.md: there is no setting {table}.{key}")
    end(wrong, alerts=len(alerts))


def files():
    wrong = build_context.wrong(ROOT)
    stages = set()
    for line in (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "FROM" and "AS" in words:
            stages.add(words[-1])
        if words[0] in ("COPY", "ADD"):
            origin = [word[7:] for word in words if word.startswith("--from=")]
            if origin and origin[0] not in stages:
                wrong.append(f"Dockerfile: no stage {origin[0]}")
            named = [word for word in words[1:-1] if not word.startswith("--")]
            wrong += [
                f"Dockerfile: {one} does not exist"
                for one in named
                if not origin and not (ROOT / one).exists()
            ]
    package = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    version = package["version"]
    labels = dict(
        re.findall(r'org\.opencontainers\.image\.([\w.]+)="([^"]*)"', (ROOT / "Dockerfile").read_text())
    )
    for label, text in {
        "version": version,
        "licenses": package["license"],
        "revision": "${SMSC_COMMIT}",
        "created": "${SMSC_CREATED}",
    }.items():
        if labels.get(label) != text:
            wrong.append(f"Dockerfile: the label {label} is {labels.get(label)}, not {text}")
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    if chart["appVersion"] != version:
        wrong.append(f"Chart.yaml: appVersion is {chart['appVersion']}, the release {version}")
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    for name, service in compose["services"].items():
        if not ({"image", "build"} & set(service)):
            wrong.append(f"compose.yaml, {name}: neither image nor build")
        if ":" not in service.get("image", ":") or service.get("image", "").endswith(":latest"):
            wrong.append(f"compose.yaml, {name}: {service['image']} is not pinned")
        for other in service.get("depends_on", {}):
            if other not in compose["services"]:
                wrong.append(f"compose.yaml, {name}: depends on {other}")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("./") and not (ROOT / source).exists():
                wrong.append(f"compose.yaml, {name}: {source} does not exist")
            if not source.startswith(("./", "/")) and source not in compose.get("volumes", {}):
                wrong.append(f"compose.yaml, {name}: no volume {source}")
        kept = service.get("environment", {}).get("KAFKA_LOG_DIRS")
        if "KAFKA_NODE_ID" in service.get("environment", {}) and kept not in [
            volume.split(":")[1] for volume in service.get("volumes", [])
        ]:
            wrong.append(f"compose.yaml, {name}: the log of Kafka is in {kept}, on no volume")
        for one in service.get("configs", []):
            if one["source"] not in compose.get("configs", {}):
                wrong.append(f"compose.yaml, {name}: no config {one['source']}")
    for name, one in compose.get("configs", {}).items():
        if "file" in one and not (ROOT / one["file"]).exists():
            wrong.append(f"compose.yaml, config {name}: {one['file']} does not exist")
    for file in (ROOT / "deploy").rglob("*.y*ml"):
        list(yaml.safe_load_all(file.read_text()))
    end(wrong, services=len(compose["services"]))


def end(wrong, **result):
    for line in wrong:
        print(line)
    print(json.dumps(result))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    {"metrics": metrics, "runbooks": runbooks, "files": files}[sys.argv[1]](*sys.argv[2:])
