package versions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chosen are the tests of e2e that use most of what the servers offer, with what each one shows.
var chosen = []struct{ name, shows string }{
	{"TestAnEventIsProcessed", "`migrate` makes new tables, and an event is processed"},
	{"TestAWorkerIsKilledBetweenPersistAndUpsert", "a worker dies of `kill -9`, another one completes its event"},
	{"TestPoisonIsReplayed", "a dead letter is replayed"},
	{"TestATerminatedRunAppearsAfterTheSweep", "the sweep finds a terminated run by Temporal's search"},
	{"TestBulkLane", "events of the bulk lane are processed in batches"},
	{"TestDeliveriesAreOperated", "deliveries are sent, retried and stopped"},
	{"TestThePreviousReleaseIsUpgraded", "tables of the previous release are upgraded, a dead letter is replayed, `doctor` passes"},
	{"TestThePreviousReleaseWorksBesideTheNewSchema", "processes of both releases work on the new tables"},
	{"TestTheDoctorFindsFaults", "`doctor` passes, and finds faults"},
	{"TestAChangedWorkflowRollsOutUnderLoad", "worker versioning: canary, rollout, rollback"},
}

// line is one of go test -json.
type line struct {
	Action, Test, Output string
	Elapsed              float64
}

// result is the outcome of the tests on a pair.
type result struct {
	actions map[string]string // pass, fail or skip, by test
	took    time.Duration
}

// runTests runs the chosen tests and checks that the doctor has seen these servers.
func runTests(t *testing.T, root string, i installed, p pair) result {
	t.Helper()
	names := make([]string, 0, len(chosen))
	for _, c := range chosen {
		names = append(names, c.name)
	}
	command := exec.Command("go", "test", "./e2e", "-count=1", "-json", "-timeout=30m", "-run", "^("+strings.Join(names, "|")+")$")
	command.Dir = root
	command.Env = append(os.Environ(), "HOLDFAST_TEMPORAL_SERVER="+i.temporal,
		"PATH="+i.postgres+string(filepath.ListSeparator)+os.Getenv("PATH"))
	began := time.Now()
	raw, err := command.Output()
	r := result{actions: map[string]string{}, took: time.Since(began)}
	var output strings.Builder
	for text := range bytes.Lines(raw) {
		var l line
		require.NoError(t, json.Unmarshal(text, &l), string(text))
		output.WriteString(l.Output)
		if l.Test != "" && (l.Action == "pass" || l.Action == "fail" || l.Action == "skip") {
			r.actions[l.Test] = l.Action
		}
	}
	if err != nil {
		t.Log(output.String())
	}
	require.Contains(t, output.String(), fmt.Sprintf("database: PostgreSQL %s,", p.server()), "the doctor's finding")
	require.Contains(t, output.String(), fmt.Sprintf("Temporal: server %s,", p.temporal), "the doctor's finding")
	for _, name := range names {
		assert.Equal(t, "pass", r.actions[name], name)
	}
	return r
}
