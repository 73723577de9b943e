package clients

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// goLibraries is the module with the libraries for Go; goProgram is its program.
const (
	goLibraries = "../../tools/clients"
	goProgram   = "../../bin/provider-clients"
)

// maxWait is the max time to build a program, to generate the events of a document, or for an answer of a library.
const maxWait = 5 * time.Minute

var startedGo = sync.OnceValues(func() (*node, error) {
	program, err := filepath.Abs(goProgram)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-C", goLibraries, "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the libraries for Go: %w: %s", err, said)
	}
	return start(exec.Command(program))
})

// librariesForGo returns the libraries for Go. If their modules can't be fetched, it returns nil, or fails the test if NO_SKIP is
// set.
func librariesForGo(t *testing.T) []library {
	t.Helper()
	n, err := startedGo()
	if err != nil && os.Getenv("NO_SKIP") == "" {
		t.Log("the libraries for Go aren't run: ", err)
		return nil
	}
	require.NoError(t, err)
	return n.library
}

// everyLibrary returns the libraries for Node.js and those for Go.
func everyLibrary(t *testing.T) []library {
	t.Helper()
	return slices.Concat(libraries(t).library, librariesForGo(t))
}

// stripeDocument returns the path of Stripe's OpenAPI document, which is in a Go module; "" if that can't be fetched.
func stripeDocument(ctx context.Context) string {
	list := exec.CommandContext(ctx, "go", "list", "-C", goLibraries, "-m", "-f", "{{.Dir}}", "github.com/stripe/stripe-mock")
	dir, err := list.Output()
	if err != nil || strings.TrimSpace(string(dir)) == "" {
		return ""
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "embedded", "openapi", "spec3.beta.sdk.json")
}
