package brokertest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// natsVariable makes a test's program a NATS server: it has the port, the user, the password and the folder.
const natsVariable = "BROKERTEST_NATS"

func init() {
	if settings := os.Getenv(natsVariable); settings != "" {
		serveNATS(strings.SplitN(settings, ":", 4))
	}
}

func serveNATS(settings []string) {
	port, err := strconv.Atoi(settings[0])
	if err == nil {
		var s *server.Server
		s, err = server.NewServer(&server.Options{
			Host: "127.0.0.1", Port: port, Username: settings[1], Password: settings[2], JetStream: true, StoreDir: settings[3],
			NoSigs: true,
		})
		if err == nil {
			s.Start()
			s.WaitForShutdown()
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// NATS starts NATS with JetStream. With a user, clients need it and the password.
func NATS(t *testing.T, user, password string) *Broker {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	port, dir := freePort(t), folder(t)
	return start(t, local(port), func() *exec.Cmd {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d:%s:%s:%s", natsVariable, port, user, password, dir))
		return cmd
	})
}
