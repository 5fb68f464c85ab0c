# Runs in a network namespace of its own: an SMSC that listens where the documentation says, and then commands,
# each of which writes results/NUMBER.code and results/NUMBER.said.
ip link set lo up
smsc serve --config smsc.toml > serve.log 2>&1 &
server=$!
for _ in $(seq 600); do
    smsc health --timeout 1s > /dev/null 2>&1 && break
    kill -0 "$server" || { cat serve.log >&2; exit 1; }
    read -rt 0.2 < <(:) || true
done
TOKEN=$(cat smsc-data/admin-token)
export TOKEN SMSC_SOCKET=./smsc.sock
echo demo-pw > smsc-data/demo-password
smsc token add test --role admin > test.token
smsc token add night-shift --role operate > night-shift.token
smsc token remove night-shift > /dev/null
smsc context add test --url http://127.0.0.1:8080 --token-file test.token > /dev/null
smsc backup --data-dir ./smsc-data backup/smsc-2026-11-21.db > /dev/null
shown() {
    eval "$(cat)" > "results/$1.said" 2>&1 < /dev/null
    echo $? > "results/$1.code"
    # A page that chooses another SMSC must not lose this one.
    smsc context use > /dev/null 2>&1
}
end() {
    kill "$server"
    wait "$server" 2> /dev/null
    exit 0
}
