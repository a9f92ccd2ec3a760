# shellcheck shell=bash
# Parts of lab/kubernetes/run: a control plane, nodes, and the end of all of it. Sourced.
# shellcheck disable=SC2034,SC2154

address=10.200.0.1
image=netperf:0.1.0

fail() { echo "lab/kubernetes: $*" >&2; exit 1; }

require() {
    local program package
    [ "$(id -u)" = 0 ] || fail "root is needed"
    while read -r program package; do
        command -v "$program" >/dev/null || [ -x "$program" ] || fail "$program is missing: install $package"
    done <<'END'
kubectl kubectl
etcd etcd-server
containerd containerd
runc runc
/usr/lib/cni/bridge containernetworking-plugins
ip iproute2
nft nftables
openssl openssl
jq jq
gcc gcc
END
}

# A control plane in a network namespace of its own.
set_up() {
    work=$(mktemp -d /tmp/netperf-kubernetes.XXXXXX)
    network=npt-$$-kubernetes
    pids=() holders=() passed=
    trap tear_down EXIT
    export KUBECONFIG=$work/config KUBECACHEDIR=$work/cache
    network_up
    control_plane
}

# A new mount namespace, as of `ip netns exec`, would hide the control groups.
inside() { nsenter --net="/run/netns/$network" "$@"; }

# start NAME command...: starts a program in the background; its output goes to a file.
start() {
    local name=$1
    shift
    # The program itself, not a shell around it, gets the signal at the end.
    nsenter --net="/run/netns/$network" "$@" >"$work/$name.log" 2>&1 &
    pids+=($!)
}

# wait_for SECONDS WHAT command...: repeats a command until it succeeds.
wait_for() {
    local deadline=$((SECONDS + $1)) what=$2 pid
    shift 2
    until "$@" >"$work/last" 2>&1; do
        if [ "$SECONDS" -gt "$deadline" ]; then
            cat "$work/last" >&2
            tail -n 5 "$work"/*.log >&2
            fail "no $what in time"
        fi
        for pid in "${pids[@]}"; do
            kill -0 "$pid" 2>/dev/null || { tail -n 5 "$work"/*.log >&2; fail "a program ended"; }
        done
        sleep 0.2
    done
}

network_up() {
    ip netns add "$network"
    inside ip link set lo up
    inside ip link add node type bridge
    inside ip address add "$address/24" dev node
    inside ip link set node up
    inside ip route add default dev node
    inside sysctl -qw net.ipv4.ip_forward=1
}

control_plane() {
    inside openssl genrsa -out "$work/accounts.key" 2048 2>/dev/null
    echo 'lab,admin,1,system:masters' >"$work/tokens"
    cat >"$KUBECONFIG" <<END
apiVersion: v1
kind: Config
current-context: lab
contexts: [{name: lab, context: {cluster: lab, user: lab}}]
clusters: [{name: lab, cluster: {server: "https://$address:6443", insecure-skip-tls-verify: true}}]
users: [{name: lab, user: {token: lab}}]
END
    start etcd etcd --data-dir "$work/etcd" --unsafe-no-fsync \
        --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
        --listen-peer-urls http://127.0.0.1:2380
    start apiserver "$programs/kube-apiserver" --etcd-servers http://127.0.0.1:2379 \
        --bind-address "$address" --advertise-address "$address" --cert-dir "$work/certificates" \
        --service-account-issuer https://lab --service-account-key-file "$work/accounts.key" \
        --service-account-signing-key-file "$work/accounts.key" --token-auth-file "$work/tokens" \
        --authorization-mode Node,RBAC --service-cluster-ip-range 10.201.0.0/24 \
        --allow-privileged=true --kubelet-preferred-address-types InternalIP
    wait_for 120 "API server" inside kubectl get --raw /readyz
    inside kubectl version
}

controllers() {
    start controller-manager "$programs/kube-controller-manager" --kubeconfig "$KUBECONFIG" \
        --leader-elect=false --bind-address 127.0.0.1 \
        --service-account-private-key-file "$work/accounts.key"
    start scheduler "$programs/kube-scheduler" --kubeconfig "$KUBECONFIG" --leader-elect=false \
        --bind-address 127.0.0.1
}

# hold NODE NETNS: processes and mounts of a node; all of them end with this process. Files that
# programs write to fixed places are in its memory. It keeps no other namespace in existence.
hold() {
    local node=$1
    mkdir -p "$work/$node"
    # shellcheck disable=SC2016
    nsenter --net="/run/netns/$2" unshare --mount --pid --fork --kill-child --mount-proc bash -c '
        umount --lazy --recursive /run/netns && mount -t tmpfs tmpfs /run &&
            mount -t tmpfs tmpfs /var/log && mount -t tmpfs tmpfs /var/lib && touch "$0" && sleep infinity & wait' "$work/$node/held" &
    pids+=($!) holders+=($!)
    wait_for 10 "process of $node" test -e "$work/$node/held"
    pgrep -P $! >"$work/$node/pid"
}

# on NODE command...
on() {
    local node=$1
    shift
    nsenter --target "$(cat "$work/$node/pid")" --mount --pid --net "$@"
}

start_on() {
    local node=$1 name=$2
    shift 2
    on "$node" "$@" >"$work/$node-$name.log" 2>&1 &
    pids+=($!)
}

# ctr of a node.
ctr_on() {
    local node=$1
    shift
    on "$node" ctr -a "$work/$node/containerd.sock" -n k8s.io "$@"
}

# container_runtime NODE SUBNET IMAGE: containerd with the image, and addresses for pods.
container_runtime() {
    local node=$1 subnet=$2 archive=$3 folder=$work/$1 name
    mkdir -p "$folder/cni"
    cat >"$folder/cni/lab.conflist" <<END
{"cniVersion": "0.4.0", "name": "lab", "plugins": [{"type": "bridge", "bridge": "pods",
 "isGateway": true, "hairpinMode": true, "ipam": {"type": "host-local", "dataDir": "$folder/addresses",
 "ranges": [[{"subnet": "$subnet"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
    # runc without CAP_SYS_RESOURCE may not lower the OOM score.
    cat >"$folder/containerd.toml" <<END
version = 2
root = "$folder/containerd"
state = "$folder/containerd-state"
[grpc]
address = "$folder/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
path = "$folder/opt"
[plugins."io.containerd.grpc.v1.cri"]
restrict_oom_score_adj = true
sandbox_image = "localhost/pause:1"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "$folder/cni"
END
    start_on "$node" containerd containerd -c "$folder/containerd.toml"
    wait_for 30 containerd ctr_on "$node" version
    [ -f "$work/pause.tar" ] || pause
    ctr_on "$node" images import --digests=false "$work/pause.tar"
    name=$(ctr_on "$node" images import "$archive" | sed -n 's/^unpacking \([^ ]*\) .*/\1/p')
    [ "$name" = "docker.io/library/$image" ] ||
        ctr_on "$node" images tag "$name" "docker.io/library/$image"
}

