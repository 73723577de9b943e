package cluster

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast/internal/devstack/faulttest"
)

// Addresses in the cluster. No other network is reachable.
const (
	serviceNetwork = "10.96.0.0/16"
	podNetwork     = "10.244.0.0/16"

	// Services of testdata/stores.yaml.
	postgresAddress = "10.96.0.20"
	temporalAddress = "10.96.0.21"
)

func (n *node) address() string { return fmt.Sprintf("10.99.0.%d", n.number) }
func (n *node) pods() string    { return fmt.Sprintf("10.244.%d.0/24", n.number) }

// inside returns a command that runs in the node's network. nsenter becomes the program, so its process ID is the program's.
func (n *node) inside(program string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--net=/run/netns/" + n.namespace, program}, args...)...)
}

// connect makes the network namespaces of two nodes, with a cable between them and routes to each other's pods.
func connect(t *testing.T, a, b *node) {
	t.Helper()
	for _, n := range []*node{a, b} {
		faulttest.Run(t, "ip", "netns", "add", n.namespace)
		t.Cleanup(func() { assert.NoError(t, exec.Command("ip", "netns", "delete", n.namespace).Run()) })
		faulttest.Run(t, "ip", "-n", n.namespace, "link", "set", "lo", "up")
	}
	faulttest.Run(t, "ip", "-n", a.namespace, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", b.namespace)
	for _, n := range []*node{a, b} {
		faulttest.Run(t, "ip", "-n", n.namespace, "address", "add", n.address()+"/24", "dev", "eth0")
		faulttest.Run(t, "ip", "-n", n.namespace, "link", "set", "eth0", "up")
		faulttest.Must(t, n.inside("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"))
		// kube-proxy replaces these addresses by pods' addresses before a packet leaves.
		faulttest.Run(t, "ip", "-n", n.namespace, "route", "add", serviceNetwork, "dev", "eth0")
	}
	faulttest.Run(t, "ip", "-n", a.namespace, "route", "add", b.pods(), "via", b.address())
	faulttest.Run(t, "ip", "-n", b.namespace, "route", "add", a.pods(), "via", a.address())
}
