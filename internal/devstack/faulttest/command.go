package faulttest

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Run runs a program that must succeed.
func Run(t *testing.T, program string, args ...string) {
	t.Helper()
	Must(t, exec.Command(program, args...))
}

// Must runs a command that must succeed.
func Must(t *testing.T, command *exec.Cmd) {
	t.Helper()
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s\n%s", strings.Join(command.Args, " "), out)
}

// Stdout runs a command that must succeed and returns what it printed.
func Stdout(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	require.NoError(t, err, "%s\n%s%s", strings.Join(command.Args, " "), out, errs.Bytes())
	return strings.TrimSpace(string(out))
}

// Await polls until done returns true.
func Await(t *testing.T, limit time.Duration, what string, done func() bool) {
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

// Pause waits while a load runs.
func Pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
