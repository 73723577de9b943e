package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// goLibraries is the module with the libraries for Go, goProgram what it is built into.
const (
	goLibraries = "../../tools/clients"
	goProgram   = "../../bin/provider-clients"
)

var startedGo = sync.OnceValues(func() (*node, error) {
	program, err := filepath.Abs(goProgram)
	if err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-C", goLibraries, "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the libraries for Go: %w: %s", err, said)
	}
	return start(exec.Command(program))
})

// librariesForGo is nil where their modules can't be fetched, unless NO_SKIP is set.
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

// everyLibrary has those for Node.js and those for Go.
func everyLibrary(t *testing.T) []library {
	t.Helper()
	return slices.Concat(libraries(t).library, librariesForGo(t))
}

// stripeDocument is the file with Stripe's OpenAPI document, which a Go module has; "" if that can't be fetched.
func stripeDocument() string {
	dir, err := exec.Command("go", "list", "-C", goLibraries, "-m", "-f", "{{.Dir}}", "github.com/stripe/stripe-mock").Output()
	if err != nil || strings.TrimSpace(string(dir)) == "" {
		return ""
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "embedded", "openapi", "spec3.beta.sdk.json")
}
