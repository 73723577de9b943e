package cluster

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
	"holdfast/internal/devstack/stacktest"
)

var (
	enabled  = flag.Bool("cluster", false, "run the test; without this flag it's skipped")
	page     = flag.String("report", "", "write the report to this file, as Markdown")
	selected = flag.String("scenario", "", "run only the faults that match this regular expression")
)

// needed are the programs that the test can't build.
var needed = []string{"etcd", "containerd", "ctr", "runc", "/usr/lib/cni/ptp", "conntrack", "iptables", "debootstrap",
	"openssl", "dnsmasq", "ip", "nsenter", "git"}

// skipWithoutCluster says why no cluster can start on this machine.
func skipWithoutCluster(t *testing.T) {
	t.Helper()
	if !*enabled {
		t.Skip("not run without -cluster: use make cluster-test")
	}
	if os.Geteuid() != 0 {
		t.Skip("starting a cluster needs root")
	}
	for _, program := range needed {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing: apt-get install --no-install-recommends etcd-server containerd runc "+
				"containernetworking-plugins conntrack iptables iproute2 dnsmasq-base debootstrap openssl", program)
		}
	}
}

// The steps share one cluster, and each leaves it running for the next.
func TestTheChartRuns(t *testing.T) {
	skipWithoutCluster(t)
	root, err := stacktest.RepositoryRoot()
	require.NoError(t, err)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	cache = filepath.Join(cache, "holdfast", "cluster")
	r := &report{started: time.Now(), commit: faulttest.Commit(t, root), previous: faulttest.PreviousRelease(t, root)[:12]}
	if *page != "" {
		defer func() { require.NoError(t, os.WriteFile(*page, []byte(r.markdown()), 0o644)) }()
	}
	r.steps.Run(t, "images", func(t *testing.T) { buildImages(t, root, cache) })
	if t.Failed() {
		return
	}
	c := startCluster(t, root, cache)
	c.report, r.node = r, c.describe(t)
	type step struct {
		name string
		run  func(*testing.T, *cluster)
	}
	for _, s := range []step{
		{"PostgreSQL and Temporal", startStores}, {"secrets", createSecrets}, {"default values", installDefaults},
		{"previous release", installPrevious},
	} {
		r.steps.Run(t, s.name, func(t *testing.T) { s.run(t, c) })
		if t.Failed() {
			return
		}
	}
	wanted := regexp.MustCompile(*selected)
	for _, s := range []step{
		{"restricted admission", checkAdmission}, {"failing migration", failMigration}, {"rolling upgrade", upgradeAfterFailure},
		{"rollback", rollBack}, {"worker that is never ready", failWorkers}, {"scaling 2 → 5 → 2", scale}, {"node drain", drain},
		{"kill each pod", killEach}, {"secret rotation", rotateSecret},
	} {
		if wanted.MatchString(s.name) {
			r.steps.Run(t, s.name, func(t *testing.T) { s.run(t, c) })
		}
	}
}