# kubelet NODE ADDRESS
kubelet() {
    local node=$1 folder=$work/$1
    cat >"$folder/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://$folder/containerd.sock
cgroupRoot: /$network-$node
cgroupsPerQOS: false
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
resolvConf: ""
clusterDomain: cluster.local
clusterDNS: [$address]
podLogsDir: $folder/pods
evictionHard: {nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
END
    start_on "$node" kubelet "$programs/kubelet" --config "$folder/kubelet.yaml" \
        --kubeconfig "$KUBECONFIG" --root-dir "$folder/kubelet" \
        --cert-dir "$folder/kubelet-certificates" --hostname-override "$node" --node-ip "$2"
}

# ready NODE...: waits until the nodes are ready.
ready() {
    wait_for 120 "ready node" inside kubectl wait --for=condition=Ready "${@/#/node/}" --timeout=1s
}

# An image with the program that holds the namespaces of a pod.
pause() {
    local folder=$work/pause layer
    mkdir -p "$folder"
    printf '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n' |
        gcc -static -x c -o "$folder/pause" -
    tar -C "$folder" -cf "$folder/layer.tar" pause
    layer=$(sha256sum "$folder/layer.tar" | cut -d' ' -f1)
    cat >"$folder/config.json" <<END
{"architecture": "amd64", "os": "linux", "config": {"Entrypoint": ["/pause"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$layer"]}}
END
    echo '[{"Config": "config.json", "RepoTags": ["localhost/pause:1"], "Layers": ["layer.tar"]}]' \
        >"$folder/manifest.json"
    tar -C "$folder" -cf "$work/pause.tar" manifest.json config.json layer.tar
}

# Ends everything, and looks for what is left.
tear_down() {
    local status=$? pid name left
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    # With its first process, everything of a node ends: pods, their supervisors, mounts.
    for pid in "${holders[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    while read -r name; do ip netns delete "$name"; done < <(namespaces)
    control_groups -delete
    rm -rf "$work"
    left=$(
        pgrep -af "$work" || true
        namespaces
        grep -F "$work" /proc/mounts || true
        control_groups -print
        ls -d "$work" 2>/dev/null || true
    )
    if [ -n "$left" ]; then
        printf 'lab/kubernetes: left over:\n%s\n' "$left" >&2
        status=1
    fi
    [ "$status" -ne 0 ] || [ -z "$passed" ] || echo "passed; no process, namespace, mount, control group or file is left"
    exit "$status"
}

namespaces() { ip netns list | sed -n "s/^\(${network}[^ ]*\).*/\1/p"; }

# Those of the pods of this run.
control_groups() {
    find /sys/fs/cgroup -depth -type d -path "*/$network-*" "$1" 2>/dev/null || true
}
