package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// node is a kubelet with its own containerd, network namespace and cgroup.
type node struct {
	cluster   *cluster
	number    int
	namespace string
}

func (n *node) name() string            { return fmt.Sprintf("node-%d", n.number) }
func (n *node) path(file string) string { return n.cluster.path(n.name() + "/" + file) }
func (n *node) socket() string          { return n.path("containerd.sock") }

// start starts containerd, imports the images and starts the kubelet and kube-proxy.
func (n *node) start(t *testing.T) {
	t.Helper()
	require.NoError(t, os.MkdirAll(n.path("cni"), 0o755))
	require.NoError(t, os.MkdirAll(n.path("kubelet"), 0o755))
	n.makeCgroup(t)
	t.Cleanup(func() {
		n.removeShims()
		unmountBelow(t, n.path(""))
		removeLogLinks(n.path(""))
	})
	values := strings.NewReplacer("DIR", n.path(""), "CGROUP", n.namespace, "PODS", n.pods(), "IMAGE", pauseImage)
	for file, content := range map[string]string{"containerd.toml": containerdConfig, "cni/pods.conflist": podNetworkConfig,
		"kubelet.yaml": kubeletConfig} {
		require.NoError(t, os.WriteFile(n.path(file), []byte(values.Replace(content)), 0o600))
	}
	n.cluster.start(t, n.name()+"-containerd", n.inside("containerd", "--config", n.path("containerd.toml")))
	faulttest.Await(t, time.Minute, "containerd to answer", func() bool { return n.ctr("version").Run() == nil })
	images, err := os.ReadDir(n.cluster.images)
	require.NoError(t, err)
	for _, image := range images {
		if image.Name() == standInArchive && n != n.cluster.first() {
			continue
		}
		faulttest.Must(t, n.ctr("images", "import", n.cluster.images+"/"+image.Name()))
	}
	hostname := "--hostname-override=" + n.name()
	kubeconfig := "--kubeconfig=" + n.cluster.kubeconfig()
	n.cluster.start(t, n.name()+"-kubelet", n.inside(n.cluster.bin("kubelet"), "--config="+n.path("kubelet.yaml"), kubeconfig,
		hostname, "--node-ip="+n.address(), "--root-dir="+n.path("kubelet"), "--cert-dir="+n.path("certificates")))
	faulttest.Await(t, 2*time.Minute, n.name()+" to be registered", func() bool {
		return n.cluster.kubectl("get", "node", n.name()).Run() == nil
	})
	n.cluster.start(t, n.name()+"-kube-proxy", n.inside(n.cluster.bin("kube-proxy"), kubeconfig, hostname, "--proxy-mode=iptables",
		"--cluster-cidr="+podNetwork, "--conntrack-max-per-core=0", "--metrics-bind-address=127.0.0.1:10249", "--oom-score-adj=0"))
}

// ctr returns a command of containerd's client.
func (n *node) ctr(args ...string) *exec.Cmd {
	return exec.Command("ctr", append([]string{"--address", n.socket(), "--namespace", "k8s.io"}, args...)...)
}

// describe returns what the node runs, in a sentence.
func (c *cluster) describe(t *testing.T) string {
	t.Helper()
	info := faulttest.Stdout(t, c.kubectl("get", "node", "node-1", "--output", `jsonpath={.status.nodeInfo.kubeletVersion} with `+
		`{.status.nodeInfo.containerRuntimeVersion}, kernel {.status.nodeInfo.kernelVersion}, {.status.capacity.cpu} cores`))
	assert.NotEmpty(t, info)
	return info
}

const containerdConfig = `version = 2
root = "DIRcontainerd"
state = "DIRstate"
[grpc]
address = "DIRcontainerd.sock"
[plugins."io.containerd.internal.v1.opt"]
path = "DIRopt"
[plugins."io.containerd.grpc.v1.cri"]
restrict_oom_score_adj = true
sandbox_image = "IMAGE"
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "DIRcni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
`

// Every pod has its own link to its node, so packets between pods pass the rules of kube-proxy.
const podNetworkConfig = `{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "ptp", "mtu": 1500, "ipam": {"type": "host-local", "dataDir": "DIRaddresses", "ranges": [[{"subnet": "PODS"}]],
    "routes": [{"dst": "0.0.0.0/0"}]}}]}
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /CGROUP
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
evictionHard: {}
imageGCHighThresholdPercent: 100
oomScoreAdj: 0
clusterDomain: cluster.local
clusterDNS: [10.99.0.1]
resolvConf: ""
containerRuntimeEndpoint: unix://DIRcontainerd.sock
podLogsDir: DIRlogs
volumePluginDir: DIRplugins
`
