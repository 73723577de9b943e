package persistence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence"
)

// Undoing an event folds its entities like a writer: by index, with cached plans.
func TestUndosAreListedInThePlan(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*database, event.Receipt) error{
		"discard": func(d *database, r event.Receipt) error {
			return d.DeadLetters.DiscardDeadLetter(d.t.Context(), d.deadLetterOf(r).ID, ada)
		},
		"edit": func(d *database, r event.Receipt) error {
			return second(d.DeadLetters.EditDeadLetter(d.t.Context(), operation.Edit{DeadLetter: d.deadLetterOf(r).ID, EventID: receipt().ID, Body: body}, ada))
		},
		"expunge": func(d *database, r event.Receipt) error { return second(d.Upkeep.Expunge(d.t.Context(), r.ID, 0, ada)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := &statements{}
			db := open(t, func(c *persistence.Config) { c.Tracer = seen })
			r := receipt()
			db.process(r, parsed(snapshot("1", `{"n":1}`)))
			db.record(died(r, time.Now().Add(time.Second)))
			seen.forget()
			require.NoError(t, take(db, r))
			isPlanned, took := false, false
			for _, sent := range seen.sent {
				switch {
				case sent.sql == "begin":
					isPlanned = false
				case strings.Contains(sent.sql, "force_generic_plan"):
					isPlanned = true
				case strings.Contains(sent.sql, "DELETE FROM event_entities"):
					took = true
					require.True(t, isPlanned)
				}
			}
			require.True(t, took)
		})
	}
}
