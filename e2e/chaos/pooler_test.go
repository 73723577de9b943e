package chaos

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
)

// pooler is a PgBouncer in transaction mode, as docs/pgbouncer.md describes it.
type pooler struct {
	*process
	port string
	file string // its configuration
}

// pool puts a PgBouncer in front of the world's database.
func (w *world) pool() {
	w.t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		w.t.Skip("pgbouncer is not installed: apt-get install pgbouncer")
	}
	for _, limit := range []string{"statement_timeout = '15s'", "lock_timeout = '5s'", "idle_in_transaction_session_timeout = '15s'"} {
		w.sql.exec(w.t, "postgres", "ALTER ROLE "+roleName+" SET "+limit)
	}
	dir, err := stacktest.TempDir("chaos-pooler") // another user reads it
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ports, err := stacktest.FreePorts(1)
	require.NoError(w.t, err)
	p := &pooler{port: ports[0], file: filepath.Join(dir, "pgbouncer.ini")}
	p.process = &process{name: "pgbouncer", log: logPath(w.dir, "pgbouncer"), command: func() *exec.Cmd {
		args := []string{p.file}
		if os.Geteuid() == 0 {
			args = append([]string{"-u", "nobody"}, args...) // it refuses root
		}
		return exec.Command(program, args...)
	}, ready: func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", p.address())
		if err == nil {
			_ = c.Close()
		}
		return err
	}}
	w.pooler = p
	w.configurePooler()
	p.start(w.t)
	w.t.Cleanup(p.kill)
}

func (p *pooler) address() string { return net.JoinHostPort("127.0.0.1", p.port) }

// configurePooler writes the configuration with the current server, and has a running PgBouncer reload it.
func (w *world) configurePooler() {
	w.t.Helper()
	server, err := url.Parse(w.sql.url(w.name))
	require.NoError(w.t, err)
	ini := fmt.Sprintf(`[databases]
* = host=%s port=%s user=%s password='%s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
server_login_retry = 1
`, server.Hostname(), server.Port(), roleName, rolePassword, w.pooler.port)
	require.NoError(w.t, os.WriteFile(w.pooler.file, []byte(ini), 0o644))
	w.pooler.signal(syscall.SIGHUP)
}
