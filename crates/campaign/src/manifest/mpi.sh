#!/usr/bin/env bash
# A campaign with mpirun (Open MPI). Starts an agent on every host, runs the plan, and stops the
# agents.
#
#   campaign-mpi HOSTFILE [options of netperf campaign run]
#
# The agents connect to this host. Its name for them is the value of COORDINATOR, or hostname -f.
# The key goes to each host over ssh, into a private file, which is removed before the agent begins.
# No agent remains if this script is killed.
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
run=
hosts=()

# Runs a command on each host; its standard input is the file $1.
everywhere() {
    local host input=$1
    shift
    for host in "${hosts[@]}"; do
        ssh -o BatchMode=yes -o ConnectTimeout=5 -- "$host" "$@" <"$input"
    done
}

finish() {
    if [ -n "$run" ] && kill "$run" 2>/dev/null; then
        wait "$run" || true
    fi
    exec 3>&-
    [ -z "$agents" ] || wait "$agents" || true
    everywhere /dev/null "rm -f $key" || true
    rm -rf "$work"
}

inventory=$(netperf campaign inventory --from mpi --port "$port" --json "$hostfile")
# USER@HOST, as the inventory has them; neither begins with -.
mapfile -t hosts < <(printf '%s\n' "$inventory" |
    sed -E 's/^\{"name":"[^"]*",("login":"([^"]*)",)?"control":"\[?([^]"]*)\]?:[0-9]+".*/\2@\3/; s/^@//')
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

netperf campaign key --output "$work/key"
everywhere "$work/key" "umask 077 && set -C && cat >$key"

# Descriptor 3 is open as long as this script runs; 4 is its other end; 5 is the key. The files
# themselves go at once.
mkfifo "$work/hold"
exec 3<>"$work/hold"
exec 4<"$work/hold" 5<"$work/key"
rm -rf "$work"

# Runs on each host: an agent with the words behind the name of the file with the key.
# shellcheck disable=SC2016
agent='exec 3<"$0" && rm -f "$0" && exec netserver --agent --key-file /dev/fd/3 "$@"'

mpirun --hostfile "$hostfile" --map-by ppr:1:node --tag-output \
    sh -c "$agent" "$key" --join "$coordinator:$join" -p "$port" </dev/null 3>&- 4<&- 5<&- >&2 &
agents=$!
# Ends mpirun, and with it the agents, when this script ends.
{ cat && kill "$agents"; } <&4 3>&- 4<&- 5<&- >/dev/null 2>&1 &

# In the background, so that a signal to this script ends it.
NETPERF_KEY_FILE=/dev/fd/5 netperf campaign run "$plan" --join-listen ":$join" \
    --expect "${#hosts[@]}" "$@" </dev/null 3>&- 4<&- &
run=$!

status=0
wait -n "$run" "$agents" || status=$?
if kill -0 "$run" 2>/dev/null; then
    echo "$0: the agents have ended" >&2
    # The campaign ends without them, unless it has not begun.
    for _ in {1..50}; do
        kill -0 "$run" 2>/dev/null || break
        sleep 0.1
    done
    kill "$run" 2>/dev/null || true
    status=0
    wait "$run" || status=$?
fi
exit "$status"
