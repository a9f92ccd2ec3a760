#!/usr/bin/env bash
# A campaign with mpirun (Open MPI). Starts an agent on every host, runs the plan, and stops the
# agents.
#
#   campaign-mpi HOSTFILE [options of netperf campaign run]
#
# The agents connect to this host. Its name for them is the value of COORDINATOR, or hostname -f.
# The key goes to each host over ssh, into a private file, which is removed.
set -euo pipefail

hostfile=${1:?expected a hostfile}
shift
plan=@PLAN@
port=@PORT@
join=@JOIN@
coordinator=${COORDINATOR:-$(hostname -f)}

umask 077
work=$(mktemp -d)
key=/tmp/netperf-key.${work##*/}
agents=

# Runs a command on each host; its standard input is the file $1.
everywhere() {
    local host input=$1
    shift
    while read -r host; do
        ssh -o BatchMode=yes -o ConnectTimeout=5 "$host" "$@" <"$input"
    done <"$work/hosts"
}

finish() {
    if [ -n "$agents" ]; then
        kill "$agents" 2>/dev/null || true
        wait "$agents" || true
    fi
    everywhere /dev/null "rm -f $key" || true
    rm -rf "$work"
}

netperf campaign inventory --from mpi --port "$port" --json "$hostfile" >"$work/inventory"
sed 's/^{"name":"\([^"]*\)".*/\1/' "$work/inventory" >"$work/hosts"
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

netperf campaign key --output "$work/key"
everywhere "$work/key" "umask 077 && set -C && cat >$key"

mpirun --hostfile "$hostfile" --map-by ppr:1:node --tag-output \
    netserver --agent --join "$coordinator:$join" --key-file "$key" -p "$port" </dev/null >&2 &
agents=$!

NETPERF_KEY_FILE=$work/key netperf campaign run "$plan" --join-listen ":$join" \
    --expect "$(wc -l <"$work/inventory")" "$@"
