# shellcheck shell=bash
# From the installation to the loss of a pod, for scripts/kind and scripts/cluster (trial.sh says what it needs; its PostgreSQL must run). Each step
# checks what it did and ends the script otherwise.

steps() {
    namespace smsc
    cat - <(common_values) >"$WORK/values.yaml" <<VALUES
mode: cluster
replicaCount: 2
persistence: { enabled: false }
secrets:
  databaseUrl: $DATABASE/smsc
  accounts: { shop: sesame, try: sesame }
VALUES

    say "install"
    chart upgrade --install smsc "$CHART" --values "$WORK/values.yaml" --wait --timeout 5m || fail "install"
    chart test smsc || fail "helm test"

    say "send"
    send "after the installation"
    smsc node list

    say "upgrade under load: a setting that restarts every pod"
    pod load load --host smsc-smpp:2775 --system-id shop --password sesame --count 20000 --rate 200
    in_cluster wait pod/load --for condition=Ready --timeout 60s
    chart upgrade smsc "$CHART" --values "$WORK/values.yaml" --set config.queue.page=512 --wait --timeout 10m ||
        fail "upgrade"
    send "after the upgrade"

    say "kill a pod"
    local victim
    victim=$(in_cluster get pods --selector app.kubernetes.io/component=node --output jsonpath='{.items[0].metadata.name}')
    in_cluster delete pod "$victim" --grace-period 0 --force
    send "while a pod is away"
    in_cluster rollout status deployment/smsc --timeout 180s || fail "the pod does not come back"
    send "after a pod was killed"

    say "the load is over, and nothing that was acknowledged is missing"
    in_cluster wait pod/load --for jsonpath='{.status.phase}'=Succeeded --timeout 10m || {
        in_cluster logs pod/load --tail 30
        fail "the load"
    }
    in_cluster logs pod/load --tail 20
    in_cluster delete pod load
    smsc queue list

    say "an upgrade that would remove what the API made is refused"
    in_cluster exec deployment/smsc -- sh -c \
        'printf "[[account]]\nsystem_id = \"made\"\npassword = \"pass\"\n" | cat /etc/smsc/smsc.toml - > /tmp/more.toml &&
         smsc apply --file /tmp/more.toml --yes' || fail "apply"
    if chart upgrade smsc "$CHART" --values "$WORK/values.yaml" --wait --timeout 5m; then
        fail "the upgrade removed accounts/made without saying so"
    fi
    in_cluster logs job/smsc-before-removals | grep accounts/made || fail "the refusal does not name accounts/made"
    chart upgrade smsc "$CHART" --values "$WORK/values.yaml" --set allowRemovals=true --wait --timeout 5m ||
        fail "upgrade with allowRemovals"
    gone
}
