package load

import (
	"bytes"
	"strings"
	"testing"

	"holdfast/internal/cli"
)

const secretOfTests = "whsec_aG9sZGZhc3QgdGVzdCBzZWNyZXQgMDEyMzQ1Njc4OQ=="

// run runs a command of this package and returns its standard output.
func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := cli.NewRoot(SendCommand())
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}
