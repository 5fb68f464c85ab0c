# shellcheck shell=bash
# compose.yaml as it is, with stand-ins for the images of others: messages through both nodes, the load, a node that stops
# meanwhile, what Prometheus sees, and nothing left behind. For scripts/container.

compose() { cell_run docker compose --project-directory /src --file /src/compose.yaml --progress quiet "$@"; }

# The image that compose.yaml names for a program.
compose_image() { sed -n "s/^ *image: \([^ ]*\b$1:[^ ]*\)$/\1/p" compose.yaml; }

compose_images() {
    local service
    say "stand-ins of Debian's packages for the other images of compose.yaml"
    docker image inspect smsc-services >/dev/null 2>&1 || docker import /images/services.tar smsc-services >/dev/null
    for service in postgres redis prometheus tempo grafana; do
        docker build --quiet --network none --target "$service" --tag "$(compose_image $service)" \
            /src/scripts/celllib/stand-ins >/dev/null
    done
    for service in postgres redis prometheus; do
        echo "$(compose_image $service): $(docker run --rm --entrypoint bash "$(compose_image $service)" -c "$(
            case $service in
            postgres) echo 'postgres --version' ;;
            redis) echo 'redis-server --version' ;;
            prometheus) echo 'prometheus --version 2>&1 | head -n 1' ;;
            esac
        )")"
    done
}

compose_is_healthy() { run_is_healthy "smsc-$1-1"; }

compose_wait() {
    cell_until 120 compose_is_healthy "$1" || {
        compose ps --all >&2
        compose logs --tail 30 "$1" migrate >&2
        fail "$1 does not become healthy"
    }
}

# Sends as the account that is named. The operator that is played lets some fail; then the next one is tried.
compose_send() {
    local node=$1 account=$2 text=$3 said attempt
    for attempt in 1 2 3; do
        if said=$(compose exec -T "$node" smsc send --system-id "$account" --password sesame --to 447700900123 \
            "$text $attempt" 2>&1); then
            grep -q DELIVERED <<<"$said" && echo "$said" && return
        fi
    done
    fail "$node does not deliver: $said"
}

prometheus() { cell_run curl --silent --fail "http://127.0.0.1:9090/api/v1/$1"; }
compose_sees_nodes() { prometheus 'query?query=count(up==1)' | grep -q '"2"'; }
# Every rule was evaluated, and none had an error.
compose_rules_are_good() {
    local rules
    rules=$(prometheus rules)
    [[ $rules == *'"health":"ok"'* && $rules != *'"health":"unknown"'* && $rules != *'"health":"err"'* ]]
}

compose_start() {
    say "docker compose up"
    compose up --detach --no-build
    compose_wait node-1
    compose_wait node-2
    compose ps --format 'table {{.Service}}\t{{.Image}}\t{{.Status}}'
    run_rights smsc-node-1-1
}

compose_messages() {
    say "messages through both nodes"
    compose_send node-1 shop "through node-1"
    compose_send node-2 shop "through node-2"
    compose exec -T node-1 smsc node list
    say "the load of compose.yaml"
    compose run --rm load || fail "the load"
}

# Half of the binds are of node-1, which stops and comes back while messages come in.
compose_outage() {
    local load
    say "node-1 stops under load"
    # An account of its own for what is sent meanwhile: its bind would take receipts of the load.
    compose exec -T node-1 smsc account add try --set password=sesame --yes
    compose run --rm --no-deps load load --host node-1:2775,node-2:2775 --system-id shop --password sesame \
        --count 3000 --rate 100 >"$FOLDER/load.txt" 2>&1 &
    load=$!
    sleep 5
    compose stop node-1
    echo "node-1 ended with $(docker inspect --format '{{.State.ExitCode}}' smsc-node-1-1)"
    [ "$(docker inspect --format '{{.State.ExitCode}}' smsc-node-1-1)" = 0 ] || fail "node-1 does not end by itself"
    compose_send node-2 try "while node-1 is away"
    compose start node-1
    compose_wait node-1
    wait "$load" || {
        cat "$FOLDER/load.txt" >&2
        fail "the load while a node stopped"
    }
    tail -n 25 "$FOLDER/load.txt"
    compose exec -T node-2 smsc queue list
}

compose_watchers() {
    local traces address
    say "what Prometheus, the stand-in of Tempo and that of Grafana have"
    cell_until 60 compose_sees_nodes || fail "Prometheus does not see two nodes: $(prometheus targets)"
    cell_until 60 compose_rules_are_good || fail "Prometheus has an error in a rule: $(prometheus rules)"
    echo "nodes that are up: 2; rules without an error: $(prometheus rules | grep -o '"health":"ok"' | wc -l)"
    prometheus 'query?query=sum(smsc_messages_accepted_total)' && echo
    address=$(docker inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' smsc-tempo-1)
    traces=$(cell_run curl --silent --fail "http://$address:3200/")
    echo "traces: $traces"
    [[ $traces == *'"smsc"'* ]] || fail "no trace came"
    cell_run curl --silent --fail --output /dev/null http://127.0.0.1:3000/smsc-overview.json ||
        fail "Grafana would not find its dashboards"
    docker logs smsc-grafana-1 2>/dev/null
}

compose_end() {
    say "docker compose down --volumes"
    compose --profile load down --volumes
    [ -z "$(docker ps --all --quiet)" ] || fail "containers stay: $(docker ps --all)"
    [ -z "$(docker volume ls --quiet)" ] || fail "volumes stay: $(docker volume ls)"
}
