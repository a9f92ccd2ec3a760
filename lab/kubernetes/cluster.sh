# shellcheck shell=bash
# Campaigns on three nodes, for lab/kubernetes/run. Sourced.
# shellcheck disable=SC2154

nodes=(node-1 node-2 node-3)
selector=app.kubernetes.io/component=agent

# cluster IMAGE
cluster() {
    local number node kept=$PWD/target/kubernetes/output
    netperf=$PWD/target/kubernetes/image/netperf
    [ -x "$netperf" ] || { cargo build -q -p netperf; netperf=$PWD/target/debug/netperf; }
    name_server
    for number in "${!nodes[@]}"; do
        node=${nodes[$number]}
        join_network "$node" $((number + 1))
        hold "$node" "$network-$node"
        container_runtime "$node" "10.202.$((number + 1)).0/24" "$1"
        kubelet "$node" "10.200.0.1$((number + 1))"
    done
    controllers
    ready "${nodes[@]}"
    label_nodes
    inside kubectl get nodes -o wide
    mkdir "$work/files"
    cd "$work/files" || fail "no folder for files"
    write_plan
    with_daemon_set
    with_job
    # Documents and lists of pods; the manifests and the key are not kept.
    rm -rf "$kept"
    mkdir -p "$kept"
    cp ./*.json "$kept"
}

# join_network NODE NUMBER: a network namespace at the bridge, and routes to the pods of all nodes.
join_network() {
    local node=$1 number=$2 other
    ip netns add "$network-$node"
    inside ip link add "port$number" type veth peer name eth0 netns "$network-$node"
    inside ip link set "port$number" master node up
    inside ip route add "10.202.$number.0/24" via "10.200.0.1$number"
    within "$node" ip link set lo up
    within "$node" ip address add "10.200.0.1$number/24" dev eth0
    within "$node" ip link set eth0 up
    within "$node" ip route add default via "$address"
    for other in 1 2 3; do
        [ "$other" = "$number" ] ||
            within "$node" ip route add "10.202.$other.0/24" via "10.200.0.1$other"
    done
    within "$node" sysctl -qw net.ipv4.ip_forward=1
}

# The network of a node.
within() {
    local node=$1
    shift
    nsenter --net="/run/netns/$network-$node" "$@"
}

name_server() {
    cat >"$work/Corefile" <<END
cluster.local {
    bind $address
    errors
    kubernetes {
        kubeconfig $KUBECONFIG
    }
}
END
    start coredns "$programs/coredns" -conf "$work/Corefile"
}

label_nodes() {
    local node
    for node in "${nodes[@]}"; do
        inside kubectl label node "$node" topology.kubernetes.io/zone=lab
    done
}

write_plan() {
    cat >plan.toml <<'END'
pattern = "pairs"
test = "TCP_RR"
options = ["--rate", "200"]
window = 1
warmup = 0.3
cooldown = 0.2
END
    "$netperf" campaign key -o key
}

# say command...: prints a command, as the manual has it, and its output.
say() {
    printf '\n$ %s\n' "$*"
    quietly "$@"
}

# The same without printing the command. netperf is that of the image.
quietly() {
    if [ "$1" = netperf ]; then
        inside "$netperf" "${@:2}"
    else
        inside "$@"
    fi
}

# saved FILE command...: writes its output to a file.
saved() {
    local file=$1
    shift
    printf '\n$ %s >%s\n' "$*" "$file"
    quietly "$@" >"$file"
}

# apply FILE option...: prints the manifest with these options, checks and applies it.
apply() {
    local file=$1
    shift
    saved "$file" netperf campaign manifest k8s "$@" --plan plan.toml --key-file key
    # The namespace is there for what is in it.
    head -n "$(grep -n -m 1 '^---$' "$file" | cut -d: -f1)" "$file" | inside kubectl apply -f - >"$work/said"
    accepted "$file" >"$work/said"
    say kubectl apply -f "$file"
}

# The campaign of a manifest: its coordinator runs in the cluster.
inside_the_cluster() {
    local cells=$1
    wait_for 180 "end of the campaign" ended netperf netperf-coordinator
    say kubectl -n netperf logs job/netperf-coordinator
    inside kubectl -n netperf logs job/netperf-coordinator | grep -qx "Cells: $cells of $cells measured" ||
        fail "not all of $cells cells are measured"
    inside kubectl -n netperf wait --for=condition=Complete job/netperf-coordinator --timeout=1s
    say kubectl -n netperf get pods -o wide
}

# save FILE: the agents as an inventory.
save() { saved "$1" kubectl -n netperf get pods -l "$selector" -o json; }

# A campaign of a coordinator outside: the pods are its inventory.
outside_the_cluster() {
    local file=$1 document=$2 cells=$3
    shift 3
    say netperf campaign run plan.toml --inventory "$file" --topology nodes.json --key-file key "$@" \
        -o "$document"
    jq -e --argjson cells "$cells" \
        '.complete and (.cells | length == $cells and all(.missing == null))' "$document" >"$work/said" ||
        fail "$document is not complete"
}

# refused FILE TEXT...: check and run name these members and measure nothing.
refused() {
    local file=$1 command text status
    shift
    for command in check 'run plan.toml'; do
        status=0
        # shellcheck disable=SC2086
        say netperf campaign $command --inventory "$file" --topology nodes.json --key-file key >"$work/output" \
            2>"$work/errors" || status=$?
        cat "$work/output" "$work/errors"
        [ "$status" = 2 ] || fail "the exit status is $status"
        for text; do
            grep -qF "$text" "$work/errors" || fail "not refused: $text"
        done
        [ "$(wc -l <"$work/errors")" = $# ] || fail "other lines than expected"
    done
}

# named FILE TEXT option...: the inventory refuses a member with this text.
named() {
    local file=$1 text=$2 status=0
    shift 2
    say netperf campaign inventory "$@" "$file" >"$work/output" 2>"$work/errors" || status=$?
    cat "$work/output" "$work/errors"
    [ "$status" = 2 ] || fail "the exit status is $status"
    grep -qF "$text" "$work/errors" || fail "not refused: $text"
}

# The name of the agent on a node.
agent() {
    inside kubectl -n netperf get pods -l "$selector" --field-selector "spec.nodeName=$1" \
        -o 'jsonpath={.items[*].metadata.name}'
}

# pod_field POD JSONPATH
pod_field() { inside kubectl -n netperf get pod "$1" -o "jsonpath=$2"; }

# has POD JSONPATH VALUE
has() { [ "$(pod_field "$1" "$2")" = "$3" ]; }

readiness='{.status.conditions[?(@.type=="Ready")].status}'

with_daemon_set() {
    apply daemonset.yaml --daemonset --agents 3
    inside_the_cluster 6
    saved nodes.json kubectl get nodes -o json
    save pods.json
    say netperf campaign inventory --topology nodes.json --json pods.json
    say netperf campaign check --inventory pods.json --topology nodes.json --key-file key
    outside_the_cluster pods.json daemonset.json 6
    bad_pods
    inside kubectl delete -f daemonset.yaml --wait=true --timeout=120s
}

# Pods of the DaemonSet that are restarted, not ready and terminating.
bad_pods() {
    local first second third other
    first=$(agent node-1) second=$(agent node-2) third=$(agent node-3)
    # The agent is killed, and kubelet starts it again.
    ctr_on node-1 tasks kill --signal KILL "$(container_of "$first")"
    wait_for 60 "restart of $first" has "$first" '{.status.containerStatuses[0].restartCount}' 1
    wait_for 60 "ready $first" has "$first" "$readiness" True
    # The pod is no longer reached, nor is its port.
    other=$(pod_field "$second" '{.status.podIP}')
    within node-2 ip route add blackhole "$other/32"
    wait_for 60 "$second that is not ready" has "$second" "$readiness" False
    # Something holds the pod while it is deleted.
    inside kubectl -n netperf patch pod "$third" --type merge -p '{"metadata":{"finalizers":["lab.test/hold"]}}'
    inside kubectl -n netperf delete pod "$third" --wait=false
    save bad-pods.json
    say kubectl -n netperf get pods -l "$selector"
    refused bad-pods.json "$first: restarted once" "$second: not ready" "$third: terminating"
    # The same nodes with another pod, and one that was restarted.
    within node-2 ip route delete blackhole "$other/32"
    inside kubectl -n netperf patch pod "$third" --type merge -p '{"metadata":{"finalizers":null}}'
    wait_for 60 "end of $third" gone "$third"
    inside kubectl -n netperf rollout status daemonset/netperf-agent --timeout=60s
    wait_for 60 "ready $second" has "$second" "$readiness" True
    [ "$(agent node-3)" != "$third" ] || fail "the pod has the name of the one before"
    save new-pods.json
    outside_the_cluster new-pods.json again.json 6 --allow-restarted
}

gone() { [ -z "$(inside kubectl -n netperf get pod "$1" --ignore-not-found)" ]; }

# The container of a pod, as containerd knows it.
container_of() {
    local id
    id=$(pod_field "$1" '{.status.containerStatuses[0].containerID}')
    echo "${id#containerd://}"
}

# An indexed Job with two agents on each node; one of them ends.
with_job() {
    local pod node
    apply job.yaml --agents 6
    inside_the_cluster 30
    save job-pods.json
    for node in "${nodes[@]}"; do
        [ "$(agent "$node" | wc -w)" = 2 ] || fail "the agents are not spread over the nodes"
    done
    named job-pods.json "on node node-1, as "
    outside_the_cluster job-pods.json job.json 30 --allow-shared-nodes
    pod=$(agent node-1)
    pod=${pod%% *}
    ctr_on node-1 tasks kill --signal KILL "$(container_of "$pod")"
    wait_for 60 "end of $pod" has "$pod" '{.status.phase}' Failed
    save ended-pods.json
    say kubectl -n netperf get pods -l "$selector"
    named ended-pods.json "$pod: ended (Failed)" --allow-shared-nodes
    inside kubectl delete -f job.yaml --wait=true --timeout=120s
}
