# shellcheck shell=bash
# A Kubernetes of one machine, whose machine is the cell: sourced by clusterlib/inside. Everything that runs here ends with the
# cell. Nothing of it is for production: one key opens everything, and etcd does not wait for the disk.
#
# From Debian: etcd, containerd, runc, the plugins of CNI. From the caller's folder, in /usr/local/bin: Kubernetes, CoreDNS.
# Names of services are served by CoreDNS as a program of the machine; pods reach it at the machine's address.

NODE=172.31.0.1
PODS=172.30.0.0/16
SERVICES=172.29.0.0/16
KEYS=/etc/kubernetes
export KUBECONFIG=$KEYS/admin.conf

# Starts a program that stays, with a log of its own.
stays() {
    local name=$1
    shift
    "$@" </dev/null >"/var/log/$name.log" 2>&1 &
}

until_it_is() {
    local what=$1 end=$((SECONDS + $2))
    shift 2
    until "$@" >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "FAILED: $what does not come up: $*" >&2
            tail -n 20 "/var/log/$what.log" >&2 || true
            return 1
        fi
        sleep 0.5
    done
}

kubernetes_network() {
    # An address that is not the loopback's: the one of the machine.
    ip link add machine type bridge
    ip address add "$NODE/24" dev machine
    ip link set machine up
    ip route add default dev machine
    echo 1 >/proc/sys/net/ipv4/ip_forward
    # Answers within the bridge of the pods pass by the rules of services, too.
    [ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
    mkdir -p /etc/cni/net.d
    cat >/etc/cni/net.d/10-pods.conflist <<CNI
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "pods", "isGateway": true, "isDefaultGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$PODS"}]]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
CNI
    printf 'nameserver %s\n' "$NODE" >/etc/resolv.conf
}

# A certificate by the cluster's authority. Arguments: name of its files, subject, names that it is for.
certificate() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$KEYS/$1.key" -subj "$2" \
        -addext "subjectAltName=$3" -x509 -CA "$KEYS/ca.crt" -CAkey "$KEYS/ca.key" -days 30 \
        -addext basicConstraints=critical,CA:FALSE -out "$KEYS/$1.crt" 2>/dev/null
}

kubernetes_keys() {
    mkdir -p "$KEYS"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$KEYS/ca.key" -out "$KEYS/ca.crt" \
        -days 30 -subj /CN=cluster 2>/dev/null
    certificate apiserver /CN=kube-apiserver \
        "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:172.29.0.1,IP:$NODE,IP:127.0.0.1"
    certificate admin /O=system:masters/CN=admin DNS:admin
    openssl genrsa -out "$KEYS/accounts.key" 2048 2>/dev/null
    kubectl config set-cluster cell --server "https://$NODE:6443" --certificate-authority "$KEYS/ca.crt" --embed-certs
    kubectl config set-credentials admin --client-certificate "$KEYS/admin.crt" --client-key "$KEYS/admin.key" --embed-certs
    kubectl config set-context cell --cluster cell --user admin
    kubectl config use-context cell
}

kubernetes_control_plane() {
    stays etcd etcd --data-dir /var/lib/etcd --unsafe-no-fsync --log-level warn
    until_it_is etcd 60 etcdctl endpoint health
    stays kube-apiserver kube-apiserver --advertise-address "$NODE" --etcd-servers http://127.0.0.1:2379 \
        --service-cluster-ip-range "$SERVICES" --authorization-mode Node,RBAC --allow-privileged \
        --client-ca-file "$KEYS/ca.crt" --tls-cert-file "$KEYS/apiserver.crt" --tls-private-key-file "$KEYS/apiserver.key" \
        --kubelet-client-certificate "$KEYS/admin.crt" --kubelet-client-key "$KEYS/admin.key" \
        --kubelet-preferred-address-types InternalIP --service-account-issuer https://kubernetes.default.svc \
        --service-account-key-file "$KEYS/accounts.key" --service-account-signing-key-file "$KEYS/accounts.key"
    until_it_is kube-apiserver 120 kubectl get --raw /readyz
    stays kube-controller-manager kube-controller-manager --kubeconfig "$KUBECONFIG" --leader-elect=false \
        --service-account-private-key-file "$KEYS/accounts.key" --root-ca-file "$KEYS/ca.crt"
    stays kube-scheduler kube-scheduler --kubeconfig "$KUBECONFIG" --leader-elect=false
}

