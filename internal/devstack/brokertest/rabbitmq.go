package brokertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rabbitProgram is where Debian's package has it; the one in /usr/sbin changes the user.
const rabbitProgram = "/usr/lib/rabbitmq/bin/rabbitmq-server"

// RabbitMQ starts a RabbitMQ whose user guest has the password guest, or skips the test. Its name server has another port than
// the machine's.
func RabbitMQ(t *testing.T) *Broker {
	t.Helper()
	if _, err := os.Stat(rabbitProgram); err != nil {
		if os.Getenv("NO_SKIP") != "" {
			t.Fatal("there is no RabbitMQ on this machine: apt-get install rabbitmq-server")
		}
		t.Skip("there is no RabbitMQ on this machine: apt-get install rabbitmq-server")
	}
	dir := folder(t)
	plugins, names, clients := filepath.Join(dir, "plugins"), freePort(t), freePort(t)
	require.NoError(t, os.WriteFile(plugins, []byte("[].\n"), 0o600))
	environ := append(os.Environ(), "HOME="+dir, "ERL_EPMD_ADDRESS=127.0.0.1", "ERL_EPMD_PORT="+strconv.Itoa(names),
		fmt.Sprintf("RABBITMQ_NODENAME=test%d@localhost", clients), "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
		"RABBITMQ_NODE_PORT="+strconv.Itoa(clients), "RABBITMQ_DIST_PORT="+strconv.Itoa(freePort(t)),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1} +S 1:1",
		"RABBITMQ_MNESIA_BASE="+filepath.Join(dir, "data"), "RABBITMQ_LOG_BASE="+dir, "RABBITMQ_ENABLED_PLUGINS_FILE="+plugins,
		"RABBITMQ_CONFIG_FILE="+filepath.Join(dir, "none"), "RABBITMQ_CONF_ENV_FILE=/dev/null",
		"RUNNING_UNDER_SYSTEMD=true", // replaces the shell by the server, so that a kill reaches it
	)
	command := func(name string, args ...string) func() *exec.Cmd {
		return func() *exec.Cmd {
			cmd := exec.Command(name, args...)
			cmd.Env = environ
			return cmd
		}
	}
	start(t, local(names), command("epmd"))
	b := start(t, local(clients), command(rabbitProgram))
	b.environ = environ
	return b
}

// Control runs rabbitmqctl.
func (b *Broker) Control(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/lib/rabbitmq/bin/rabbitmqctl", args...)
	cmd.Env, cmd.WaitDelay = b.environ, time.Second
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
}
