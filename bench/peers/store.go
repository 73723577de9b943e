package peers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"holdfast/internal/devstack/child"
)

// rabbitProgram is where Debian's package has it. The one on the PATH wants to run as a service.
const rabbitProgram = "/usr/lib/rabbitmq/bin/rabbitmq-server"

// checkPackages returns an error that says what to install, if a program is missing.
func checkPackages() error {
	needed := map[string]string{"redis-server": "redis-server", rabbitProgram: "rabbitmq-server", "epmd": "erlang-base"}
	for program, packaged := range needed {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: run apt-get install %s", err, packaged)
		}
	}
	return nil
}

// redis starts a Redis that writes its log and syncs it every second.
func (h *host) redis(ctx context.Context, name string, port int) (*server, error) {
	dir, err := child.MakeDir(filepath.Join(h.dir, name), child.PrivateDir)
	if err != nil {
		return nil, err
	}
	return h.start(ctx, program{
		name: name, label: "Redis", port: port,
		command: func() *exec.Cmd {
			return exec.CommandContext(context.Background(), "redis-server", "--bind", child.Loopback,
				"--port", strconv.Itoa(port), "--dir", dir, "--appendonly", "yes", "--appendfsync", "everysec", "--save", "")
		},
		ready: answers(port, []byte("PING\r\n"), []byte("+PONG")),
	})
}

// rabbit are the ports of a RabbitMQ: for its clients, between its nodes, and for Erlang's name server.
type rabbit struct{ clients, nodes, names int }

// rabbitMQ starts RabbitMQ with its own Erlang name server.
func (h *host) rabbitMQ(ctx context.Context, r rabbit) ([]*server, error) {
	dir, err := child.MakeDir(filepath.Join(h.dir, "rabbitmq"), child.PrivateDir)
	if err != nil {
		return nil, err
	}
	plugins := filepath.Join(dir, "plugins")
	if err := os.WriteFile(plugins, []byte("[].\n"), 0o600); err != nil {
		return nil, err
	}
	environ := append(child.EnvironWithout("RABBITMQ_", "ERL_", "HOME="), "HOME="+dir,
		"ERL_EPMD_ADDRESS="+child.Loopback, "ERL_EPMD_PORT="+strconv.Itoa(r.names),
		"RABBITMQ_NODENAME=peers@localhost", "RABBITMQ_NODE_IP_ADDRESS="+child.Loopback,
		"RABBITMQ_NODE_PORT="+strconv.Itoa(r.clients), "RABBITMQ_DIST_PORT="+strconv.Itoa(r.nodes),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
		"RABBITMQ_MNESIA_BASE="+filepath.Join(dir, "data"), "RABBITMQ_LOG_BASE="+dir, "RABBITMQ_ENABLED_PLUGINS_FILE="+plugins,
		"RABBITMQ_CONFIG_FILE="+filepath.Join(dir, "none"), "RABBITMQ_CONF_ENV_FILE=/dev/null",
		"RUNNING_UNDER_SYSTEMD=true", // replaces the shell by the server, so that its process is known
	)
	withEnviron := func(name string, args ...string) func() *exec.Cmd {
		return func() *exec.Cmd {
			cmd := exec.CommandContext(context.Background(), name, args...)
			cmd.Env = environ
			return cmd
		}
	}
	names, err := h.start(ctx, program{
		name: "epmd", label: "RabbitMQ", port: r.names, command: withEnviron("epmd"),
		ready: answers(r.names, []byte("\x00\x01n"), nil),
	})
	if err != nil {
		return nil, err
	}
	broker, err := h.start(ctx, program{
		name: "rabbitmq", label: "RabbitMQ", port: r.clients, command: withEnviron(rabbitProgram),
		ready: answers(r.clients, []byte("AMQP\x00\x00\x09\x01"), []byte{1}),
	})
	if err != nil {
		return []*server{names}, err
	}
	return []*server{names, broker}, nil
}
