# shellcheck shell=bash
# What the steps of a trial of the chart have in common: scripts/kind and clusterlib/inside source this. kubectl and helm are
# in the path and lead to the cluster. Set before:
#
#   CHART       the folder of the chart
#   WORK        a temporary folder
#   IMAGE       the image, REPOSITORY:TAG
#   POSTGRES    the image of PostgreSQL, which understands POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB,
#               POSTGRES_INITDB_ARGS and PGDATA

# Where things are now; a step sets it. RELEASE is the release's name as well.
NAMESPACE=smsc

say() { printf '\n=== %s (%d s)\n' "$*" "$SECONDS"; }

in_cluster() { kubectl --namespace "$NAMESPACE" "$@"; }
chart() {
    local command=$1
    shift
    [[ ! $command =~ ^(install|upgrade)$ ]] || set -- --hide-notes "$@"
    helm "$command" --namespace "$NAMESPACE" "$@"
}
# The command line of a node.
smsc() { in_cluster exec "$(nodes_name)" --container smsc -- smsc "$@"; }

# The workload: deployment/smsc or statefulset/smsc.
nodes_name() {
    in_cluster get deployment,statefulset --selector app.kubernetes.io/name=smsc --output name
}

fail() {
    echo "FAILED: $*" >&2
    in_cluster get pods,jobs >&2 || true
    in_cluster get events --sort-by .lastTimestamp 2>/dev/null | tail -n 20 >&2 || true
    in_cluster logs --selector app.kubernetes.io/name=smsc --all-containers --prefix --tail 30 >&2 || true
    exit 1
}

# A namespace that takes in only what Pod Security calls restricted.
namespace() {
    NAMESPACE=$1
    kubectl create namespace "$1" --dry-run=client --output yaml | kubectl apply --filename - >/dev/null
    kubectl label --overwrite namespace "$1" pod-security.kubernetes.io/enforce=restricted \
        pod-security.kubernetes.io/warn=restricted >/dev/null
}

# Runs a pod of the image as the chart's are. Arguments: its name, arguments of smsc.
pod() {
    local name=$1 arguments
    shift
    arguments=$(printf ', "%s"' "$@")
    in_cluster apply --filename - >/dev/null <<POD
apiVersion: v1
kind: Pod
metadata: { name: $name, labels: { trial: "yes" } }
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: RuntimeDefault } }
  containers:
    - name: smsc
      image: $IMAGE
      imagePullPolicy: Never
      args: [${arguments:2}]
      securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL] } }
POD
}

# Runs one to its end, prints what it said, and has its outcome.
pod_ends() {
    local name=trial-$RANDOM phase end=$((SECONDS + 90))
    pod "$name" "$@"
    until phase=$(in_cluster get pod "$name" --output jsonpath='{.status.phase}') && [[ $phase =~ ^(Succeeded|Failed)$ ]]; do
        [ "$SECONDS" -lt "$end" ] || break
        sleep 0.5
    done
    in_cluster logs "$name" || true
    in_cluster delete pod "$name" --wait=false --grace-period 1 >/dev/null
    [ "$phase" = Succeeded ]
}

# Sends a message through the service and waits until it is delivered, as an account of its own: receipts of one under load
# may go to its other binds.
send() {
    pod_ends send --host smsc-smpp:2775 --system-id try --password "${2:-sesame}" --to 447700900123 "$1" ||
        fail "the message was not delivered: $1"
}

# A PostgreSQL, without its data being safe: only for a trial. Sets DATABASE, its URL up to the name of a database.
postgres() {
    local password
    password=$(openssl rand -hex 16)
    kubectl create namespace db --dry-run=client --output yaml | kubectl apply --filename - >/dev/null
    kubectl --namespace db apply --filename - <<POSTGRES
apiVersion: apps/v1
kind: Deployment
metadata: { name: postgres }
spec:
  selector: { matchLabels: { app: postgres } }
  template:
    metadata: { labels: { app: postgres } }
    spec:
      containers:
        - name: postgres
          image: $POSTGRES
          imagePullPolicy: IfNotPresent
          args: [postgres, -c, max_connections=300]
          env:
            - { name: POSTGRES_USER, value: smsc }
            - { name: POSTGRES_PASSWORD, value: "$password" }
            - { name: POSTGRES_DB, value: smsc }
            - { name: POSTGRES_INITDB_ARGS, value: --data-checksums }
            - { name: PGDATA, value: /data/pgdata }
          readinessProbe:
            exec: { command: [sh, -c, 'PGPASSWORD=$password psql -h 127.0.0.1 -U smsc -c "select 1" smsc'] }
            periodSeconds: 2
          volumeMounts: [{ name: data, mountPath: /data }]
      volumes: [{ name: data, emptyDir: {} }]
---
apiVersion: v1
kind: Service
metadata: { name: postgres }
spec: { selector: { app: postgres }, ports: [{ port: 5432 }] }
POSTGRES
    kubectl --namespace db rollout status deployment/postgres --timeout 180s
    # shellcheck disable=SC2034 # for the steps
    DATABASE=postgres://smsc:$password@postgres.db:5432
    PGPASSWORD=$password
}

# One more database.
database() {
    kubectl --namespace db exec deployment/postgres -- env "PGPASSWORD=$PGPASSWORD" \
        psql -q -h 127.0.0.1 -U smsc -c "create database $1" postgres
}

# The values that all releases have, to standard output.
common_values() {
    cat <<VALUES
image: { repository: ${IMAGE%:*}, tag: ${IMAGE##*:}, pullPolicy: Never }
config:
  cdr: { format: table }
  account: [{ system_id: shop }, { system_id: try }]
  route: [{ prefix: "", to: ["test:delivered"] }]
resources: { requests: { cpu: 100m, memory: 128Mi }, limits: { memory: 1Gi } }
VALUES
}

# The end of a step.
gone() {
    chart uninstall smsc --wait --timeout 5m || fail "uninstall"
    kubectl delete namespace "$NAMESPACE" --wait=false
}

# Prints the names and uids of the pods that serve, which say whether they are others.
node_pods() {
    in_cluster get pods --selector app.kubernetes.io/component=node --sort-by .metadata.name \
        --output jsonpath='{range .items[*]}{.metadata.name}={.metadata.uid} {end}'
}
