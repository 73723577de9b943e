package compose

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/devstack/faulttest"
)

func (p *project) startLoad(t *testing.T, name string, duration time.Duration) *faulttest.Load {
	t.Helper()
	ledger := filepath.Join(p.ledgers, strings.ReplaceAll(name, " ", "-"))
	return faulttest.Start(t, name, ledger,
		p.engine.inside(p.bench, faulttest.LoadArgs("http://127.0.0.1:8080", secret, ledger, duration)...))
}

// finish waits until the load ends, and compares what is stored with what was sent, from a container with a worker's settings.
func (p *project) finish(t *testing.T, l *faulttest.Load) faulttest.Outcome {
	t.Helper()
	return l.Finish(t, func() string {
		return faulttest.Stdout(t, p.compose("run", "--rm", "--no-deps", "--no-TTY", "--volume", p.ledgers+":/ledgers:ro",
			"--volume", p.bench+":/holdfast-bench:ro", "--entrypoint", "/holdfast-bench", "worker", "verify-ledger",
			"/ledgers/"+filepath.Base(l.Ledger), "--settle", "2m", "--json"))
	})
}
