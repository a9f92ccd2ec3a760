#!/usr/bin/env bash
# A campaign over ssh. Starts an agent on every host, runs the plan, and stops the agents.
#
#   campaign-ssh HOSTS [options of netperf campaign run]
#
# HOSTS is a file with one host a line, as ssh knows it: HOST, USER@HOST, HOST:PORT. An agent stops when its standard input
# ends, so that none remains if this script is killed. Keys are in private files, which are removed.
set -euo pipefail

hosts=${1:?expected a file with hosts}
shift
plan=@PLAN@
port=@PORT@

umask 077
work=$(mktemp -d)
agents=()
run=
finish() {
    if [ -n "$run" ] && kill "$run" 2>/dev/null; then
        wait "$run" || true
    fi
    exec 3>&-
    [ "${#agents[@]}" -eq 0 ] || wait "${agents[@]}" || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

netperf campaign key --output "$work/key"
inventory=$(netperf campaign inventory --from lines --port "$port" --json "$hosts")

# Each host that gets an agent, as the inventory has it: user for ssh, host and port.
member='^\{"name":"[^"]*",("login":"([^"]*)",)?"control":"\[?([^]"]*)\]?:([0-9]+)"'
logins=()
hosts=()
ports=()
while IFS= read -r line; do
    [[ $line != *'"agent":false}' ]] || continue
    [[ $line =~ $member ]] || { echo "$0: unknown line of the inventory: $line" >&2; exit 1; }
    logins+=("${BASH_REMATCH[2]}")
    hosts+=("${BASH_REMATCH[3]}")
    ports+=("${BASH_REMATCH[4]}")
done <<<"$inventory"

# Descriptor 3 is the standard input of the agents, open as long as this script runs; 4 is its other
# end; 5 is the key. The files themselves go at once.
mkfifo "$work/hold"
exec 3<>"$work/hold"
exec 4<"$work/hold" 5<"$work/key"
rm -rf "$work"

# Runs on each host: the first line of standard input is the key. Its file goes before the agent
# begins. Without single quotes.
# shellcheck disable=SC2016
agent='umask 077; key=$(mktemp) || exit 1; trap "rm -f $key" EXIT HUP INT TERM;
 IFS= read -r line; printf "%s\n" "$line" >"$key"; exec 3<"$key"; rm -f "$key";
 exec netserver --agent --exit-on-eof --key-file /dev/fd/3 -p "$0"'
agent=${agent//$'\n'/}

for index in "${!hosts[@]}"; do
    login=()
    [ -z "${logins[index]}" ] || login=(-l "${logins[index]}")
    { cat /dev/fd/5 && cat <&4; } 3>&- |
        ssh -o BatchMode=yes -o ConnectTimeout=5 -o ServerAliveInterval=2 -o ServerAliveCountMax=2 \
            ${login[@]+"${login[@]}"} -- "${hosts[index]}" "exec sh -c '$agent' ${ports[index]}" \
            3>&- 4<&- 5<&- >&2 &
    agents+=($!)
done

# Waits for the agents.
for index in "${!hosts[@]}"; do
    host=${hosts[index]} port=${ports[index]}
    # shellcheck disable=SC2016
    until timeout 2 bash -c ': <>"/dev/tcp/$0/$1"' "$host" "$port" 2>/dev/null; do
        kill -0 "${agents[index]}" 2>/dev/null || { echo "$0: $host: the agent has ended" >&2; exit 1; }
        [ "$SECONDS" -lt 60 ] || { echo "$0: no agent at $host port $port" >&2; exit 1; }
        sleep 0.2
    done
done

# In the background, so that a signal to this script ends it.
NETPERF_KEY_FILE=/dev/fd/5 netperf campaign run "$plan" --inventory - "$@" 3>&- 4<&- <<<"$inventory" &
run=$!
wait "$run"
