# shellcheck shell=bash
# What administrators do with the chart, beyond the steps that scripts/kind has: sourced by clusterlib/inside after trial.sh.
# Each function makes a namespace and a release of its own, checks what it did and ends the script otherwise.

# Waits until a command succeeds, and says how long it took.
within() {
    local limit=$1 what=$2 began=$SECONDS
    shift 2
    until "$@" >"$WORK/last" 2>&1; do
        if [ $((SECONDS - began)) -ge "$limit" ]; then
            cat "$WORK/last" >&2
            fail "not within $limit s: $what"
        fi
        sleep 1
    done
    echo "$what: after $((SECONDS - began)) s"
}

# A command that must fail.
refused() {
    local what=$1
    shift
    if "$@" >"$WORK/last" 2>&1; then
        cat "$WORK/last" >&2
        fail "this went well: $what"
    fi
    echo "refused: $what: $({ grep -m 1 Error "$WORK/last" || grep -v '^command terminated' "$WORK/last"; } | tail -n 1 | cut -c 1-300)"
}

# A command in the first node's pod, to the node with this number.
asked() { in_cluster exec smsc-0 --container smsc -- smsc node list --url "http://smsc-$1.smsc-nodes:8080" --token "$2"; }
sent() {
    in_cluster exec smsc-0 --container smsc -- smsc send --host "smsc-$1.smsc-nodes:2775" --system-id try --password "$2" \
        --to 447700900123 "by node $1"
}

# Passwords and the admin token change in a Secret that the chart does not make.
rotation() {
    local node pods token=first-token-0123456789abcdef next=second-token-0123456789abcdef third=third-token-0123456789abcdef
    say "a Secret of the user, three nodes in a StatefulSet"
    namespace ours
    database ours
    in_cluster create secret generic ours --from-literal=admin-token="$token" --from-literal=account-shop=sesame \
        --from-literal=account-try=before --from-literal=database-url="$DATABASE/ours"
    cat - <(common_values) >"$WORK/ours.yaml" <<VALUES
mode: cluster
replicaCount: 3
persistence: { size: 1Gi }
secrets: { existingSecret: ours }
VALUES
    chart install smsc "$CHART" --values "$WORK/ours.yaml" --wait --timeout 5m || fail "install"
    chart test smsc || fail "helm test"
    for node in 0 1 2; do sent $node before || fail "the password is not known to node $node"; done

    say "the password of an account and the admin token change"
    pods=$(node_pods)
    in_cluster patch secret ours --patch "{\"stringData\": {\"account-try\": \"after\", \"admin-token\": \"$next\"}}"
    for node in 0 1 2; do
        within 120 "node $node knows the new token" asked $node $next
        within 60 "node $node knows the new password" sent $node after
        refused "the old token at node $node" asked $node $token
        refused "the old password at node $node" sent $node before
    done
    [ "$(node_pods)" = "$pods" ] || fail "pods were restarted: $pods, now $(node_pods)"

    say "upgrades pass, also at once after a change of the token"
    chart upgrade smsc "$CHART" --values "$WORK/ours.yaml" --wait --timeout 10m || fail "upgrade after the rotation"
    in_cluster patch secret ours --patch "{\"stringData\": {\"admin-token\": \"$third\"}}"
    chart upgrade smsc "$CHART" --values "$WORK/ours.yaml" --wait --timeout 10m || fail "upgrade at once after a rotation"
    for node in 0 1 2; do asked $node $third >/dev/null || fail "node $node does not know the third token"; done
    for node in 0 1 2; do sent $node after || fail "the password is not known to node $node"; done
}

