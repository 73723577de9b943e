package soak

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/program"
	"holdfast/internal/devstack/stacktest"
)

// plantedBugs are bugs that earlier tests might miss, each as edits of the sources.
var plantedBugs = []struct {
	name  string
	edits []program.Edit
}{
	{"acknowledged before the commit", []program.Edit{{
		File: "ingress/intake/commit.go",
		Old:  "			c.endStore(c.spool(c.ctx, c.Received, c.start.reason()))\n",
		New: `			e, why := c.Received, c.start.reason()
			time.AfterFunc(time.Second, func() { _, _ = c.spool(context.Background(), e, why) })
			c.endStore(runs.Started{WorkflowID: e.WorkflowID(), EventID: e.ID, State: StateSpooled}, nil)
`,
	}}},
	{"a key accepted twice", []program.Edit{{
		File: "workflows/runs/start.go",
		Old:  "	reuse := enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE\n",
		New:  "	reuse := enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE\n",
	}}},
	{"a discard forgotten when the event runs again", []program.Edit{{
		File: "persistence/writer/write.go",
		Old:  "	w.Written = event.Written{}\n	conflict :=",
		New: `	w.Written = event.Written{}
	if w.current.decision != nil && w.current.decision.Outcome == event.OutcomeDiscarded {
		w.current.decision = nil
	}
	conflict :=`,
	}}},
	{"a new webhook-id for each attempt", []program.Edit{{
		File: "delivery/webhook/request.go",
		Old:  "signingSecrets(t), j.ID(), s.now())",
		New:  "signingSecrets(t), j.ID()+delivery.IDOf(\"\", j.Attempts), s.now())",
	}}},
	{"an event of a batch dropped", []program.Edit{{
		File: "persistence/writer/group.go",
		Old:  "	return g.store.writeTogether(ctx, ws, groupTimeouts, g.store.foldFor)\n",
		New: `	if len(ws) > 2 {
		ws[0].Written = event.Written{Outcome: event.OutcomeProcessed}
		ws = ws[1:]
	}
	return g.store.writeTogether(ctx, ws, groupTimeouts, g.store.foldFor)
`,
	}}},
	{"an event's effect reported again when it runs again", []program.Edit{{
		File: "persistence/writer/changes.go",
		Old:  "w.imported != \"\" || w.current.status == event.StatusProcessed:",
		New:  "w.imported != \"\":",
	}}},
}

// The edits apply to the current sources, and the results compile.
func TestPlantedBugsCompile(t *testing.T) {
	stacktest.SkipIfShort(t)
	root, err := stacktest.RepositoryRoot()
	require.NoError(t, err)
	var all []program.Edit
	for _, b := range plantedBugs {
		all = append(all, b.edits...)
	}
	require.NoError(t, program.Compile(t.Context(), root, t.TempDir(), all...))
}

// maxRounds is how many rounds a bug may stay unnoticed.
const maxRounds = 10

// Each planted bug is found within some rounds.
func TestPlantedBugsAreFound(t *testing.T) {
	if !*bugs {
		t.Skip("run make soak-bugs: it takes an hour")
	}
	for _, b := range plantedBugs {
		t.Run(b.name, func(t *testing.T) {
			w := newWorld(t, build(t, b.edits...))
			for n := 1; n <= maxRounds; n++ {
				r := w.play(fmt.Sprintf("round%d", n), longLoad, longPeace, *seed+uint64(n))
				t.Log(r)
				if len(r.violations) > 0 {
					t.Logf("found in round %d, seed %d:\n%s", n, *seed, r.violations[0])
					return
				}
			}
			t.Errorf("not found in %d rounds", maxRounds)
		})
	}
}
