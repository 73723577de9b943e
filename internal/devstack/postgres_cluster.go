package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"holdfast/internal/devstack/child"
)

// ensureCluster creates a cluster unless the data directory is complete. It works in a directory next to it and renames that at
// the end, so that a killed program leaves nothing that looks like a cluster.
func (p *Postgres) ensureCluster(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(p.data, "PG_VERSION")); err == nil {
		return nil
	}
	if _, err := os.Stat(p.data); err == nil {
		return fmt.Errorf("%s is there but is no PostgreSQL cluster: move it away", p.data)
	}
	unfinished := p.data + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := p.initCluster(ctx, unfinished); err != nil {
		return err
	}
	return os.Rename(unfinished, p.data)
}

func (p *Postgres) initCluster(ctx context.Context, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	passwordFile := dir + ".password"
	defer os.Remove(passwordFile)
	if err := os.WriteFile(passwordFile, []byte(p.password+"\n"), 0o600); err != nil {
		return err
	}
	if err := errors.Join(p.account.Own(dir), p.account.Own(passwordFile)); err != nil {
		return fmt.Errorf("hand the data directory to %s: %w", p.account.Name, err)
	}
	// Passwords, because on a shared machine anyone can reach a child.Loopback port, and a superuser can run programs.
	args := []string{"-D", dir, "--username=" + postgresUser, "--pwfile=" + passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--data-checksums"}
	if p.options.Settings["fsync"] == "off" {
		args = append(args, "--no-sync")
	}
	return p.run(p.Program(ctx, "initdb", args...))
}

// run runs one of PostgreSQL's programs to its end.
func (p *Postgres) run(cmd *exec.Cmd) error {
	defer child.CloseLog(cmd)
	runtime.LockOSThread() // the parent death signal is sent when the starting thread ends
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, child.LogTail(p.logFile()))
	}
	return nil
}

// endPostgres ends a server that runs over the data directory: politely, then by force. It removes a lock file without a server,
// because its process ID may now belong to an unrelated process.
func endPostgres(ctx context.Context, data string) error {
	lock := filepath.Join(data, "postmaster.pid")
	running := func() []int { return child.PostgresProcesses(data) }
	if all := running(); len(all) > 0 {
		ended := child.EndProcesses(ctx, only(all, child.ReadNumber(lock)), syscall.SIGINT, running, 15*time.Second) ||
			child.EndProcesses(ctx, running(), syscall.SIGQUIT, running, 5*time.Second) ||
			child.EndProcesses(ctx, running(), syscall.SIGKILL, running, 5*time.Second)
		if !ended {
			return fmt.Errorf("end the PostgreSQL that an earlier run left behind: processes %v over %s do not end",
				running(), data)
		}
	}
	if err := os.Remove(lock); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the lock file of a PostgreSQL that has ended: %w", err)
	}
	return nil
}

// only returns pid if it is one of pids. Backends whose postmaster has ended end automatically.
func only(pids []int, pid int) []int {
	if slices.Contains(pids, pid) {
		return []int{pid}
	}
	return nil
}

// ensureSecret reads a secret from a file that only we can read, creating both if missing.
func ensureSecret(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if secret := strings.TrimSpace(string(raw)); err == nil && secret != "" {
		return secret, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	secret := rand.Text()
	return secret, os.WriteFile(path, []byte(secret+"\n"), 0o600)
}
