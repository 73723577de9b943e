package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// recorded keeps the lines of runs that have ended well.
type recorded struct {
	silent

	lines []string
}

func (r *recorded) Info(line string, fields ...any) {
	if line == "event.processed" {
		r.lines = append(r.lines, fmt.Sprintln(fields...))
	}
}

// The line of a run that did nothing says what stood against it: the event that has the key, or who has decided, when and why.
func TestTheLineOfARunSaysWhyItDidNothing(t *testing.T) {
	lines := &recorded{}
	process(t, &scriptedStore{persisted: event.Persisted{Duplicate: true, Owner: "the-first"}, logger: lines}, customerUpdated,
		outcome{result: event.OutcomeDuplicate, persists: 1})
	process(t, &scriptedStore{logger: lines, persist: []error{&event.DecisionError{Decision: event.Decision{
		Outcome: event.OutcomeReplaced, By: "cli:ada", At: time.Unix(0, 0).UTC(), Reason: "a typo", ReplacedBy: "the-edit",
	}}}}, customerUpdated, outcome{result: event.OutcomeReplaced, persists: 1})
	require.Len(t, lines.lines, 2)
	require.Contains(t, lines.lines[0], "owner_id the-first")
	require.NotContains(t, lines.lines[0], "decided")
	require.Contains(t, lines.lines[1],
		"decided_by cli:ada decided_at 1970-01-01 00:00:00 +0000 UTC decided_because a typo replaced_by the-edit")
}
