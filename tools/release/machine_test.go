package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// machine is a new Debian with PostgreSQL that systemd has booted, in a container without a network. Its files are in memory,
// above a folder that stays as it is.
type machine struct{ leader int }

// debianRoot returns a folder with a Debian 12, and downloads it if it isn't there.
func debianRoot(t *testing.T, dir string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return filepath.Join(dir, "root")
	}
	root := filepath.Join(dir, "root")
	t.Logf("downloading Debian to %s (3 to 6 minutes, once) ...", root)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	out, err := exec.CommandContext(t.Context(), "debootstrap", "--variant=minbase",
		"--include=systemd,systemd-sysv,dbus,ca-certificates,procps,iproute2,libnss-systemd", "bookworm", root).CombinedOutput()
	require.NoError(t, err, string(out))
	policy := root + "/usr/sbin/policy-rc.d"
	require.NoError(t, os.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"), 0o755))
	out, err = exec.CommandContext(t.Context(), "chroot", root, "apt-get", "install", "--yes", "--no-install-recommends",
		"postgresql").CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, os.Remove(policy))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "complete"), nil, 0o644))
	return root
}

// Its control group is below the root of each hierarchy: the machine's systemd must not manage groups of this machine.
const bootScript = `
for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
	if [ -e "$hierarchy/cgroup.procs" ]; then
		mkdir -p "$hierarchy/$1" && echo $$ >"$hierarchy/$1/cgroup.procs"
	fi
done
exec systemd-nspawn --directory "$2" --machine "$1" --volatile=overlay --boot --register=no --keep-unit --private-network \
	--link-journal=no --console=pipe
`

// boot starts the machine and waits until all of its services run.
func boot(t *testing.T, root string) *machine {
	t.Helper()
	var log bytes.Buffer
	name := "holdfast-package-" + strconv.Itoa(os.Getpid())
	command := exec.Command("sh", "-c", bootScript, "boot", name, root)
	command.Stdout, command.Stderr = &log, &log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		for _, hierarchy := range []string{"", "systemd", "unified"} {
			removeGroups("/sys/fs/cgroup/" + hierarchy + "/" + name)
		}
	})
	m := &machine{}
	require.Eventually(t, func() bool {
		pid := strconv.Itoa(command.Process.Pid)
		children, _ := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
		m.leader, _ = strconv.Atoi(strings.TrimSpace(string(children)))
		if m.leader == 0 {
			return false
		}
		state, _ := m.try("systemctl is-system-running")
		return strings.TrimSpace(state) == "running"
	}, 2*time.Minute, time.Second, "the machine doesn't boot: %s", &log)
	return m
}

// removeGroups removes a control group and those below it, the lowest first.
func removeGroups(dir string) {
	below, _ := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
	for _, procs := range below {
		removeGroups(filepath.Dir(procs))
	}
	_ = os.Remove(dir)
}

// try runs a script on the machine as root, and returns what it prints.
func (m *machine) try(script string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
	defer stop()
	command := exec.CommandContext(ctx, "nsenter", "--target", strconv.Itoa(m.leader), "--all",
		"/bin/sh", "-ec", "cd /root\n"+script)
	command.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"}
	out, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w", script, err)
	}
	return string(out), err
}

func (m *machine) run(t *testing.T, script string) string {
	t.Helper()
	out, err := m.try(script)
	require.NoError(t, err, out)
	return out
}

// put writes a file of the machine.
func (m *machine) put(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	content, err := os.ReadFile(from)
	require.NoError(t, err)
	m.write(t, to, content, mode)
}

func (m *machine) write(t *testing.T, to string, content []byte, mode os.FileMode) {
	t.Helper()
	path := fmt.Sprintf("/proc/%d/root%s", m.leader, to)
	require.NoError(t, os.WriteFile(path, content, mode))
	require.NoError(t, os.Chmod(path, mode))
}
