package compose

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// checkHardening compares each container with the file, as the kernel sees it: every process of it, its mounts, limits and
// routes.
func checkHardening(t *testing.T, p *project, r *report) {
	containers := p.containers(t)
	for name, s := range p.services(t) {
		if oneOff[name] {
			continue
		}
		c := containers[name]
		require.Equal(t, "running", c.State.Status, name)
		h := hardening{service: name}
		for _, pid := range processes(t, c.State.Pid) {
			checkProcess(t, name, pid)
			h.processes++
		}
		require.Equal(t, s.ReadOnly, readOnlyRoot(t, c.State.Pid), "%s: read-only root", name)
		h.readOnly = s.ReadOnly
		h.pids = limit(t, c.State.Pid, "pids", "pids.max")
		require.Equal(t, strconv.FormatInt(s.PidsLimit, 10), h.pids, name)
		h.user = status(t, c.State.Pid)["Uid"][0]
		require.Equal(t, s.grace(t), stopTimeout(c), "%s: stop grace period", name)
		r.hardened = append(r.hardened, h)
	}
	require.Contains(t, mountOptions(t, containers["postgres"].State.Pid, "/dev/shm"), "size=262144k")
	checkIsolation(t, p, containers)
	checkListeners(t, p.engine.daemon.Process.Pid)
}

// stopTimeout is how long the engine waits before it kills the container.
func stopTimeout(c container) time.Duration {
	if c.Config.StopTimeout == nil {
		return defaultGrace
	}
	return time.Duration(*c.Config.StopTimeout) * time.Second
}

func checkProcess(t *testing.T, name string, pid int) {
	t.Helper()
	s := status(t, pid)
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		require.Equal(t, "0000000000000000", s[set][0], "%s: %s", name, set)
	}
	require.Equal(t, "1", s["NoNewPrivs"][0], name)
	require.Equal(t, "2", s["Seccomp"][0], "%s: a filter", name)
	for _, id := range s["Uid"] {
		require.NotEqual(t, "0", id, "%s: a user without rights", name)
	}
}

// status reads /proc/PID/status.
func status(t *testing.T, pid int) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	fields := map[string][]string{}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Fields(value)
	}
	return fields
}

// cgroup returns the directory of a process's controller, with version 1 or 2.
func cgroup(t *testing.T, pid int, controller string) string {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	require.NoError(t, err)
	unified := ""
	for line := range strings.Lines(strings.TrimSpace(string(raw))) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if parts[1] == controller {
			return "/sys/fs/cgroup/" + controller + parts[2]
		}
		if parts[1] == "" {
			unified = "/sys/fs/cgroup" + parts[2]
		}
	}
	return unified
}

func limit(t *testing.T, pid int, controller, file string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(cgroup(t, pid, controller), file))
	require.NoError(t, err)
	return strings.TrimSpace(string(raw))
}

// processes returns all process IDs of the container whose main process is pid, without those that have just ended.
func processes(t *testing.T, pid int) (ids []int) {
	t.Helper()
	for field := range strings.FieldsSeq(limit(t, pid, "pids", "cgroup.procs")) {
		id, err := strconv.Atoi(field)
		require.NoError(t, err)
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/exe", id)); err == nil {
			ids = append(ids, id)
		}
	}
	require.Contains(t, ids, pid)
	return ids
}

// mountOptions returns the options of a mount point: its own and its file system's.
func mountOptions(t *testing.T, pid int, point string) string {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); fields[4] == point {
			return fields[5] + " " + fields[len(fields)-1]
		}
	}
	require.Fail(t, "no mount at "+point)
	return ""
}

func readOnlyRoot(t *testing.T, pid int) bool {
	t.Helper()
	return strings.HasPrefix(mountOptions(t, pid, "/"), "ro,")
}

// checkIsolation checks that a container that is only on the internal network reaches no other network: its gateway drops
// everything that leaves. The web UI's port on another network is an example, which a container on that network reaches.
func checkIsolation(t *testing.T, p *project, containers map[string]container) {
	t.Helper()
	address := containers["temporal-ui"].NetworkSettings.Networks["holdfast_operators"].IPAddress
	require.NotEmpty(t, address)
	reach := func(from string) error {
		return p.compose("exec", "--no-TTY", from, "nc", "-z", "-w", "5", address, "8080").Run()
	}
	require.NoError(t, reach("temporal"), "on the same network")
	require.Error(t, reach("postgres"), "on the internal network only")
}

// checkListeners checks that everything that the engine's network listens on is on loopback.
func checkListeners(t *testing.T, pid int) {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	require.NoError(t, err)
	const listening = "0A"
	found := 0
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); fields[3] == listening {
			require.True(t, strings.HasPrefix(fields[1], "0100007F:"), line)
			found++
		}
	}
	require.Equal(t, 4, found, "ports of ingress, operator, Temporal and its UI")
	v6, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp6", pid))
	if err == nil {
		require.NotContains(t, string(v6), " "+listening+" ")
	}
}

// checkHealthChecks stops main processes without ending them. Each container must become unhealthy, and healthy again afterwards.
// Temporal isn't among them: its check only connects, and the kernel accepts connections for a stopped process.
func checkHealthChecks(t *testing.T, p *project, r *report) {
	containers := p.containers(t)
	frozen := []string{"ingress", "worker", "operator", "postgres"}
	began := time.Now()
	thaw := func() {
		for _, name := range frozen {
			_ = syscall.Kill(containers[name].State.Pid, syscall.SIGCONT)
		}
	}
	t.Cleanup(thaw)
	for _, name := range frozen {
		require.NoError(t, syscall.Kill(containers[name].State.Pid, syscall.SIGSTOP))
	}
	noticed := map[string]time.Duration{}
	faulttest.Await(t, 4*time.Minute, "stopped processes to be unhealthy", func() bool {
		for name, c := range p.containers(t) {
			if c.State.Health != nil && c.State.Health.Status == "unhealthy" && noticed[name] == 0 {
				noticed[name] = time.Since(began)
			}
		}
		for _, name := range frozen {
			if noticed[name] == 0 {
				return false
			}
		}
		return true
	})
	thaw()
	p.awaitUp(t)
	for _, name := range frozen {
		r.unhealthy = append(r.unhealthy, startTime{name, noticed[name]})
	}
}
