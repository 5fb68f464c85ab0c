# shellcheck shell=bash
# The image alone, as docs/security.md wants it run: nothing to write to but its volume, no capabilities, not root. For
# scripts/container.

HARDENED=(--read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp)

run_is_healthy() {
    [ "$(docker inspect --format '{{.State.Health.Status}}' "$1")" = healthy ]
}

run_wait() {
    cell_until 90 run_is_healthy "$1" || {
        docker logs --tail 30 "$1" >&2
        docker inspect --format '{{json .State}}' "$1" >&2
        fail "$1 does not become healthy"
    }
}

# Sends a message in a container and wants it delivered; the rest are arguments of `smsc send`.
run_send() {
    local container=$1 said
    shift
    said=$(docker exec "$container" smsc send --to 447700900123 "$@" 2>&1) || fail "$container: $said"
    grep -q DELIVERED <<<"$said" || fail "$container does not deliver: $said"
    echo "$said"
}

# What the first process of a container may do.
run_rights() {
    local container=$1 status
    status=$(docker exec "$container" cat /proc/1/status)
    grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs):' <<<"$status" | tr '\t\n' '  ' && echo
    grep -qE $'^Uid:\t10001\t10001' <<<"$status" || fail "$container is not 10001"
    grep -qE $'^CapBnd:\t0+$' <<<"$status" || fail "$container has capabilities"
    grep -qE $'^NoNewPrivs:\t1$' <<<"$status" || fail "$container may gain rights"
    if docker exec --user 0 "$container" touch /etc/new 2>/dev/null; then fail "$container is not read-only"; fi
}

# Stops a container as a runtime does, and wants it to end by itself, without an error.
run_stop() {
    local began=$SECONDS code
    docker stop --time 60 "$1" >/dev/null
    code=$(docker inspect --format '{{.State.ExitCode}}' "$1")
    echo "$1 ended with $code, $((SECONDS - began)) s after SIGTERM"
    [ "$code" = 0 ] || fail "$1 ends with $code"
    docker logs "$1" 2>&1 | tail -n 3
}

run_demo() {
    local said id
    say "the demo: read-only, without capabilities, 10001"
    docker run --detach --name demo "${HARDENED[@]}" --volume demo:/var/lib/smsc \
        --env SMSC_SMPP__LISTEN=0.0.0.0:2775 --env SMSC_HTTP__LISTEN=0.0.0.0:8080 \
        --publish 127.0.0.1:2775:2775 --publish 127.0.0.1:8080:8080 "$IMAGE" >/dev/null
    run_wait demo
    docker exec demo smsc health
    run_rights demo
    said=$(run_send demo "hello from a container") || exit 1
    echo "$said"
    # From outside, by the ports that are published.
    cell_run curl --silent --fail --output /dev/null http://127.0.0.1:8080/ || fail "the console is not reached"
    run_stop demo

    say "the volume keeps what it had"
    docker start demo >/dev/null
    run_wait demo
    id=$(sed -n 's/^accepted .* as \([0-9]*\) .*/\1/p' <<<"$said")
    said=$(docker exec demo smsc message show "$id") || fail "message $id is not there after the start"
    head -n 4 <<<"$said"
    grep -q '^state *DELIVERED' <<<"$said" || fail "message $id is another after the start"
    run_stop demo
    docker rm --volumes demo >/dev/null
    docker volume rm demo >/dev/null
}

# With a file that --config names, and other ports: the health check of the image has to find them.
run_configured() {
    say "with a configuration by --config"
    cat >"$TREE/try.toml" <<'TOML'
data_dir = "/var/lib/smsc/data"
smpp = { listen = "0.0.0.0:2776" }
http = { listen = "0.0.0.0:9191", admin_token = "look-around" }
[[account]]
system_id = "shop"
password = "sesame"
[[route]]
prefix = ""
to = ["test:delivered"]
TOML
    docker run --detach --name configured "${HARDENED[@]}" --volume configured:/var/lib/smsc \
        --volume /try.toml:/etc/smsc/smsc.toml:ro "$IMAGE" serve --config /etc/smsc/smsc.toml >/dev/null
    run_wait configured
    docker exec configured smsc health
    run_rights configured
    run_send configured --host 127.0.0.1:2776 --system-id shop --password sesame "with a file"
    run_stop configured
    docker rm --volumes configured >/dev/null
    docker volume rm configured >/dev/null
}
