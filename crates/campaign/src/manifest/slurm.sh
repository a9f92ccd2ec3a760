#!/usr/bin/env bash
# A campaign as a job of Slurm. Starts an agent on every node, runs the plan, and stops the agents.
#
#   sbatch @USAGE@campaign-slurm
#
# The key goes to each node with sbcast, into a private file, which is removed.
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
key=/tmp/netperf-key.$SLURM_JOB_ID
agents=
finish() {
    if [ -n "$agents" ]; then
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

# The address of this node; its host name may have another.
coordinator=$(scontrol -o show node "$SLURMD_NODENAME" | sed -n 's/.* NodeAddr=\([^ ]*\).*/\1/p')

@LAUNCH@ \
    netserver --agent --join "$coordinator:$join" --key-file "$key" -p "$port" </dev/null &
agents=$!

NETPERF_KEY_FILE=$work/key netperf campaign run "$plan" --join-listen ":$join" \
    --expect "$SLURM_NNODES"
