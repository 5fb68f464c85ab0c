"""Writes what is derived in helm/smsc, or with --check says what is out of date.

    python3 helm/generate            write
    python3 helm/generate --check    exit code 1 when something would change

README.md comes from the comments of values.yaml, the part `config` of values.schema.json from
docs/configuration.md, and its parts of Kubernetes from the schemas of Kubernetes; each of dashboards/*.json from a file of its own here (how they are drawn is in
panels.py, what they ask in queries.py). Needs PyYAML and kubernetes-validate. tests/docs/helm_chart.rs runs the check.
"""

import json
import sys
from pathlib import Path

import kubernetes
import message
import operators
import overview
import queues
import readme
import schema
import store

ROOT = Path(__file__).resolve().parent.parent.parent
CHART = ROOT / "helm" / "smsc"
DASHBOARDS = [overview, operators, queues, message, store]


def wanted():
    """Path and text of every derived file."""
    yield CHART / "README.md", readme.write((CHART / "values.yaml").read_text())
    file = CHART / "values.schema.json"
    reference = (ROOT / "docs" / "configuration.md").read_text()
    described = schema.with_config(json.loads(file.read_text()), reference)
    yield file, pretty(kubernetes.with_kubernetes(described))
    for module in DASHBOARDS:
        board = module.board()
        yield CHART / "dashboards" / f"{board['uid']}.json", pretty(board)


def pretty(value):
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def main():
    check = "--check" in sys.argv[1:]
    stale = []
    known = set()
    for file, text in wanted():
        known.add(file)
        if not file.exists() or file.read_text() != text:
            stale.append(file)
            if not check:
                file.write_text(text)
    for file in (CHART / "dashboards").glob("*.json"):
        if file not in known:
            stale.append(file)
            if not check:
                file.unlink()
    for file in stale:
        print(("out of date: " if check else "written: ") + str(file.relative_to(ROOT)))
    if check and stale:
        sys.exit("run python3 helm/generate")


main()