kubernetes_containerd() {
    local plugins
    plugins=$(dirname "$(dpkg -L containernetworking-plugins | grep '/bridge$' | head -n 1)")
    mkdir -p /etc/containerd
    cat >/etc/containerd/config.toml <<CONTAINERD
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/$IMAGE_PAUSE"
  disable_apparmor = true
  # Where root may not make anything less likely to be killed than it is itself.
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "$plugins"
  conf_dir = "/etc/cni/net.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
CONTAINERD
    stays containerd containerd
    until_it_is containerd 60 test -S /run/containerd/containerd.sock
    local archive
    for archive in /images/*.tar; do
        ctr --namespace k8s.io images import "$archive"
    done
}

kubernetes_node() {
    local setting
    # The kubelet sets these, which are the whole machine's: here it writes into files.
    for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
        kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
        mkdir -p "/run/settings/${setting%/*}"
        cat "/proc/sys/$setting" >"/run/settings/$setting"
        mount --bind "/run/settings/$setting" "/proc/sys/$setting"
    done
    cat >"$KEYS/kubelet.yaml" <<KUBELET
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
# The cell has version 1 where the machine has.
failCgroupV1: false
cgroupDriver: cgroupfs
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: $KEYS/ca.crt } }
authorization: { mode: Webhook }
clusterDomain: cluster.local
clusterDNS: [$NODE]
failSwapOn: false
# Images cannot be pulled again, and a disk that is fuller than a node's should be is nobody's concern here.
imageGCHighThresholdPercent: 100
evictionHard: { memory.available: 100Mi }
KUBELET
    stays kubelet kubelet --config "$KEYS/kubelet.yaml" --kubeconfig "$KUBECONFIG" --node-ip "$NODE" \
        --hostname-override cell
    cat >"$KEYS/kube-proxy.yaml" <<PROXY
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: $PODS
clientConnection: { kubeconfig: $KUBECONFIG }
# The table of connections is the whole machine's.
conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s }
PROXY
    stays kube-proxy kube-proxy --config "$KEYS/kube-proxy.yaml" --hostname-override cell
    cat >"$KEYS/Corefile" <<COREFILE
.:53 {
    errors
    ready $NODE:8181
    cache 5
    kubernetes cluster.local {
        kubeconfig $KUBECONFIG cell
    }
    # There is no other name.
    template ANY ANY {
        rcode NXDOMAIN
    }
}
COREFILE
    stays coredns coredns -conf "$KEYS/Corefile"
    until_it_is kubelet 120 kubectl wait node/cell --for condition=Ready --timeout 1s
    until_it_is coredns 60 bash -c "exec 3<>/dev/tcp/$NODE/8181 && printf 'GET /ready HTTP/1.0\r\n\r\n' >&3 && grep -q OK <&3"
    until_it_is kube-controller-manager 60 kubectl get serviceaccount default
}

# Volumes for the claims of a StatefulSet: folders of this machine, and no operator that makes more.
kubernetes_volumes() {
    local number
    kubectl apply --filename - <<CLASS
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: folders
  annotations: { storageclass.kubernetes.io/is-default-class: "true" }
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
CLASS
    for number in $(seq "$1"); do
        mkdir -p "/volumes/$number"
        kubectl apply --filename - <<VOLUME
apiVersion: v1
kind: PersistentVolume
metadata: { name: folder-$number }
spec:
  capacity: { storage: 20Gi }
  accessModes: [ReadWriteOnce]
  storageClassName: folders
  persistentVolumeReclaimPolicy: Retain
  local: { path: /volumes/$number }
  nodeAffinity:
    required:
      nodeSelectorTerms:
        - matchExpressions: [{ key: kubernetes.io/hostname, operator: In, values: [cell] }]
VOLUME
    done
}

kubernetes_begin() {
    kubernetes_network
    kubernetes_keys >/dev/null
    kubernetes_containerd
    kubernetes_control_plane
    kubernetes_node
    kubernetes_volumes 12 >/dev/null
    kubectl get nodes --output wide
}
