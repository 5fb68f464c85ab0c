# shellcheck shell=bash
# The order in which Argo CD brings a release, without Argo CD: sourced by clusterlib/inside after operations.sh.

# Renders as Argo CD does, which sees nothing of the cluster, and applies in its order.
sync() {
    helm template smsc "$CHART" --namespace "$NAMESPACE" --values "$WORK/argo.yaml" "$@" >"$WORK/rendered.yaml" ||
        fail "helm template"
    in_cluster create --dry-run=client --output json --filename "$WORK/rendered.yaml" >"$WORK/one-by-one.json"
    # kubectl writes one object after the other.
    python3 - "$WORK/one-by-one.json" >"$WORK/rendered.json" <<'PYTHON'
import json, sys
text, found, at = open(sys.argv[1]).read(), [], 0
while text[at:].strip():
    at += len(text[at:]) - len(text[at:].lstrip())
    one, at = json.JSONDecoder().raw_decode(text, at)
    found += one["items"] if one["kind"] == "List" else [one]
print(json.dumps({"items": found}))
PYTHON
    python3 "$LIBRARY/argo.py" "$NAMESPACE" "$WORK/rendered.json"
}

argo() {
    namespace argo
    database argo
    in_cluster create secret generic argo --from-literal=admin-token=argo-token-0123456789abcdef \
        --from-literal=account-shop=sesame --from-literal=account-try=sesame --from-literal=account-more=sesame \
        --from-literal=database-url="$DATABASE/argo"
    cat - <(common_values) >"$WORK/argo.yaml" <<VALUES
mode: cluster
replicaCount: 2
persistence: { size: 1Gi }
secrets: { existingSecret: argo }
VALUES
    say "Argo CD's order: the first sync, where nothing runs"
    sync || fail "the first sync"
    send "after the first sync"
    say "the second sync, with one account more"
    sync --set 'config.account[0].system_id=shop,config.account[1].system_id=try,config.account[2].system_id=more' ||
        fail "the second sync"
    send "after the second sync"
    smsc account list | grep -w more || fail "the account of the second sync is missing"
    say "a third sync, without it, is refused before the pods change"
    everything | grep -v '^Pod \|^Job \|smsc-before' >"$WORK/before"
    if sync >"$WORK/last" 2>&1; then fail "the sync removed accounts/more without saying so"; fi
    cat "$WORK/last"
    grep -q accounts/more "$WORK/last" || in_cluster logs job/smsc-before-removals | grep accounts/more ||
        fail "the refusal does not name accounts/more"
    everything | grep -v '^Pod \|^Job \|smsc-before' >"$WORK/after"
    diff "$WORK/before" "$WORK/after" || fail "something changed"
    say "with allowRemovals it passes"
    sync --set allowRemovals=true || fail "the sync with allowRemovals"
    if smsc account list | grep -w more; then fail "the account is still there"; fi
    kubectl delete namespace "$NAMESPACE" --wait=false
}