# Goes on with the release of the rotation. Nothing measures the pods here: somebody else scales in place of the autoscaler.
autoscaling() {
    local watcher least pods number
    say "autoscaling is turned on, and the number of pods stays"
    namespace ours
    pods=$(node_pods)
    in_cluster get statefulset smsc --watch --output jsonpath='{.spec.replicas}{"\n"}' >"$WORK/replicas" &
    watcher=$!
    local scaled=(--values "$WORK/ours.yaml" --set "autoscaling.enabled=true,autoscaling.minReplicas=2,autoscaling.maxReplicas=6"
        --wait --timeout 5m)
    chart upgrade smsc "$CHART" "${scaled[@]}" || fail "upgrade"
    [ "$(node_pods)" = "$pods" ] || fail "other pods: $pods, now $(node_pods)"
    in_cluster scale statefulset smsc --replicas 4
    in_cluster rollout status statefulset/smsc --timeout 180s
    chart upgrade smsc "$CHART" "${scaled[@]}" || fail "upgrade of four pods"
    number=$(in_cluster get statefulset smsc --output jsonpath='{.spec.replicas}')
    kill "$watcher"
    wait "$watcher" || true
    least=$(sort -n "$WORK/replicas" | head -n 1)
    echo "replicas: $(tr '\n' ' ' <"$WORK/replicas")"
    [ "$least" = 3 ] || fail "there were $least"
    [ "$number" = 4 ] || fail "four pods became $number"
    in_cluster get horizontalpodautoscaler

    say "turned off again, the chart's number holds"
    # Helm 4 does not overwrite what somebody else has set, unless it is told to.
    local forced=()
    [[ ! $(helm version --short) =~ ^v4 ]] || {
        refused "a number that somebody else has set" chart upgrade smsc "$CHART" --values "$WORK/ours.yaml" --wait --timeout 5m
        forced=(--force-conflicts)
    }
    chart upgrade smsc "$CHART" --values "$WORK/ours.yaml" "${forced[@]}" --wait --timeout 5m || fail "upgrade"
    number=$(in_cluster get statefulset smsc --output jsonpath='{.spec.replicas}')
    [ "$number" = 3 ] || fail "three pods became $number"
    gone
}

# A first installation that fails, for three reasons one after the other, and is repaired by the next upgrade.
repaired() {
    namespace repaired
    database repaired
    cat - <(common_values) >"$WORK/repaired.yaml" <<VALUES
mode: cluster
replicaCount: 2
persistence: { enabled: false }
secrets:
  databaseUrl: $DATABASE/repaired
  accounts: { shop: sesame, try: sesame }
VALUES
    local install=(chart upgrade --install smsc "$CHART" --values "$WORK/repaired.yaml" --wait)
    say "a first installation without the image fails"
    refused "no image" "${install[@]}" --timeout 20s --set image.tag=missing
    say "the second try, without a database, fails"
    refused "no database" "${install[@]}" --timeout 60s --set secrets.databaseUrl=postgres://smsc:smsc@nowhere:5432/smsc
    say "the third try, whose pods find no room, fails"
    refused "no room" "${install[@]}" --timeout 60s --set resources.requests.cpu=1000
    say "the fourth try repairs it"
    "${install[@]}" --timeout 5m || fail "the repair"
    chart test smsc || fail "helm test"
    send "after the repair"
    chart history smsc
    gone
}

# What there is in the namespace, with versions that any change makes others. Leases and events change by themselves.
everything() {
    in_cluster get all,configmaps,secrets,persistentvolumeclaims,networkpolicies,serviceaccounts --output json |
        python3 -c 'import json, sys
for one in json.load(sys.stdin)["items"]:
    print(one["kind"], one["metadata"]["name"], one["metadata"]["resourceVersion"])' | sort
}

# One node with the embedded store, whose volume is to be larger.
volume() {
    say "the embedded store on a volume"
    namespace single
    cat - <(common_values) >"$WORK/single.yaml" <<VALUES
persistence: { size: 1Gi }
secrets: { accounts: { shop: sesame, try: sesame } }
VALUES
    chart install smsc "$CHART" --values "$WORK/single.yaml" --wait --timeout 5m || fail "install"
    chart test smsc || fail "helm test"
    send "into the embedded store"

    say "another size is refused before anything changes"
    everything >"$WORK/before"
    refused "a larger volume" chart upgrade smsc "$CHART" --values "$WORK/single.yaml" --set persistence.size=2Gi --wait
    grep -q 'persistence.size: is 2Gi' "$WORK/last" || fail "the refusal does not say why"
    everything >"$WORK/after"
    diff "$WORK/before" "$WORK/after" || fail "something changed"

    say "the way that docs/cluster.md has: the StatefulSet is replaced around the pod"
    local pods
    pods=$(node_pods)
    in_cluster delete statefulset smsc --cascade=orphan
    chart upgrade smsc "$CHART" --values "$WORK/single.yaml" --set persistence.size=2Gi --wait --timeout 5m || fail "upgrade"
    in_cluster rollout status statefulset/smsc --timeout 180s
    [ "$(node_pods)" = "$pods" ] || fail "the pod was restarted: $pods, now $(node_pods)"
    send "after the larger volume"
    gone
}

