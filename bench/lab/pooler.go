package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// HasPooler reports whether PgBouncer is installed.
func HasPooler() bool {
	_, err := exec.LookPath("pgbouncer")
	return err == nil
}

// Pooler is a PgBouncer in front of the database of the product.
type Pooler struct {
	// URL is the database's address through the pooler.
	URL string

	command *exec.Cmd
	dir     string
}

const poolerConfig = `[databases]
* = host=%s port=%s user=%s password='%s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = %d
max_client_conn = 500
`

// StartPooler starts a PgBouncer with a number of sessions, in transaction mode.
func (l *Lab) StartPooler(ctx context.Context, database string, sessions int) (p *Pooler, err error) {
	ports, err := freeAddresses(1)
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(l.Postgres.URL(database))
	if err != nil {
		return nil, err
	}
	p = &Pooler{}
	if p.dir, err = os.MkdirTemp("", "pgbouncer"); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(ports[0])
	if err != nil {
		return nil, err
	}
	password, _ := server.User.Password()
	file := filepath.Join(p.dir, "pgbouncer.ini")
	config := fmt.Sprintf(poolerConfig, server.Hostname(), server.Port(), server.User.Username(), password, port, sessions)
	// Another user reads it: PgBouncer refuses to run as root.
	if err := errors.Join(os.Chmod(p.dir, 0o755), os.WriteFile(file, []byte(config), 0o644)); err != nil {
		return nil, err
	}
	args := []string{"-q", file}
	if os.Geteuid() == 0 {
		args = append([]string{"-u", "nobody"}, args...)
	}
	p.command = exec.CommandContext(context.WithoutCancel(ctx), "pgbouncer", args...)
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this process, which stops it in order
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start pgbouncer: %w", err)
	}
	l.Meter.Track(LabelPooler, p.command.Process.Pid)
	server.Host = ports[0]
	server.RawQuery = url.Values{"sslmode": {"disable"}, "default_query_exec_mode": {"cache_describe"}}.Encode()
	p.URL = server.String()
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	return p, Poll(ctx, func() (bool, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", ports[0])
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, conn.Close()
	})
}

// Stop stops PgBouncer and removes its files.
func (p *Pooler) Stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = p.command.Wait()                          // the signal ends it
	return os.RemoveAll(p.dir)
}
