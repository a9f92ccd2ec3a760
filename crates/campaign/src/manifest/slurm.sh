#!/usr/bin/env bash
# A campaign as a job of Slurm. Starts an agent on every node, runs the plan, and stops the agents.
#
#   sbatch @USAGE@campaign-slurm [options of netperf campaign run]
#
# The key goes to each node with sbcast, into a private file, which is removed before the agent
# begins. An agent stops when its standard input ends, or with the job.
#SBATCH --job-name=netperf-campaign
@NODES@#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=@MINUTES@
set -euo pipefail

plan=@PLAN@
port=@PORT@
join=@JOIN@

umask 077
work=$(mktemp -d)
# A name that nobody can have made before.
key=/tmp/netperf-key.${work##*/}
agents=
run=
finish() {
    if [ -n "$run" ] && kill "$run" 2>/dev/null; then
        wait "$run" || true
    fi
    exec 3>&-
    if [ -n "$agents" ]; then
        # mpirun does not close the standard input of an agent on its own node.
        for _ in {1..20}; do
            kill -0 "$agents" 2>/dev/null || break
            sleep 0.1
        done
        kill "$agents" 2>/dev/null || true
        wait "$agents" || true
    fi
    srun --overlap --ntasks-per-node=1 rm -f "$key" || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 143' TERM

netperf campaign key --output "$work/key"
sbcast "$work/key" "$key"

# Descriptor 3 is the standard input of the agents, open as long as this script runs; 4 is its other
# end; 5 is the key. The files themselves go at once.
mkfifo "$work/hold"
exec 3<>"$work/hold"
exec 4<"$work/hold" 5<"$work/key"
rm -rf "$work"

# The address of this node; its host name may have another.
coordinator=$(scontrol -o show node "$SLURMD_NODENAME" | sed -n 's/.* NodeAddr=\([^ ]*\).*/\1/p')

# Runs on each node: an agent with the words behind the name of the file with the key.
# shellcheck disable=SC2016
agent='exec 3<"$0" && rm -f "$0" && exec netserver --agent --exit-on-eof --key-file /dev/fd/3 "$@"'

@LAUNCH@ \
    sh -c "$agent" "$key" --join "$coordinator:$join" -p "$port" <&4 3>&- 4<&- 5<&- &
agents=$!

# In the background, so that a signal to this script ends it.
NETPERF_KEY_FILE=/dev/fd/5 netperf campaign run "$plan" --join-listen ":$join" \
    --expect "$SLURM_NNODES" "$@" </dev/null 3>&- 4<&- &
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