no_pods() { [ -z "$(in_cluster get pods --output name)" ]; }

# Keeps the logs of all pods of the namespace by another name of each file: the kubelet only takes its own away.
keep_logs() {
    local file
    mkdir -p "$WORK/logs"
    while :; do
        for file in /var/log/pods/"$NAMESPACE"_*/*/*.log; do
            [ ! -e "$file" ] || ln -f "$file" "$WORK/logs/$(tr / _ <<<"${file#/var/log/pods/}")" 2>/dev/null || true
        done
        sleep 0.3
    done
}

# An installation, an upgrade that restarts the pods and an uninstallation, where nothing goes wrong, warn of nothing. The admin
# API speaks TLS, because in clear it warns of that.
quiet() {
    local mode keeper more
    for mode in cluster embedded; do
        say "nothing to warn of, mode $mode"
        namespace "quiet-$mode"
        more=
        if [ "$mode" = cluster ]; then
            database quiet
            more=", databaseUrl: $DATABASE/quiet"
        fi
        # By the cluster's own authority (kubernetes.sh).
        certificate "http-$mode" /CN=smsc-http DNS:smsc-http
        in_cluster create secret generic console-tls --from-file=ca.crt="$KEYS/ca.crt" \
            --from-file=tls.crt="$KEYS/http-$mode.crt" --from-file=tls.key="$KEYS/http-$mode.key"
        cat - <(common_values) >"$WORK/quiet.yaml" <<VALUES
mode: $mode
service: { http: { caFile: /run/secrets/smsc-http/ca.crt } }
extraVolumes: [{ name: http-tls, secret: { secretName: console-tls, defaultMode: 0440 } }]
extraVolumeMounts: [{ name: http-tls, mountPath: /run/secrets/smsc-http, readOnly: true }]
replicaCount: ${more:+2}
persistence: { size: 1Gi }
secrets: { accounts: { shop: sesame, try: sesame }$more }
VALUES
        local tls=config.http.tls_cert=/run/secrets/smsc-http/tls.crt,config.http.tls_key=/run/secrets/smsc-http/tls.key
        rm -rf "$WORK/logs"
        keep_logs &
        keeper=$!
        chart install smsc "$CHART" --values "$WORK/quiet.yaml" --set "$tls" --wait --timeout 5m || fail "install"
        chart test smsc || fail "helm test"
        send "between"
        chart upgrade smsc "$CHART" --values "$WORK/quiet.yaml" --set "$tls,config.queue.page=512" --wait --timeout 10m ||
            fail "upgrade"
        in_cluster rollout status statefulset/smsc --timeout 180s
        send "after the upgrade"
        chart uninstall smsc --wait --timeout 5m || fail "uninstall"
        within 120 "the last pod is gone" no_pods
        sleep 1
        kill "$keeper"
        wait "$keeper" || true
        echo "lines by pod:"
        (cd "$WORK/logs" && wc -l ./*)
        ! grep -rE '"level": ?"(WARN|ERROR)"|panicked| (WARN|ERROR) ' "$WORK/logs" || fail "warnings"
        grep -rqE '"level": ?"INFO"' "$WORK/logs" || fail "the logs have nothing at all"
        echo "left behind by the release:"
        in_cluster get all,configmaps,secrets,persistentvolumeclaims,networkpolicies,serviceaccounts,poddisruptionbudgets \
            --selector app.kubernetes.io/instance=smsc --output name
        kubectl delete namespace "$NAMESPACE" --wait=false
    done
}
