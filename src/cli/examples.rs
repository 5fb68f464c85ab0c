//! The examples below every `--help`: command lines that are right, as a test sees, each with what it does.
//!
//! Here for all commands, so that a new one without an example is noticed.

/// Above the examples of a command.
const HEAD: &str = "Examples:";

/// Command lines of each command, by its words: `token add`.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "smsc  # a demo: SMPP on 127.0.0.1:2775, a console on http://127.0.0.1:8080",
            "smsc serve --config smsc.toml",
        ],
    ),
    (
        "serve",
        &[
            "smsc serve --config smsc.toml",
            "smsc serve --config smsc.toml --suspended  # after a restored backup: look first, then send",
            "SMSC_LOG__FORMAT=json smsc serve -c smsc.toml  # the environment overrides the file",
        ],
    ),
    (
        "send",
        &[
            "smsc send --to 447700900123 \"hello\"",
            "smsc send --to 447700900123 --from ACME --dry-run --text \"is it long?\"  # its alphabet and parts",
            "smsc send --host smsc.example:2775 --system-id shop --to 447700900123 --file text.txt",
        ],
    ),
    (
        "check-config",
        &[
            "smsc check-config --config smsc.toml",
            "smsc check-config --defaults > smsc.toml  # every key with its meaning",
        ],
    ),
    (
        "apply",
        &[
            "smsc apply -f smsc.toml --dry-run  # what would change",
            "smsc apply -f smsc.toml --yes",
        ],
    ),
    (
        "config versions",
        &["smsc config versions --limit 5  # who changed what"],
    ),
    ("config show", &["smsc config show 7"]),
    ("config diff", &["smsc config diff"]),
    (
        "config reseal",
        &["smsc config reseal  # after a new key in secrets.key_file"],
    ),
    (
        "config rollback",
        &[
            "smsc config rollback 6 --dry-run",
            "smsc config rollback 6 --yes",
        ],
    ),
    (
        "account list",
        &[
            "smsc account list",
            "smsc account list -o csv > accounts.csv",
        ],
    ),
    (
        "account show",
        &[
            "smsc account show shop",
            "smsc account show shop --all -o yaml  # every key",
        ],
    ),
    (
        "account add",
        &[
            "smsc account add shop --set-file password=shop.password --set rate=50 --set max_binds=4",
            "smsc account add shop -f shop.toml --dry-run",
        ],
    ),
    (
        "account edit",
        &[
            "smsc account edit shop  # in $EDITOR",
            "smsc account edit shop --set rate=100 --unset quota_per_day --yes",
        ],
    ),
    (
        "account notes",
        &[
            "smsc account notes shop",
            "smsc account notes shop --add \"call Ann first, +44 20 7946 0000\"",
        ],
    ),
    (
        "account sheet",
        &["smsc account sheet shop > shop.txt  # for the customer; the password is not in it"],
    ),
    ("account remove", &["smsc account remove shop --dry-run"]),
    ("operator list", &["smsc operator list --watch"]),
    ("operator show", &["smsc operator show up"]),
    (
        "operator add",
        &[
            "smsc operator add up --set address=smpp.example:2775 --set system_id=smsc --set-file password=up.password",
            "smsc operator add up -f - < up.json",
        ],
    ),
    (
        "operator edit",
        &[
            "smsc operator edit up --set-file password=- --yes < new.password  # rotates the password",
            "smsc operator edit up --set binds=4 --set retry.max_attempts=5",
        ],
    ),
    ("operator notes", &["smsc operator notes up"]),
    (
        "operator suspend",
        &[
            "smsc operator suspend up",
            "smsc operator suspend up backup",
        ],
    ),
    ("operator resume", &["smsc operator resume up"]),
    (
        "operator rebind",
        &["smsc operator rebind up  # close every bind, and bind again"],
    ),
    (
        "operator test",
        &[
            "smsc operator test up",
            "smsc operator test up --force  # one more connection, while binds are up",
        ],
    ),
    ("operator remove", &["smsc operator remove up --yes"]),
    ("route list", &["smsc route list"]),
    ("route show", &["smsc route show 44"]),
    (
        "route add",
        &[
            "smsc route add uk --set prefix=44 --set to=up,backup",
            "smsc route add shared --set prefix=49 --set \"to=[{ a = 70, b = 30 }]\"",
        ],
    ),
    (
        "route edit",
        &["smsc route edit uk --set to=backup,up --yes"],
    ),
    ("route notes", &["smsc route notes 44"]),
    ("route remove", &["smsc route remove uk"]),
    (
        "route explain",
        &[
            "smsc route explain 447700900123 --account shop",
            "smsc route explain 12345 --operator up --mo --text \"INFO today\"  # which MO rule takes it",
        ],
    ),
    (
        "simulate",
        &[
            "smsc simulate --listen 127.0.0.1:2776 --profile slow",
            "smsc simulate --throttle-percent 20 --receipts mixed --verbose",
            "smsc simulate --protocol gsup --mo 1 --mo-to 12345",
            "smsc simulate --protocol map --listen 127.0.0.1:2905 --latency 100ms",
        ],
    ),
    (
        "load",
        &[
            "smsc load --system-id test --password test --duration 30s",
            "smsc load --rate 500 --count 10000 --json numbers.json",
        ],
    ),
    (
        "bench",
        &[
            "smsc bench --duration 10s --save before.json",
            "smsc bench --duration 10s --compare before.json",
            "smsc bench --host 127.0.0.1:2775 --compare 127.0.0.1:3775 --rounds 5  # two SMSCs in turns",
        ],
    ),
    (
        "queue list",
        &[
            "smsc queue list --watch",
            "smsc queue list --sort-by waiting",
            "smsc --context live queue list -o name",
        ],
    ),
    ("queue show", &["smsc queue show operator:up"]),
    (
        "queue suspend",
        &[
            "smsc queue suspend operator:up",
            "smsc queue suspend operator:up operator:backup account:shop",
        ],
    ),
    ("queue resume", &["smsc queue resume operator:up"]),
    ("queue purge", &["smsc queue purge account:shop"]),
    (
        "queue move",
        &[
            "smsc queue move operator:up --queue operator:backup",
            "smsc queue move operator:up --queue operator:backup --account shop --since 2h",
        ],
    ),
    ("bind list", &["smsc bind list", "smsc bind list up"]),
    ("bind disconnect", &["smsc bind disconnect 0/17"]),
    ("node list", &["smsc node list --watch=5"]),
    (
        "top",
        &[
            "smsc top",
            "smsc top --once --width 60  # one frame as text",
        ],
    ),
    (
        "events",
        &[
            "smsc events --follow",
            "smsc events --follow --only binds,operators -o json",
        ],
    ),
    (
        "trace",
        &[
            "smsc trace --to 447700900123",
            "smsc trace --operator up --for 1m",
            "smsc trace --account demo -o json | jq .status",
        ],
    ),
    (
        "why",
        &[
            "smsc why 1864325947392001  # what happened to a message, and what to do",
            "smsc why 447700900123  # where it is routed, and what has failed lately",
            "smsc why shop  # binds, limits and failures of an account",
        ],
    ),
    (
        "message list",
        &[
            "smsc message list --to 447700900123",
            "smsc message list --account shop --state ENROUTE --since yesterday -o csv",
            "smsc message list --from ACME --since 15:12 -o jsonl",
        ],
    ),
    (
        "message show",
        &[
            "smsc message show 1864325947392001",
            "smsc message show 1864325947392001 --text",
        ],
    ),
    (
        "message cancel",
        &[
            "smsc message cancel 1864325947392001",
            "smsc message cancel --operator up --dry-run  # how many wait there",
            "smsc message cancel --account shop --since 2h --yes",
        ],
    ),
    ("message retry", &["smsc message retry 1864325947392001"]),
    (
        "message move",
        &["smsc message move 1864325947392001 --queue operator:backup"],
    ),
    (
        "message replay",
        &[
            "smsc message replay 1864325947392001 --queue operator:backup",
            "smsc message replay --operator up --since yesterday --until today --dry-run",
        ],
    ),
    (
        "history",
        &[
            "smsc history  # of the last 24 hours, by the hour",
            "smsc history --since 2h --step minute --operator up",
            "smsc history --since 7d --by error",
        ],
    ),
    (
        "failures",
        &[
            "smsc failures --by error  # of the last 24 hours, with what they mean",
            "smsc failures --by country --operator up --since 10:05",
        ],
    ),
    (
        "dead-letter list",
        &[
            "smsc dead-letter list --operator up --since 2h",
            "smsc dead-letter list --ended-since 2026-11-24T10:05:00Z  # what has failed since then",
        ],
    ),
    (
        "receipt unmatched",
        &["smsc receipt unmatched --operator up"],
    ),
    ("receipt match", &["smsc receipt match 12 1864325947392001"]),
    (
        "receipt given-up",
        &["smsc receipt given-up --account shop"],
    ),
    ("receipt replay", &["smsc receipt replay --account shop"]),
    ("receipt drop", &["smsc receipt drop 12"]),
    ("incident list", &["smsc incident list"]),
    (
        "incident acknowledge",
        &["smsc incident acknowledge 1864325947392001"],
    ),
    (
        "damaged",
        &["smsc damaged", "smsc damaged --id 1864325947392001"],
    ),
    (
        "damaged list",
        &["smsc damaged list --id 1864325947392001 -o json"],
    ),
    (
        "damaged forget",
        &[
            "smsc damaged forget --table msg --id 1864325947392001",
            "smsc damaged forget --all",
        ],
    ),
    ("held", &["smsc held"]),
    ("held list", &["smsc held list -o csv"]),
    (
        "held release",
        &[
            "smsc held release --id 1864325947392001",
            "smsc held release --all",
        ],
    ),
    ("held cancel", &["smsc held cancel --all"]),
    (
        "drain",
        &[
            "smsc drain  # stop accepting, and wait for what is under way",
            "smsc drain --resume",
        ],
    ),
    ("balance show", &["smsc balance show shop"]),
    (
        "balance add",
        &["smsc balance add shop 1000 --reference \"invoice 7\""],
    ),
    ("balance top-ups", &["smsc balance top-ups shop"]),
    (
        "usage",
        &[
            "smsc usage --since 2026-11-01 --by account,operator",
            "smsc usage --account shop -o csv > usage.csv",
        ],
    ),
    (
        "audit",
        &[
            "smsc audit --since today",
            "smsc audit accounts/shop --by anna",
        ],
    ),
    ("callback test", &["smsc callback test shop"]),
    (
        "token add",
        &["smsc token add colleague --role read --days 30 > colleague.token"],
    ),
    ("token list", &["smsc token list"]),
    ("token remove", &["smsc token remove colleague"]),
    (
        "key add",
        &["smsc key add shop --role send --label \"web shop\" --allow 10.0.0.0/8"],
    ),
    ("key list", &["smsc key list shop"]),
    ("key remove", &["smsc key remove 3f6c2a"]),
    ("opt-out list", &["smsc opt-out list --number 447700900123"]),
    (
        "opt-out add",
        &["smsc opt-out add 447700900123 447700900124 --account shop"],
    ),
    ("opt-out remove", &["smsc opt-out remove 447700900123"]),
    ("lookup list", &["smsc lookup list"]),
    (
        "lookup forget",
        &[
            "smsc lookup forget network 447700900123",
            "smsc lookup forget imsi --all",
        ],
    ),
    ("sink list", &["smsc sink list"]),
    ("sink show", &["smsc sink show billing"]),
    ("source list", &["smsc source list --watch"]),
    (
        "context add",
        &[
            "smsc context add live --url https://smsc.example:8080 --token-file live.token --ca ca.pem",
        ],
    ),
    ("context list", &["smsc context list"]),
    (
        "context use",
        &[
            "smsc context use live  # commands ask that one from now on",
            "smsc context use  # none: the SMSC of this machine",
        ],
    ),
    ("context remove", &["smsc context remove live"]),
    ("openapi", &["smsc openapi > openapi.json"]),
    ("backup", &["smsc backup --data-dir ./smsc-data backup.db"]),
    ("archive status", &["smsc archive status"]),
    (
        "export",
        &[
            "smsc export --since 2026-11-17 --until 2026-11-24 --format csv --out week.csv",
            "smsc export --since 2026-11-01 --until 2026-12-01 --format jsonl --with-text --out november.jsonl",
        ],
    ),
    ("erase", &["smsc erase --msisdn 447700900123"]),
    ("fsck", &["smsc fsck ./smsc-data"]),
    (
        "salvage",
        &[
            "smsc salvage --data-dir ./smsc-data --into ./salvaged",
            "smsc salvage --data-dir /mnt/copy/smsc.db --into ./salvaged --json > salvaged.json",
        ],
    ),
    (
        "repair-ids",
        &["smsc repair-ids --data-dir ./smsc-data --dry-run"],
    ),
    (
        "health",
        &["smsc health", "smsc health --live --timeout 1s"],
    ),
    (
        "migrate",
        &[
            "smsc migrate --config smsc.toml --check",
            "smsc migrate --config smsc.toml",
        ],
    ),
    (
        "migrate-store",
        &["smsc migrate-store --config smsc.toml --data-dir ./smsc-data"],
    ),
    (
        "convert kannel",
        &[
            "smsc convert kannel kannel.conf > smsc.toml",
            "smsc convert kannel kannel.conf --compare numbers.csv --with smsc.toml",
        ],
    ),
    (
        "convert jasmin",
        &[
            "smsc convert jasmin jasmin.cfg > smsc.toml",
            "smsc convert jasmin jasmin.cfg --compare numbers.csv --with smsc.toml",
        ],
    ),
    (
        "decode",
        &[
            "smsc decode 00000010 00000015 00000000 00000001",
            "smsc decode --data-coding 8 D83DDE00",
            "smsc decode --tpdu deliver 040C91447779078921000062112512000000 05E8329BFD06",
            "smsc decode --map 641A49040000002A6C12A31002010102012030080A0100040300D300",
        ],
    ),
    (
        "completions",
        &["smsc completions bash > /etc/bash_completion.d/smsc"],
    ),
    ("man", &["smsc man ./man"]),
];

