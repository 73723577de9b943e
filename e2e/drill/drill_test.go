// Package drill carries out the failover drill of docs/high-availability.md, command by command.
package drill

import (
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

var enabled = flag.Bool("drill", false, "run the drill; without this flag it's skipped")

// folder is the page's DRILL.
const folder = "/tmp/failover-drill"

// TestTheFailoverDrill runs the page's commands in one shell, in a network namespace of their own. `bench` and `verify-ledger` fail
// if an acknowledged event is lost or doubled.
func TestTheFailoverDrill(t *testing.T) {
	requirePrograms(t)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	shell := exec.Command("unshare", "--net", "bash", "-eux")
	shell.Dir = root
	shell.Stdin = strings.NewReader("ip link set lo up\n" + commands(t, filepath.Join(root, "docs", "high-availability.md")))
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output := &strings.Builder{}
	shell.Stdout = io.MultiWriter(os.Stdout, output)
	shell.Stderr = shell.Stdout
	t.Cleanup(func() {
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		_ = os.RemoveAll(folder)
	})
	require.NoError(t, shell.Run())
	require.Regexp(t, `(?m)^lost +0 +ok`, output.String())
}

func requirePrograms(t *testing.T) {
	if !*enabled {
		t.Skip("it needs root and Patroni: run `make drill`")
	}
	require.Zero(t, os.Geteuid(), "PostgreSQL's processes get an account of their own, which only root can do")
	require.NoDirExists(t, folder, "another drill is running, or has left it behind")
	for program, pkg := range map[string]string{
		"patroni": "patroni", "etcd": "etcd-server", "psql": "postgresql", "unshare": "util-linux", "ip": "iproute2",
	} {
		_, err := exec.LookPath(program)
		require.NoError(t, err, "apt-get install %s", pkg)
	}
}

// commands returns the blocks of the page's drill.
func commands(t *testing.T, page string) string {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, drill, found := strings.Cut(string(text), "\n## A failover drill\n")
	require.True(t, found)
	var blocks []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(drill, -1) {
		blocks = append(blocks, block[1])
	}
	require.Len(t, blocks, 7, "the drill's steps")
	return strings.Join(blocks, "")
}
