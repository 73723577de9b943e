package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/program"
)

// A Debian with neither Go nor PostgreSQL, and this machine's network: $1 is its root, $2 the folder that becomes its /mnt, and $3
// what becomes its /var/cache, since the root is kept for the next test, without what this one downloads.
const emptyScript = `
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs hidden "$1/usr/lib/postgresql"
mount --bind /etc/resolv.conf "$1/etc/resolv.conf"
mount --bind /etc/ssl/certs "$1/etc/ssl/certs"
mount --bind "$2" "$1/mnt"
mount --bind "$3" "$1/var/cache"
exec chroot "$1" /bin/sh -ec 'cd /mnt; exec ./holdfast dev'
`

// first is a `holdfast dev` on such a machine.
type first struct {
	t       *testing.T
	env     []string
	command *exec.Cmd
	started time.Time

	mu  sync.Mutex
	out bytes.Buffer
}

func (f *first) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.Write(p)
}

func (f *first) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.String()
}

// The archive for trying Holdfast is unpacked into an empty folder of a machine without Go and without PostgreSQL. `holdfast dev`
// downloads PostgreSQL, says so, and processes the event that its screen suggests. The second start downloads nothing.
func TestTheDevArchiveOnADebianWithoutPostgreSQL(t *testing.T) {
	skipWithoutMachine(t)
	dir, cache := t.TempDir(), t.TempDir()
	require.NoError(t, errors.Join(os.Chmod(dir, 0o755), os.Chmod(cache, 0o755)))
	archive := buildDevArchive(t)
	machineRoot := debianRoot(t, *machineDir)
	for _, download := range []bool{true, false} {
		f := &first{t: t, started: time.Now(), env: environmentForDev(t)}
		if download {
			out, err := exec.Command("tar", "-xzf", archive, "-C", dir).CombinedOutput()
			require.NoError(t, err, string(out))
		}
		f.start(machineRoot, dir, cache)
		f.await("Holdfast is running")
		require.Equal(t, download, strings.Contains(f.String(), "downloading PostgreSQL"), f)
		f.step("it says that it is running")
		f.sendAndShow()
		f.step("an event is processed")
		require.NoError(t, f.command.Process.Signal(os.Interrupt))
		require.NoError(t, f.command.Wait(), f)
		used := f.command.ProcessState.UserTime() + f.command.ProcessState.SystemTime() // with the servers, which have ended
		f.step("it has ended, after " + used.String() + " of CPU")
	}
}

func skipWithoutMachine(t *testing.T) {
	t.Helper()
	if *machineDir == "" {
		t.Skip("it needs a Debian: make archive-test")
	}
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("only root on Linux can run a program on another Debian")
	}
}

// buildDevArchive packs these sources' program with the checkout's temporal.
func buildDevArchive(t *testing.T) string {
	t.Helper()
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	s, dir := source{root: top, time: time.Unix(1e9, 0)}, t.TempDir()
	binary, archive := filepath.Join(dir, "holdfast"), filepath.Join(dir, "dev.tar.gz")
	require.NoError(t, program.Build(t.Context(), top, binary))
	share, err := s.manual(t.Context(), dir)
	require.NoError(t, err)
	server := temporal{filepath.Join(top, "bin", "temporal"), filepath.Join(top, "LICENSE")}
	require.NoError(t, s.devArchive(binary, share, server, archive))
	return archive
}

// environmentForDev is what a new user's shell has, and ports that are free, since the machine shares this one's network.
func environmentForDev(t *testing.T) []string {
	t.Helper()
	env := []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/mnt/home"}
	for _, setting := range []string{
		"HOLDFAST_INGRESS_ADDR=127.0.0.1:", "HOLDFAST_OPERATOR_ADDR=127.0.0.1:", "HOLDFAST_DEV_TEMPORAL_PORT=",
		"HOLDFAST_DEV_TEMPORAL_UI_PORT=",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close() // it holds the port until all are chosen
		_, port, err := net.SplitHostPort(listener.Addr().String())
		require.NoError(t, err)
		env = append(env, setting+port)
	}
	return env
}

func (f *first) start(machineRoot, dir, cache string) {
	f.t.Helper()
	f.command = exec.Command("unshare", "--mount", "sh", "-ec", emptyScript, "dev", machineRoot, dir, cache)
	f.command.Env, f.command.Stdout, f.command.Stderr = f.env, f, f
	f.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(f.t, f.command.Start())
	f.t.Cleanup(func() { _ = f.command.Process.Kill() })
}

func (f *first) await(text string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return strings.Contains(f.String(), text) }, 5*time.Minute, 20*time.Millisecond,
		"it doesn't say %q: %s", text, f)
}

func (f *first) step(name string) {
	f.t.Helper()
	f.t.Logf("%5.1fs %s", time.Since(f.started).Seconds(), name)
}

// run runs a command in a second terminal on the machine.
func (f *first) run(arguments ...string) (string, error) {
	enter := []string{"--target", strconv.Itoa(f.command.Process.Pid), "--mount", "--root", "--wd"}
	command := exec.Command("nsenter", append(enter, arguments...)...)
	command.Env = f.env
	out, err := command.CombinedOutput()
	return string(out), err
}

var (
	sendCommand = regexp.MustCompile(`(?m)^  (\S+) send stripe$`)
	showCommand = regexp.MustCompile(`(\S+) event show (\S+)`)
)

// sendAndShow runs what the screen suggests, and then what that command prints.
func (f *first) sendAndShow() {
	f.t.Helper()
	send := sendCommand.FindStringSubmatch(f.String())
	require.NotNil(f.t, send, f)
	out, err := f.run(send[1], "send", "stripe")
	require.NoError(f.t, err, out)
	show := showCommand.FindStringSubmatch(out)
	require.NotNil(f.t, show, out)
	require.Eventually(f.t, func() bool {
		out, err = f.run(show[1], "event", "show", show[2])
		return err == nil && strings.Contains(out, " after receipt)")
	}, time.Minute, 50*time.Millisecond, "it isn't processed")
}
