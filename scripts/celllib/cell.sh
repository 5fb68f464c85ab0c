# shellcheck shell=bash
# A cell: a Debian tree that mmdebstrap makes, and unshare enters, with mounts, processes, network, names and cgroups of its
# own. A container runtime or a cluster runs in there without touching the machine, and the end of the cell ends all of it.
# For scripts/container and scripts/cluster, which source this file:
#
#   cell_main FUNCTION            runs a function that a signal ends at once, in the midst of a command: bash alone would wait
#   cell_needs TOOL...            ends the script and says which packages bring the tools that are missing
#   cell_tree TREE SUITE PACKAGE... [-- OPTION...]   makes a Debian tree, a folder or by its name a .tar; options of mmdebstrap
#   cell_begin FOLDER             starts the cell in that tree; CELL_PID is its first process
#   cell_run COMMAND...           runs a command in the cell, with its standard input and output
#   cell_service NAME COMMAND...  runs one beside the others; what it prints is /var/log/NAME.log in the tree
#   cell_copy FOLDER              copies what Git knows of the project, as it is now, into that folder
#   cell_until SECONDS COMMAND... waits until a command of the host succeeds; cell_run may be that command
#   cell_end                      ends all processes of the cell and removes its cgroups; the tree stays
#
# The network of the cell is its loopback alone: what it needs from outside is put into its tree before. The processes of the
# cell die with the shell that began it, also when that is killed with SIGKILL; then its cgroups (smsc-cell-PID) and its tree stay.
# Root is needed, for the mounts. In the cell /proc/sys is read-only but for /proc/sys/net, which belongs to its network:
# the rest would be settings of the machine. SMSC_DEBIAN_MIRROR names another mirror than mmdebstrap's own.
#
# Both versions of cgroups are meant to work; version 1 is what this was run with.

CELL_UNSHARE=
CELL_PID=
CELL_ROOT=
CELL_NAME=smsc-cell-$$
CELL_LIBRARY=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

cell_main() {
    local group status=0
    # A process group of its own: what runs in there gets the signal, too, as it does from a terminal.
    set -m
    (
        set +m
        "$@"
    ) &
    group=$!
    set +m
    # shellcheck disable=SC2064 # the group as it is now
    for signal in INT TERM HUP; do trap "kill -$signal -- -$group 2>/dev/null" "$signal"; done
    # A signal ends the waiting, not what is waited for.
    while true; do
        wait "$group" && status=0 || status=$?
        kill -0 "$group" 2>/dev/null || break
    done
    return "$status"
}

cell_needs() {
    local tool package missing=()
    for tool in "$@"; do
        command -v "$tool" >/dev/null && continue
        case $tool in
        unshare | nsenter | setpriv) package=util-linux ;;
        *) package=$tool ;;
        esac
        missing+=("$tool (Debian's package $package)")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        printf '%s is needed and not installed\n' "${missing[@]}" >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
        echo "root is needed: the cell mounts file systems and has cgroups of its own" >&2
        exit 1
    fi
}

