package chaos

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// cluster is a Temporal on two machines, each with one process for each of the four services.
type cluster struct {
	*stack
	machines [2]map[string]*process // by service
}

// machineAddresses are the machines of a cluster. All have the same ports.
var machineAddresses = [2]string{"127.0.0.2", "127.0.0.3"}

var clusterServices = []string{"frontend", "history", "matching", "worker"}

// temporalCluster starts a separate Temporal for the world, whose processes find both frontends by one name. The database has a
// standby unless standby is nil.
func temporalCluster(w *world, memory, standby *postgres) *cluster {
	if _, err := exec.LookPath("unshare"); err != nil || os.Geteuid() != 0 {
		w.t.Skip("a name with two addresses needs another /etc/hosts, which only root can mount")
	}
	c := &cluster{stack: w.preparedFor(w.t, memory)}
	_, port, err := net.SplitHostPort(c.address)
	require.NoError(w.t, err)
	for i, address := range machineAddresses {
		c.machines[i] = c.machine(w.t, address, standby)
	}
	c.temporal, c.others = c.machines[0]["frontend"], nil
	for _, machine := range c.machines {
		for _, p := range machine {
			if p != c.temporal {
				c.others = append(c.others, p)
			}
		}
	}
	c.address = net.JoinHostPort(machineAddresses[0], port)
	w.stack = c.stack
	w.adapt = nameAddresses(w.t, "temporal.test", port)
	c.resumeTemporal(w.t)
	return c
}

// machine returns the processes of a machine, with the configuration of the single server for this address.
func (c *cluster) machine(t testing.TB, address string, standby *postgres) map[string]*process {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "temporal", "temporal.yaml"))
	require.NoError(t, err)
	edits := map[string]string{
		"bindOnLocalHost: true":       "bindOnIP: " + address,
		"broadcastAddress: 127.0.0.1": "broadcastAddress: " + address,
		"rpcAddress: 127.0.0.1":       "rpcAddress: " + address,
	}
	if standby != nil {
		connect := "connectAddr: " + c.store.address()
		edits[connect] = fmt.Sprintf("connectAddr: %q\n        connectAttributes: { target_session_attrs: read-write }",
			c.store.address()+","+hostOf(standby.url("postgres")))
	}
	config := string(text)
	for old, changed := range edits {
		require.Contains(t, config, old)
		config = strings.ReplaceAll(config, old, changed)
	}
	file := filepath.Join(c.dir, "temporal", address+".yaml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	machine := map[string]*process{}
	for _, service := range clusterServices {
		name := service + "-" + address
		machine[service] = &process{name: name, log: logPath(c.dir, name), ready: c.pingTemporal, command: func() *exec.Cmd {
			p := exec.Command(filepath.Join(root, "bin", "temporal-server"), "--config-file", file, "--allow-no-auth",
				"start", "--service", service)
			p.Env = cleanEnvironment()
			return p
		}}
	}
	return machine
}

// nameAddresses returns what makes a process reach Temporal by a name that has the addresses of both machines.
func nameAddresses(t testing.TB, name, port string) func(*exec.Cmd) {
	t.Helper()
	hosts := filepath.Join(t.TempDir(), "hosts")
	text := "127.0.0.1 localhost\n"
	for _, address := range machineAddresses {
		text += address + " " + name + "\n"
	}
	require.NoError(t, os.WriteFile(hosts, []byte(text), 0o644))
	return func(c *exec.Cmd) {
		wrapped := exec.Command("unshare", append([]string{"--mount", "sh", "-c", `mount --bind "$0" /etc/hosts && exec "$@"`, hosts},
			c.Args...)...)
		c.Path, c.Args = wrapped.Path, wrapped.Args
		c.Env = append(c.Env, "TEMPORAL_ADDRESS="+net.JoinHostPort(name, port))
	}
}

// awaitStarts waits until a machine starts 32 runs in a row, which belong to shards of both machines, and returns after how long it
// started the first of them.
func (c *cluster) awaitStarts(t testing.TB, machine int) (first time.Duration) {
	t.Helper()
	_, port, err := net.SplitHostPort(c.address)
	require.NoError(t, err)
	client, err := sdk.NewLazyClient(sdk.Options{
		HostPort: net.JoinHostPort(machineAddresses[machine], port), Namespace: "default", Logger: log.NewStructuredLogger(quiet),
	})
	require.NoError(t, err)
	defer client.Close()
	return awaitStarts(t, client)
}

// awaitStarts waits until Temporal starts runs, on all shards, and returns how long that took.
func awaitStarts(t testing.TB, client sdk.Client) (first time.Duration) {
	t.Helper()
	began := time.Now()
	eventually(t, 2*time.Minute, "runs start", func() error {
		first = time.Since(began).Round(time.Second / 10)
		for i := range 32 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			_, err := client.ExecuteWorkflow(ctx, sdk.StartWorkflowOptions{
				ID: fmt.Sprintf("probe-%d-%d", began.UnixNano(), i), TaskQueue: "none", WorkflowExecutionTimeout: time.Minute,
			}, "None")
			cancel()
			if err != nil {
				return err
			}
		}
		return nil
	})
	return first
}