/// The commands with their examples below their help; a group of commands has the first of each.
pub fn add_to(command: clap::Command) -> clap::Command {
    add(command, "")
}

fn add(mut command: clap::Command, path: &str) -> clap::Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|below| below.get_name().to_owned())
        .collect();
    for name in &names {
        let path = below(path, name);
        command = command.mut_subcommand(name, |command| add(command, &path));
    }
    let own = EXAMPLES.iter().find(|(command, _)| *command == path);
    let lines: Vec<&str> = match own {
        Some((_, lines)) if path.is_empty() || names.is_empty() => lines.to_vec(),
        own => {
            let own = own.map(|(_, lines)| lines.to_vec()).unwrap_or_default();
            let firsts = names.iter().filter_map(|name| {
                let path = below(path, name);
                let found = EXAMPLES.iter().find(|(command, _)| *command == path)?;
                found.1.first().copied()
            });
            own.into_iter().chain(firsts).collect()
        }
    };
    if lines.is_empty() {
        command
    } else {
        command.after_help(text(&lines))
    }
}

fn below(path: &str, name: &str) -> String {
    format!("{path} {name}").trim_start().to_owned()
}

/// With what is said about them in one column, where they are short enough for that.
fn text(lines: &[&str]) -> String {
    let (most, mut text) = (44, HEAD.to_owned());
    let long = lines.iter().filter_map(|line| line.split_once("  # "));
    let width = long
        .map(|(line, _)| line.len())
        .max()
        .unwrap_or(0)
        .min(most);
    for line in lines {
        text.push_str(&match line.split_once("  # ") {
            Some((line, said)) => format!("\n  {line:<width$}  # {said}"),
            None => format!("\n  {line}"),
        });
    }
    text
}

#[cfg(test)]
mod tests;
