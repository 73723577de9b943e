package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// start runs a program of the cluster in the background, with its log in the cluster's directory.
func (c *cluster) start(t *testing.T, name string, command *exec.Cmd) {
	t.Helper()
	path := c.path(name + ".log")
	log, err := os.Create(path)
	require.NoError(t, err)
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGKILL)
		_ = command.Wait()
		if t.Failed() {
			raw, err := os.ReadFile(path)
			assert.NoError(t, err)
			t.Logf("the end of %s:\n%s", name, raw[max(0, len(raw)-4<<10):])
		}
	})
}

// cgroupControllers returns the directories of version 1's controllers, or the one directory of version 2.
func cgroupControllers(t *testing.T) []string {
	t.Helper()
	controllers, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	require.NoError(t, err)
	var dirs []string
	for _, path := range controllers {
		if dir := filepath.Dir(path); filepath.Base(dir) != "unified" {
			dirs = append(dirs, dir)
		}
	}
	require.NotEmpty(t, dirs, "cgroups of version 1")
	return dirs
}

// makeCgroup makes the cgroup that holds all pods of a node.
func (n *node) makeCgroup(t *testing.T) {
	t.Helper()
	for _, dir := range cgroupControllers(t) {
		require.NoError(t, os.Mkdir(dir+"/"+n.namespace, 0o755))
		if filepath.Base(dir) == "cpuset" {
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				raw, err := os.ReadFile(filepath.Join(dir, file))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(dir, n.namespace, file), raw, 0o644))
			}
		}
	}
	t.Cleanup(func() { n.removeCgroup(t) })
}

// removeCgroup kills what runs in the node's pods and removes the cgroups, the innermost first.
func (n *node) removeCgroup(t *testing.T) {
	controllers := append(cgroupControllers(t), "/sys/fs/cgroup/unified") // runc makes cgroups there, too
	for _, controller := range controllers {
		var dirs []string
		_ = filepath.WalkDir(filepath.Join(controller, n.namespace), func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for i := len(dirs) - 1; i >= 0; i-- {
			for deadline := 100; deadline > 0 && syscall.Rmdir(dirs[i]) != nil; deadline-- {
				killAll(dirs[i])
			}
		}
	}
}

func killAll(cgroup string) {
	raw, _ := os.ReadFile(cgroup + "/cgroup.procs")
	for field := range strings.FieldsSeq(string(raw)) {
		if id, err := strconv.Atoi(field); err == nil && id > 1 {
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
	}
	_ = exec.Command("sleep", "0.05").Run()
}

// removeShims ends the processes of containerd that outlive it: each has the address of its socket among its arguments.
func (n *node) removeShims() {
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range processes {
		raw, _ := os.ReadFile(path)
		if id, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && strings.Contains(string(raw), n.socket()) {
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
	}
}

// removeLogLinks removes what a kubelet leaves outside of its directory: links to logs.
func removeLogLinks(dir string) {
	links, _ := filepath.Glob("/var/log/containers/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, dir) {
			_ = os.Remove(link)
		}
	}
}

// unmountBelow unmounts what containerd and kubelets have mounted in a directory.
func unmountBelow(t *testing.T, dir string) {
	mounts, err := os.ReadFile("/proc/mounts")
	assert.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(mounts)), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if at := strings.Fields(lines[i])[1]; strings.HasPrefix(at, dir) {
			assert.NoError(t, syscall.Unmount(at, syscall.MNT_DETACH), at)
		}
	}
}
