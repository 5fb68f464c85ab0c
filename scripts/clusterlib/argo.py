"""Applies what `helm template` writes as Argo CD does: hooks as it maps them, waves, and what is to be deleted when.

Usage: argo.py NAMESPACE OBJECTS.json

OBJECTS.json is a list of Kubernetes; kubectl is in the path. Called by argo.sh. Argo CD takes pre-install and pre-upgrade for
PreSync, post-install and post-upgrade for PostSync, and runs both at every sync; it leaves other hooks alone. Within a phase
the next wave, which is the hook's weight, begins when the one before is done.
"""

import json
import subprocess
import sys
import time

NAMESPACE, FILE = sys.argv[1:]
PHASES = {
    "pre-install": "PreSync",
    "pre-upgrade": "PreSync",
    "post-install": "PostSync",
    "post-upgrade": "PostSync",
}
# As Argo CD orders kinds within a wave, as far as the chart has them.
KINDS = ["NetworkPolicy", "PodDisruptionBudget", "ServiceAccount", "Secret", "ConfigMap", "Service", "Deployment", "StatefulSet"]


def kubectl(*arguments, given=None):
    said = subprocess.run(["kubectl", "--namespace", NAMESPACE, *arguments], input=given, text=True, capture_output=True)
    if said.returncode:
        sys.exit(f"FAILED: kubectl {' '.join(arguments)}: {said.stderr.strip()}")
    return said.stdout


def named(one):
    return f"{one['kind']}/{one['metadata']['name']}".lower()


def annotation(one, name):
    return one["metadata"].get("annotations", {}).get(f"helm.sh/{name}", "")


def words(one, name):
    return [word.strip() for word in annotation(one, name).split(",") if word.strip()]


def wait_for(one):
    """Until a Job has ended or a workload is up."""
    if one["kind"] in ("Deployment", "StatefulSet"):
        kubectl("rollout", "status", named(one), "--timeout", "300s")
    if one["kind"] != "Job":
        return
    end = time.monotonic() + 300
    while time.monotonic() < end:
        status = json.loads(kubectl("get", named(one), "--output", "json")).get("status", {})
        for condition in status.get("conditions", []):
            if condition["status"] == "True" and condition["type"] in ("Complete", "Failed"):
                attempts = kubectl("get", "pods", "--selector", f"job-name={one['metadata']['name']}", "--output", "name",
                                   "--sort-by", ".metadata.creationTimestamp").split()
                for number, attempt in enumerate(attempts, 1):
                    text = kubectl("logs", attempt, "--tail", "5").strip()
                    print(f"  {named(one)}, attempt {number} of {len(attempts)}: {text}", flush=True)
                print(f"  {named(one)}: {condition['type']}", flush=True)
                if condition["type"] == "Failed":
                    sys.exit(f"FAILED: {named(one)}")
                return
        time.sleep(0.5)
    sys.exit(f"FAILED: {named(one)} does not end")


def apply(one):
    if "before-hook-creation" in words(one, "hook-delete-policy"):
        kubectl("delete", named(one), "--ignore-not-found", "--wait")
    # Jobs cannot be changed, and nothing of a hook needs the annotation that apply would leave.
    kubectl("apply", "--filename", "-", given=json.dumps(one))


def main():
    with open(FILE, encoding="utf-8") as file:
        objects = json.load(file)["items"]
    phases = {"PreSync": [], "Sync": [], "PostSync": []}
    for one in objects:
        hooks = words(one, "hook")
        for phase in {PHASES[hook] for hook in hooks if hook in PHASES} if hooks else {"Sync"}:
            phases[phase].append(one)
    succeeded = []
    for phase, members in phases.items():
        weights = sorted({int(annotation(one, "hook-weight") or 0) for one in members})
        for weight in weights:
            wave = [one for one in members if int(annotation(one, "hook-weight") or 0) == weight]
            wave.sort(key=lambda one: KINDS.index(one["kind"]) if one["kind"] in KINDS else len(KINDS))
            print(f"{phase}, wave {weight}: {' '.join(map(named, wave))}", flush=True)
            for one in wave:
                apply(one)
            for one in wave:
                wait_for(one)
        succeeded += [one for one in members if "hook-succeeded" in words(one, "hook-delete-policy")]
    for one in succeeded:
        kubectl("delete", named(one), "--ignore-not-found", "--wait")


main()
