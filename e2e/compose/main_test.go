package compose

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
	"holdfast/internal/devstack/stacktest"
)

var (
	enabled = flag.Bool("compose", false, "run the test; without this flag it's skipped")
	page    = flag.String("report", "", "write the report to this file, as Markdown")
)

// needed are the programs that the test can't build.
var needed = []string{"dockerd", "containerd", "runc", "docker", "debootstrap", "iptables", "ip", "nsenter", "git",
	"prometheus", "busybox"}

// skipWithoutEngine says why no engine can start on this machine.
func skipWithoutEngine(t *testing.T) {
	t.Helper()
	if !*enabled {
		t.Skip("not run without -compose: use make compose-test")
	}
	if os.Geteuid() != 0 {
		t.Skip("starting a Docker engine needs root")
	}
	for _, program := range needed {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing: apt-get install --no-install-recommends docker.io debootstrap iptables iproute2 prometheus busybox", program)
		}
	}
}

// The steps share one project, and each leaves it running for the next.
func TestTheComposeFileRuns(t *testing.T) {
	skipWithoutEngine(t)
	root, err := stacktest.RepositoryRoot()
	require.NoError(t, err)
	r := &report{started: time.Now()}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	e := startEngine(t, filepath.Join(cache, "holdfast", "compose-engine"))
	r.engine = e.describe(t)
	p := newProject(t, root, e)
	images := &builder{root: root, project: p}
	r.images, r.previous = images.standIns(t), faulttest.PreviousRelease(t, root)[:12]
	r.commit = faulttest.Commit(t, root)
	if *page != "" {
		defer func() { require.NoError(t, os.WriteFile(*page, []byte(r.markdown()), 0o644)) }()
	}
	r.steps.Run(t, "images", func(t *testing.T) {
		images.buildStandIns(t)
		images.buildHoldfast(t)
	})
	if t.Failed() {
		return
	}
	p.environ["HOLDFAST_OPERATOR_TOKENS"] = p.newToken(t)
	for _, s := range []struct {
		name string
		run  func(*testing.T, *project, *report)
	}{
		{"start", start},
		{"upgrade", upgrade},
		{"hardening", checkHardening},
		{"health checks", checkHealthChecks},
		{"prometheus", watch},
		{"kill each container", killEach},
		{"restart engine", restartEngine},
		{"kill engine", killEngine},
		{"stop", stopWithinGrace},
		{"release image", loadRelease},
	} {
		r.steps.Run(t, s.name, func(t *testing.T) { s.run(t, p, r) })
	}
}