cell_tree() {
    local target=$1 suite=$2 packages=
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        packages=$packages,$1
        shift
    done
    [ $# = 0 ] || shift
    # Without what only people read: a third less.
    # Where its mounts are nobody else's, whatever becomes of it.
    TMPDIR=$(dirname "$target") unshare --mount mmdebstrap --mode=root --variant=minbase --quiet ${packages:+--include="${packages#,}"} \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' "$@" \
        "$suite" "$target" ${SMSC_DEBIAN_MIRROR:+"$SMSC_DEBIAN_MIRROR"}
}

# The folders of the machine's cgroups below which the cell has its own, one a line: those of version 1, else version 2.
cell_hierarchies() {
    if grep -q '^[^ ]* [^ ]* cgroup .*\bmemory\b' /proc/mounts; then
        awk '$3 == "cgroup" { print $2 }' /proc/mounts
    else
        awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts
    fi
}

cell_make_cgroups() {
    local folder file
    while read -r folder; do
        mkdir "$folder/$CELL_NAME"
        for file in cpuset.cpus cpuset.mems; do
            # A cpuset of version 1 takes nobody in before it has these.
            [ ! -e "$folder/cpuset.cpu_exclusive" ] || cat "$folder/$file" >"$folder/$CELL_NAME/$file"
        done
        # A group of version 1 weighs as much as one process of the machine, however many it has.
        [ ! -e "$folder/$CELL_NAME/cpu.shares" ] || echo $((1024 * $(nproc))) >"$folder/$CELL_NAME/cpu.shares"
    done < <(cell_hierarchies)
}

# In version 2 a group with processes gives its children no controllers: the cell's processes go one deeper, once the
# namespace of cgroups has begun above them.
cell_settle() {
    local folder process
    while read -r folder; do
        folder=$folder/$CELL_NAME
        [ -e "$folder/cgroup.controllers" ] || continue
        mkdir "$folder/init"
        while read -r process; do
            echo "$process" >"$folder/init/cgroup.procs"
        done <"$folder/cgroup.procs"
        sed 's/[^ ]\+/+&/g' "$folder/cgroup.controllers" >"$folder/cgroup.subtree_control"
    done < <(cell_hierarchies)
}

# Moves the process that calls this into the cell's cgroups.
cell_join() {
    local folder
    while read -r folder; do
        folder=$folder/$CELL_NAME
        [ ! -d "$folder/init" ] || folder=$folder/init
        echo "$BASHPID" >"$folder/cgroup.procs"
    done < <(cell_hierarchies)
}

cell_begin() {
    CELL_ROOT=$1
    cell_make_cgroups
    (
        cell_join
        # The cell ends with the script: the kernel sees to it.
        exec setpriv --pdeathsig KILL unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child=KILL \
            "$CELL_LIBRARY/init" "$CELL_ROOT"
    ) </dev/null &
    CELL_UNSHARE=$!
    cell_until 30 test -e "$CELL_ROOT/etc/cell-is-up" || {
        echo "the cell does not start" >&2
        exit 1
    }
    CELL_PID=$(ps -o pid= --ppid "$CELL_UNSHARE" | tr -d ' ')
    rm "$CELL_ROOT/etc/cell-is-up"
    cell_settle
}

cell_run() {
    (
        cell_join
        exec nsenter --target "$CELL_PID" --mount --pid --net --uts --ipc --cgroup -- \
            env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"
    )
}

cell_service() {
    local name=$1
    shift
    cell_run "$@" </dev/null >"$CELL_ROOT/var/log/$name.log" 2>&1 &
}

cell_copy() {
    mkdir -p "$1"
    # What is deleted and not yet committed is not there to be copied.
    git ls-files -z --cached --others --exclude-standard |
        tar --create --null --ignore-failed-read --files-from=- 2>/dev/null | tar --extract --directory="$1"
}

cell_until() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.5
    done
}

cell_end() {
    local folder left=0
    if [ -n "$CELL_UNSHARE" ]; then
        # Its first process goes with it, and with that the kernel ends all others and takes the mounts away.
        kill -KILL "$CELL_UNSHARE" 2>/dev/null || true
        wait "$CELL_UNSHARE" 2>/dev/null || true
        CELL_UNSHARE=
        CELL_PID=
    fi
    while read -r folder; do
        folder=$folder/$CELL_NAME
        [ -d "$folder" ] || continue
        cell_until 20 cell_remove_cgroup "$folder" || left=1
        [ ! -d "$folder" ] || echo "$folder stays: $(tr '\n' ' ' <"$folder/cgroup.procs")is in there" >&2
    done < <(cell_hierarchies)
    return "$left"
}

cell_remove_cgroup() {
    find "$1" -depth -type d -exec rmdir {} +
    [ ! -d "$1" ]
}
