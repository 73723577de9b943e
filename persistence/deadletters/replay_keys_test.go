package deadletters_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/persistencetest"
)

// planKeys plans a replay whose corrected definition, "new", finds the key in the body, and splits a body with a comma.
func planKeys(d *persistencetest.Database, f operation.ReplayFilter, first int) (plan operation.ReplayPlan, parsedBodies int) {
	d.T.Helper()
	parse := func(r event.Receipt, body []byte) (event.Parsed, error) {
		parsedBodies++
		p, text := parsed(), string(body)
		switch {
		case text == "bad":
			return event.Parsed{}, event.Rejectf("malformed_json", "bad")
		case strings.Contains(text, ","):
			p.Splits = 2
		default:
			p.Identity = &event.Identity{Key: text, KeyFrom: event.KeyFromEvent, DedupeWindow: r.DedupeWindow}
		}
		return p, nil
	}
	plan, err := d.Replays.Plan(d.T.Context(), f)
	require.NoError(d.T, err)
	require.NoError(d.T, d.Replays.PlanKeys(d.T.Context(), f, first, parse, map[string]string{"acme": "new"}, &plan))
	return plan, parsedBodies
}

// The plan of a replay says what a corrected definition changes:
//   - how many keys change, and how many of these another event has: a stored one, or another one of the plan
//   - how many events are split
//   - bodies of events that the current definition has identified aren't read, and what can't be parsed stays as it is
func TestAPlanCountsCorrectedKeys(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	owner := receipt()
	owner.Key, owner.Fingerprint, owner.Certain = "evt_2", "sha256:x", true
	d.Process(owner, parsed())
	for _, body := range []string{"evt_1", "evt_2", "evt_3", "evt_3", "a,b", "bad"} {
		d.Bury(1, func(l *event.DeadLetter) { l.Body, l.Receipt.Definition = []byte(body), "old" })
	}
	d.Bury(1, func(l *event.DeadLetter) { l.Body, l.Receipt.Definition = []byte("evt_4"), "new" })
	d.Bury(1, func(l *event.DeadLetter) {
		l.Body, l.Receipt.Definition, l.Receipt.Key = []byte("evt_5"), "old", "evt_5"
	})
	d.Bury(1, func(l *event.DeadLetter) {
		l.Body, l.Receipt.Definition, l.Receipt.Replaces = []byte("c,d"), "new", receipt().ID
	})
	plan, parsedBodies := planKeys(d, operation.ReplayFilter{Provider: "acme"}, 0)
	require.EqualValues(t, 9, plan.Count)
	require.Equal(t, 8, parsedBodies)
	require.EqualValues(t, 4, plan.CorrectedKeys)
	require.EqualValues(t, 2, plan.SharedKeys)
	require.False(t, plan.AtLeast)
	quick, parsedBodies := planKeys(d, operation.ReplayFilter{Provider: "acme"}, 2)
	require.EqualValues(t, 9, quick.Count)
	require.Equal(t, 2, parsedBodies)
	require.True(t, quick.AtLeast)
	quick, _ = planKeys(d, operation.ReplayFilter{Provider: "acme"}, 9)
	require.Equal(t, plan, quick)
	require.EqualValues(t, 2, plan.Splits)
	require.False(t, plan.AtLeast)

	plan, parsedBodies = planKeys(d, operation.ReplayFilter{Provider: "other"}, 0)
	require.Zero(t, plan.CorrectedKeys+plan.SharedKeys+plan.Splits)
	require.Zero(t, parsedBodies)
}

// A plan reads bodies in pages of 16 MiB, and no more than 64 MiB of them: then it says "at least".
func TestAPlanReadsALimitedNumberOfBytes(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	d.Bury(9, func(l *event.DeadLetter) { l.Receipt.Definition = "old" })
	d.Exec(`UPDATE dead_letters SET raw_body = convert_to('evt_' || repeat('x', 9 * 1024 * 1024) || id, 'UTF8')`)
	plan, parsedBodies := planKeys(d, operation.ReplayFilter{}, 0)
	require.True(t, plan.AtLeast)
	require.EqualValues(t, 9, plan.Count)
	require.Less(t, parsedBodies, 9)
	require.EqualValues(t, parsedBodies, plan.CorrectedKeys)
}

// Of more than 10,000 dead letters, a plan parses those first.
func TestAPlanParsesALimitedNumberOfEvents(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	r := d.Bury(1, func(l *event.DeadLetter) { l.Body, l.Receipt.Definition = []byte("evt_1"), "old" })[0]
	d.Exec(`INSERT INTO dead_letters (event_id, provider, key, type, receipt, raw_body, step, error_class, error_code, error_message,
	               attempts, first_failed_at, last_failed_at, workflow_id, run_id, source, rule)
	        SELECT gen_random_uuid(), provider, key, type, jsonb_build_object('definition', 'new'), raw_body, step, error_class,
	               error_code, error_message, attempts, first_failed_at, last_failed_at, workflow_id, run_id, source, rule
	          FROM dead_letters, generate_series(1, 10000) WHERE event_id = $1`, r.ID)
	plan, parsedBodies := planKeys(d, operation.ReplayFilter{}, 0)
	require.EqualValues(t, 10_001, plan.Count)
	require.Equal(t, 1, parsedBodies)
	require.EqualValues(t, 1, plan.CorrectedKeys)
	require.True(t, plan.AtLeast)
}
