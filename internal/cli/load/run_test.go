package load

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"holdfast/internal/cli"
)

const secretOfTests = "whsec_aG9sZGZhc3QgdGVzdCBzZWNyZXQgMDEyMzQ1Njc4OQ=="

// run runs a command of this package and returns its standard output.
func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return runUntil(t.Context(), stdin, args...)
}

func runUntil(ctx context.Context, stdin string, args ...string) (string, error) {
	var out bytes.Buffer
	root := cli.NewRoot(SendCommand(), BenchCommand(), VerifyLedgerCommand())
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	err := root.ExecuteContext(ctx)
	return out.String(), err
}
