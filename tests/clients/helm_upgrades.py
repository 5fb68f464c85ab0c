"""What the chart renders where something runs already. Used by helm_chart.py.

`lookup` finds nothing without a cluster. So a copy of the chart has, in place of the one use of it, what it would find.
"""

import json
import shutil
import tempfile
from pathlib import Path

import helm_python
from helm_network import objects_in, of_kind

CHART = Path(__file__).resolve().parents[2] / "helm" / "smsc"
LOOKUP = "lookup (index . 1) (index . 2) $root.Release.Namespace (index . 3)"


def rendered(values, running):
    """The objects of an upgrade where these run, by kind and name."""
    with tempfile.TemporaryDirectory() as folder:
        chart = Path(folder) / "smsc"
        shutil.copytree(CHART, chart)
        file = chart / "templates" / "_running.tpl"
        text = file.read_text()
        assert text.count("lookup ") == text.count(LOOKUP) == 1, "another use of lookup"
        found = f'index (fromJson `{json.dumps(running)}`) (printf "%s/%s" (index . 2) (index . 3))'
        file.write_text(text.replace(LOOKUP, f"({found})"))
        files = helm_python.Chart.load(str(chart)).render(values, name="smsc", namespace="messages")
        return objects_in(text for name, text in files.items() if not name.endswith("NOTES.txt"))


def workload_of(objects):
    (workload,) = of_kind(objects, "StatefulSet") + of_kind(objects, "Deployment")
    return workload


def check(report, cases):
    replicas(report, cases["cluster"])
    secrets(report, cases["cluster"])
    volumes(report, cases["embedded"])


def replicas(report, cluster):
    """Turning autoscaling on keeps the pods that there are, within its limits."""
    scaled = {**cluster, "autoscaling": {"enabled": True, "minReplicas": 3, "maxReplicas": 8}}
    name = workload_of(rendered(cluster, {}))
    name = f"{name['kind']}/{name['metadata']['name']}"
    for running, wanted in ((None, 3), (1, 3), (3, 3), (5, 5), (20, 8)):
        there = {name: {"spec": {"replicas": running}}} if running else {}
        found = workload_of(rendered(scaled, there))["spec"].get("replicas")
        report.expect(found == wanted, f"{running} run: {found} replicas, not {wanted}")


def secrets(report, cluster):
    """Other contents of Secrets that the chart does not make restart the pods."""
    given = {"existingSecret": "ours", "databaseUrlFrom": {"name": "of-the-database"}}
    values = {**cluster, "secrets": given}

    def annotations(**data):
        running = {f"Secret/{name}": {"data": one} for name, one in data.items()}
        workload = workload_of(rendered(values, running))
        return workload["spec"]["template"]["metadata"]["annotations"]

    key = "checksum/secrets-of-others"
    report.expect(key not in annotations(), "a checksum of nothing")
    before = annotations(ours={"account-shop": "YQ=="})
    report.expect(annotations(ours={"account-shop": "YQ=="}) == before, "a restart for nothing")
    for more in ({"ours": {"account-shop": "Yg=="}}, {"ours": {"account-shop": "YQ=="}, "of-the-database": {"uri": "YQ=="}}):
        report.expect(annotations(**more)[key] != before[key], f"{more} restarts nothing")


def volumes(report, embedded):
    """A StatefulSet keeps the size of its volumes, which is said before anything has changed."""

    def tried(size):
        claim = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": size}}}}
        running = {"StatefulSet/smsc": {"spec": {"replicas": 1, "volumeClaimTemplates": [claim]}}}
        return rendered({**embedded, "persistence": {"size": "30Gi"}}, running)

    tried("30Gi")
    tried("30720Mi")
    try:
        tried("20Gi")
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises is its refusal
        missing = [word for word in ("persistence.size", "30Gi", "20Gi", "Larger volumes") if word not in str(error)]
        report.expect(not missing, f"{missing} not in: {error}")
    else:
        report.expect(False, "another size of the volumes is rendered")
