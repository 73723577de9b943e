package compose

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// run runs a program that must succeed.
func run(t *testing.T, program string, args ...string) {
	t.Helper()
	must(t, exec.Command(program, args...))
}

// must runs a command that must succeed.
func must(t *testing.T, command *exec.Cmd) {
	t.Helper()
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s\n%s", strings.Join(command.Args, " "), out)
}

// stdout runs a command that must succeed and returns what it printed.
func stdout(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	require.NoError(t, err, "%s\n%s%s", strings.Join(command.Args, " "), out, errs.Bytes())
	return strings.TrimSpace(string(out))
}

// await polls until done returns true.
func await(t *testing.T, limit time.Duration, what string, done func() bool) {
	t.Helper()
	ticker, deadline := time.NewTicker(200*time.Millisecond), time.After(limit)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-deadline:
			require.Fail(t, "waited "+limit.String()+" for "+what)
		}
	}
}
