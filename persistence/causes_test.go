package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence"
)

// Open dead letters are grouped by why they failed, and a filter selects what a cause has counted.
func TestDeadLettersAreGroupedByCause(t *testing.T) {
	t.Parallel()
	db := open(t)
	ofRule := func(rule string) func(*event.DeadLetter) {
		return func(d *event.DeadLetter) {
			d.Failure.Class, d.Failure.Code, d.Failure.Message = event.ClassFailed, "jq_failed", "jq_failed: evaluate "+rule
		}
	}
	malformed := db.shared().Bury(3)
	resolved, running, spent := malformed[0], malformed[1], malformed[2]
	db.exec(`UPDATE dead_letters SET state = 'resolved', resolved_at = now(), resolved_run_id = '' WHERE event_id = $1`, resolved.ID)
	db.exec(`UPDATE dead_letters SET state = 'replaying', replaying_since = now() WHERE event_id = $1`, running.ID)
	db.exec(`UPDATE dead_letters SET state = 'exhausted' WHERE event_id = $1`, spent.ID)
	db.shared().Bury(3, ofRule("entities[0].id"))
	other := db.shared().Bury(1, ofRule("type"))[0]
	db.shared().Bury(1, func(d *event.DeadLetter) { d.Receipt.Provider = "bolt" })

	causes, err := db.DeadLetters.Causes(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, causes, 4)
	require.Equal(t, operation.Cause{
		Provider: "acme", Step: event.StepParse, Class: event.ClassFailed, Code: "jq_failed", Rule: "entities[0].id",
		Open: 3, Oldest: noon, Newest: noon.Add(2 * time.Minute), Example: causes[0].Example,
	}, causes[0], "the one with the most comes first")
	require.Equal(t, operation.Cause{
		Provider: "acme", Step: event.StepParse, Class: event.ClassRejected, Code: "malformed_json",
		Exhausted: 1, Replaying: 1, Oldest: noon.Add(time.Minute), Newest: noon.Add(2 * time.Minute), Example: causes[1].Example,
	}, causes[1])
	for _, c := range causes {
		example, err := db.DeadLetters.DeadLetter(t.Context(), c.Example)
		require.NoError(t, err)
		require.Equal(t, c.Rule, example.Failure.Rule())
		plan, err := db.Replays.Plan(t.Context(), c.Filter())
		require.NoError(t, err)
		require.Equal(t, c.Waiting(), plan.Count, "%+v", c)
		page, err := db.DeadLetters.DeadLetters(t.Context(), event.DeadLetterQuery{
			Provider: c.Provider, Step: c.Step, Class: c.Class, Code: c.Code, Rule: c.Rule, State: event.DeadLetterOpen,
		})
		require.NoError(t, err)
		require.Len(t, page, int(c.Open))
	}
	one, err := db.DeadLetters.Causes(t.Context(), "bolt")
	require.NoError(t, err)
	require.Len(t, one, 1)

	exhausted, err := db.Replays.Plan(t.Context(), operation.ReplayFilter{State: event.DeadLetterExhausted})
	require.NoError(t, err)
	require.EqualValues(t, 1, exhausted.Count)

	db.record(died(other, noon.Add(time.Hour))) // it fails for another reason
	causes, err = db.DeadLetters.Causes(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, causes, 2)
	require.EqualValues(t, 1, causes[1].Open)
	require.Empty(t, causes[1].Rule)
}

// An edited event has the cause of its original.
func TestAnEditKeepsTheCause(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := db.shared().Bury(1, func(d *event.DeadLetter) {
		d.Failure.Class, d.Failure.Code, d.Failure.Message = event.ClassFailed, "jq_null", "jq_null: evaluate key"
	})[0]
	edit := operation.Edit{DeadLetter: db.deadLetterOf(r).ID, EventID: receipt().ID, Body: body}
	_, err := db.DeadLetters.EditDeadLetter(t.Context(), edit, ada)
	require.NoError(t, err)
	causes, err := db.DeadLetters.Causes(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, causes, 1)
	require.Equal(t, "key", causes[0].Rule)
}

// However many dead letters are open, their causes and the plan of a replay are counted from an index, which contains no bodies.
func TestCausesReadNoRows(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := openFilled(t, func(c *persistence.Config) { c.Tracer = seen })
	db.exec(`UPDATE dead_letters SET state = 'open', raw_body = decode(repeat('ab', 500), 'hex') WHERE id % 3 <> 0`)
	db.exec(`VACUUM ANALYZE dead_letters`)
	require.NoError(t, db.Ping(t.Context()))
	for name, run := range map[string]func() error{
		"all causes":               func() error { return second(db.DeadLetters.Causes(t.Context(), "")) },
		"the causes of a provider": func() error { return second(db.DeadLetters.Causes(t.Context(), "p7")) },
		"the plan of a cause": func() error {
			return second(db.Replays.Plan(t.Context(), operation.ReplayFilter{
				Provider: "p7", Step: event.StepParse, Class: event.ClassFailed, Code: "c7", State: event.DeadLetterOpen,
			}))
		},
	} {
		seen.forget()
		require.NoError(t, run())
		plan := seen.plan(t, db)
		require.Contains(t, plan, "Index Only Scan using dead_letters_by_cause_of_each", name+"\n"+plan)
		require.NotContains(t, plan, "Seq Scan on dead_letters", name+"\n"+plan)
	}
}
