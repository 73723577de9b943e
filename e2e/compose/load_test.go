package compose

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/ledger"
	"holdfast/internal/loadgen"
)

// rate is low enough that two cores, which also run everything else, process it.
const rate = "20/s"

// load sends events and records them in a ledger.
type load struct {
	project *project
	name    string
	command *exec.Cmd
	out     bytes.Buffer
}

// outcome is what became of a load.
type outcome struct {
	name   string
	sent   loadgen.Result
	report ledger.Report
	note   string
}

func (p *project) startLoad(t *testing.T, name string, duration time.Duration) *load {
	t.Helper()
	l := &load{project: p, name: name}
	l.command = p.engine.inside(p.program, "bench", "stripe", "--url", "http://127.0.0.1:8080", "--rate", rate,
		"--duration", duration.String(), "--duplicates", "20%", "--bad-signatures", "5%", "--timeout", "10s", "--secret", secret,
		"--ledger", l.ledger(), "--json")
	l.command.Stdout = &l.out
	require.NoError(t, l.command.Start())
	t.Cleanup(func() { _ = l.command.Process.Kill() })
	await(t, 30*time.Second, "the load to begin", func() bool {
		info, err := os.Stat(l.ledger())
		return err == nil && info.Size() > 4096
	})
	return l
}

func (l *load) ledger() string {
	return filepath.Join(l.project.ledgers, strings.ReplaceAll(l.name, " ", "-"))
}

// finish waits until the load ends, and compares what is stored with what was sent. Holdfast checks itself from inside of the
// network, as an operator would do it.
func (l *load) finish(t *testing.T) outcome {
	t.Helper()
	p, o := l.project, outcome{name: l.name}
	require.NoError(t, l.command.Wait(), l.out.String())
	var sent struct{ Load loadgen.Result }
	require.NoError(t, json.Unmarshal(l.out.Bytes(), &sent))
	o.sent = sent.Load
	require.NoError(t, os.Chmod(l.ledger(), 0o644))
	raw := stdout(t, p.compose("run", "--rm", "--no-deps", "--no-TTY", "--volume", p.ledgers+":/ledgers:ro", "worker",
		"verify-ledger", "/ledgers/"+filepath.Base(l.ledger()), "--settle", "2m", "--json"))
	require.NoError(t, json.Unmarshal([]byte(raw), &o.report), raw)
	require.True(t, o.report.Holds(), raw)
	require.Positive(t, o.report.Acknowledged)
	require.GreaterOrEqual(t, o.report.Processed, o.report.Acknowledged)
	require.Zero(t, o.report.Dead)
	return o
}
