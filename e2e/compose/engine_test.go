package compose

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// engine is a Docker engine in its own network namespace.
type engine struct {
	data      string // images and volumes; kept, so that the next run builds less
	runtime   string // sockets and pid files
	namespace string
	daemon    *exec.Cmd
}

func startEngine(t *testing.T, data string) *engine {
	t.Helper()
	runtime := t.TempDir()
	require.NoError(t, os.MkdirAll(data, 0o711))
	e := &engine{data: data, runtime: runtime, namespace: fmt.Sprintf("holdfast-%d", os.Getpid())}
	t.Cleanup(func() { e.remove(t) })
	faulttest.Run(t, "ip", "netns", "add", e.namespace)
	faulttest.Run(t, "ip", "-n", e.namespace, "link", "set", "lo", "up")
	e.start(t)
	return e
}

// start runs dockerd, which starts its own containerd. nsenter becomes dockerd, so its process ID is dockerd's. It enters only the
// network namespace: ip netns exec would hide the cgroups.
func (e *engine) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(e.runtime, "dockerd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer log.Close()
	e.daemon = e.inside("dockerd", "--data-root", e.data, "--exec-root", filepath.Join(e.runtime, "exec"),
		"--pidfile", filepath.Join(e.runtime, "dockerd.pid"), "--host", e.host())
	e.daemon.Stdout, e.daemon.Stderr = log, log
	require.NoError(t, e.daemon.Start())
	faulttest.Await(t, 3*time.Minute, "the engine to answer", func() bool { return e.docker("info").Run() == nil })
}

func (e *engine) host() string { return "unix://" + filepath.Join(e.runtime, "docker.sock") }

// docker returns a command of the Docker CLI for this engine.
func (e *engine) docker(args ...string) *exec.Cmd {
	command := exec.Command("docker", args...)
	command.Env = append(os.Environ(), "DOCKER_HOST="+e.host())
	return command
}

// inside returns a command that runs in the engine's network, where published ports are.
func (e *engine) inside(program string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--net=/run/netns/" + e.namespace, program}, args...)...)
}

// stop ends dockerd as systemd does: it stops all containers first.
func (e *engine) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, e.daemon.Process.Signal(syscall.SIGTERM))
	require.NoError(t, e.daemon.Wait())
}

// kill ends dockerd without warning, and containerd, which the kernel kills with its parent. The containers keep running.
func (e *engine) kill(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(e.runtime, "exec", "containerd", "containerd.pid"))
	require.NoError(t, err)
	containerd, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	require.NoError(t, err)
	require.NoError(t, e.daemon.Process.Kill())
	_ = e.daemon.Wait()
	// The next dockerd would connect to a containerd that is just ending, and fail.
	faulttest.Await(t, time.Minute, "containerd to end", func() bool { return syscall.Kill(containerd, 0) != nil })
	require.NoError(t, os.Remove(filepath.Join(e.runtime, "dockerd.pid")))
}

// describe returns the versions of the engine, in a sentence.
func (e *engine) describe(t *testing.T) string {
	t.Helper()
	return faulttest.Stdout(t, e.docker("info", "--format", "Docker {{.ServerVersion}} ({{.Driver}}, cgroups v{{.CgroupVersion}}) with runc and "+
		"containerd of {{.OperatingSystem}}, kernel {{.KernelVersion}}, {{.NCPU}} cores"))
}

func (e *engine) remove(t *testing.T) {
	if e.daemon != nil && e.daemon.ProcessState == nil {
		_ = e.daemon.Process.Signal(syscall.SIGTERM)
		_ = e.daemon.Wait()
	}
	mounts, err := os.ReadFile("/proc/mounts")
	assert.NoError(t, err)
	for line := range strings.Lines(string(mounts)) {
		if at := strings.Fields(line)[1]; strings.HasPrefix(at, e.runtime) || strings.HasPrefix(at, e.data) {
			assert.NoError(t, exec.Command("umount", at).Run(), at)
		}
	}
	assert.NoError(t, exec.Command("ip", "netns", "delete", e.namespace).Run())
	if t.Failed() {
		log, err := os.ReadFile(filepath.Join(e.runtime, "dockerd.log"))
		assert.NoError(t, err)
		t.Logf("the end of the engine's log:\n%s", log[max(0, len(log)-8<<10):])
	}
}
