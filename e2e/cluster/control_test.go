package cluster

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// cluster is a Kubernetes with its control plane on the first node.
type cluster struct {
	root          string // the checkout
	dir           string // sockets, state and logs; removed at the end
	images        string // archives that the nodes import
	nodes         []*node
	secrets       secrets
	previousChart string
	verifier      string // holdfast-bench of the release whose tables are there
	report        *report
}

func (c *cluster) path(file string) string         { return c.dir + "/" + file }
func (c *cluster) bin(program string) string       { return c.root + "/bin/" + program }
func (c *cluster) kubeconfig() string              { return c.path("kubeconfig") }
func (c *cluster) first() *node                    { return c.nodes[0] }
func (c *cluster) run(t *testing.T, cmd *exec.Cmd) { t.Helper(); faulttest.Must(t, cmd) }

// startCluster starts everything. Its directory is short, because the paths of sockets have a limit.
func startCluster(t *testing.T, root, cache string) *cluster {
	t.Helper()
	c := &cluster{root: root, images: cache + "/images", dir: fmt.Sprintf("%s/run-%d", cache, os.Getpid())}
	require.NoError(t, os.MkdirAll(c.dir, 0o755))
	t.Cleanup(func() {
		if os.Getenv("KEEP") == "" {
			assert.NoError(t, os.RemoveAll(c.dir))
		}
	})
	for i := range 2 {
		n := &node{cluster: c, number: i + 1, namespace: fmt.Sprintf("holdfast-%d-%d", os.Getpid(), i+1)}
		c.nodes = append(c.nodes, n)
		require.NoError(t, os.MkdirAll(n.path(""), 0o755))
	}
	connect(t, c.nodes[0], c.nodes[1])
	c.startControlPlane(t)
	for _, n := range c.nodes {
		n.start(t)
	}
	c.run(t, c.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=3m"))
	return c
}

func (c *cluster) startControlPlane(t *testing.T) {
	t.Helper()
	n := c.first()
	token := rand.Text()
	require.NoError(t, os.WriteFile(c.path("tokens"), []byte(token+",admin,admin,system:masters\n"), 0o600))
	require.NoError(t, os.WriteFile(c.kubeconfig(), []byte(fmt.Sprintf(kubeconfig, n.address(), token)), 0o600))
	faulttest.Run(t, "openssl", "genrsa", "-out", c.path("accounts.key"), "2048")
	c.start(t, "etcd", n.inside("etcd", "--data-dir", c.path("etcd"), "--heartbeat-interval", "500", "--election-timeout", "5000"))
	c.start(t, "apiserver", n.inside(c.bin("kube-apiserver"), "--etcd-servers=http://127.0.0.1:2379",
		"--advertise-address="+n.address(), "--service-cluster-ip-range="+serviceNetwork,
		"--cert-dir="+c.path("certificates"), "--authorization-mode=RBAC",
		"--kubelet-preferred-address-types=InternalIP",
		"--token-auth-file="+c.path("tokens"), "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.path("accounts.key"), "--service-account-signing-key-file="+c.path("accounts.key")))
	faulttest.Await(t, 3*time.Minute, "the API server to be ready", func() bool {
		return c.kubectl("get", "--raw", "/readyz").Run() == nil
	})
	kubeconfig := "--kubeconfig=" + c.kubeconfig()
	c.start(t, "controllers", n.inside(c.bin("kube-controller-manager"), kubeconfig, "--leader-elect=false",
		"--root-ca-file="+c.path("certificates/apiserver.crt"), "--service-account-private-key-file="+c.path("accounts.key"),
		"--cert-dir="+c.path("certificates")))
	c.start(t, "scheduler", n.inside(c.bin("kube-scheduler"), kubeconfig, "--leader-elect=false",
		"--cert-dir="+c.path("certificates")))
	c.start(t, "dns", n.inside("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root",
		"--pid-file", "--bind-interfaces", "--listen-address="+n.address(), "--local=/cluster.local/",
		"--host-record=postgres.database.svc.cluster.local,"+postgresAddress,
		"--host-record=temporal-frontend.temporal.svc.cluster.local,"+temporalAddress))
}

// kubectl returns a command that has access to everything.
func (c *cluster) kubectl(args ...string) *exec.Cmd {
	return c.first().inside(c.bin("kubectl"), append([]string{"--kubeconfig", c.kubeconfig()}, args...)...)
}

// helm returns a command that has access to everything.
func (c *cluster) helm(args ...string) *exec.Cmd {
	return c.first().inside(c.bin("helm"), append([]string{"--kubeconfig", c.kubeconfig()}, args...)...)
}

// get returns a field of an object.
func (c *cluster) get(t *testing.T, namespace, object, path string) string {
	t.Helper()
	return faulttest.Stdout(t, c.kubectl("--namespace", namespace, "get", object, "--output", "jsonpath="+path))
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://%s:6443", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: %s}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
`
