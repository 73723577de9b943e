package chaos

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"holdfast/internal/ledger"
)

// rewound counts the events that restores of both stores have left. The zero value means that there was no restore.
type rewound struct {
	at time.Time
	// kept are the workflow IDs of the events that either store has; ofDatabase those that Temporal lacks.
	kept, ofDatabase map[string]bool
}

// storedWorkflows are the workflow IDs of all events that the database has in any form.
const storedWorkflows = "SELECT workflow_id FROM events UNION SELECT workflow_id FROM dead_letters UNION SELECT workflow_id FROM inbox"

// rewind looks into both stores, which were restored, while no process runs. An acknowledgement of an event that neither has
// promises nothing any more.
func (w *world) rewind() {
	w.t.Helper()
	w.rewound = rewound{at: time.Now(), kept: map[string]bool{}, ofDatabase: map[string]bool{}}
	stored, err := w.workflowsOf(storedWorkflows)
	require.NoError(w.t, err)
	c := w.client()
	w.load.mu.Lock()
	defer w.load.mu.Unlock()
	var both, ofTemporal, lost int
	for _, m := range w.load.sent {
		id := m.workflowID()
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
		_, err := c.DescribeWorkflowExecution(ctx, id, "")
		cancel()
		var missing *serviceerror.NotFound
		hasRun := !errors.As(err, &missing)
		if hasRun {
			require.NoError(w.t, err)
		}
		switch {
		case stored[id] && hasRun:
			both++
		case stored[id]:
			w.rewound.ofDatabase[id] = true
		case hasRun:
			ofTemporal++
		case w.load.acked[id]:
			lost++
			delete(w.load.acked, id)
			continue
		default:
			continue
		}
		w.rewound.kept[id] = true
	}
	w.t.Logf("of %d events, both stores have %d, only PostgreSQL %d, only Temporal %d; %d acknowledged ones are in neither",
		len(w.load.sent), both, len(w.rewound.ofDatabase), ofTemporal, lost)
	require.Positive(w.t, len(w.rewound.ofDatabase)+ofTemporal, "both stores have the same events: the scenario shows nothing")
}

// undo removes the answers for events that neither store has kept.
func (r rewound) undo(l ledger.Ledger) ledger.Ledger {
	for i, e := range l.Entries {
		if e.At.Before(r.at) && !r.kept[e.WorkflowID()] && e.Outcome() == ledger.OutcomeOK {
			l.Entries[i].Status = ledger.NoAnswer
		}
	}
	return l
}

// requireKept asserts that every event that either store had is processed or a dead letter, and that one of them had every event
// acknowledged before the later of their moments.
func (w *world) requireKept(later time.Time) {
	w.t.Helper()
	ended, err := w.workflowsOf("SELECT workflow_id FROM events WHERE status = 'processed' UNION SELECT workflow_id FROM dead_letters")
	require.NoError(w.t, err)
	for id := range w.rewound.kept {
		require.True(w.t, ended[id], "%s was in a store and isn't processed", id)
	}
	l, err := ledger.ReadFile(w.load.path)
	require.NoError(w.t, err)
	for _, e := range l.Entries {
		if e.Outcome() == ledger.OutcomeOK && e.AnsweredAt().Before(later) {
			require.True(w.t, w.rewound.kept[e.WorkflowID()], "%s was acknowledged before %s", e.WorkflowID(), later)
		}
	}
}
