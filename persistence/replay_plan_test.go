package persistence_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
)

// A replay finds its next rows, and the schedule its due ones, without reading those in other states.
func TestReplaysUseTheirIndex(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := openFilled(t, func(c *persistence.Config) { c.Tracer = seen })
	db.exec(`UPDATE dead_letters SET next_replay_at = now() + id * interval '1 s' WHERE state = 'open' AND id % 10 <> 0`)
	db.exec(`UPDATE dead_letters SET auto_attempts = 3 WHERE id % 100 = 0`)
	db.exec(`VACUUM ANALYZE dead_letters`)
	db.exec(`SET enable_sort = off`)
	db.exec(`SET enable_bitmapscan = off`)
	db.exec(`SET enable_seqscan = off`) // replays has few rows
	db.shared().CreateReplay("one", operation.ReplayFilter{Provider: "p7"})
	_, err := db.Replays.ClaimPage(t.Context(), "one", 5, 100)
	require.NoError(t, err)
	_, _, err = db.DeadLetters.PlanAutomaticReplay(t.Context(), persistencetest.Automatic)
	require.NoError(t, err)
	_, err = db.DeadLetters.ClaimDue(t.Context(), "owner", persistencetest.Automatic, 5, 100)
	require.NoError(t, err)
	_, err = db.DeadLetters.Unstarted(t.Context(), "one", 5)
	require.NoError(t, err)
	for piece, index := range map[string]string{
		"id <= ":                         "dead_letters_waiting",
		"next_replay_at IS NULL":         "dead_letters_(due|waiting)",
		"next_replay_at <= ":             "dead_letters_due",
		"auto_attempts > 0":              "dead_letters_retried",
		"replaying_run_id IS NULL ORDER": "dead_letters_by_replay",
	} {
		plan := seen.planOf(t, db, "EXPLAIN (COSTS OFF) ", func(sql string) bool { return strings.Contains(sql, piece) })
		require.Regexp(t, index, plan, piece+"\n"+plan)
		require.NotContains(t, plan, "Seq Scan on dead_letters", plan)
	}
}

// The plan on a page reads the events, or the bodies of the dead letters, that it looks at, and no others: 100 of 20,000 here. It
// finds dead letters in an index, among those of the provider: their number is exact, so it reads these entries anyway.
func TestAQuickPlanReadsWhatItLooksAt(t *testing.T) {
	t.Parallel()
	const first, ofProvider = 100, 400
	seen := &statements{}
	db := openFilled(t, func(c *persistence.Config) { c.Tracer = seen })
	fillDeliveries(db)
	db.exec(`UPDATE dead_letters SET state = 'open', resolved_at = NULL, resolved_run_id = NULL WHERE state = 'resolved'`)
	db.exec(`VACUUM ANALYZE dead_letters, events`)
	db.subscribe("crm", delivery.Events{})
	readsFew := func(run func() error) {
		t.Helper()
		seen.forget()
		require.NoError(t, run())
		require.NotEmpty(t, seen.sent)
		for _, sent := range seen.sent {
			if !touchesTable.MatchString(sent.sql) {
				continue
			}
			plan := seen.planOf(t, db, "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) ", func(sql string) bool { return sql == sent.sql })
			most := first + 1
			if strings.HasPrefix(sent.sql, "SELECT id FROM dead_letters WHERE id > ") {
				most = ofProvider
			}
			if n := max(mostScanned(t, plan), mostDropped(t, plan)); n > most || wholeTable.MatchString(plan) {
				t.Errorf("it reads %d rows\n%s\n%s", n, sent.sql, plan)
			}
		}
	}
	readsFew(func() error {
		p, err := db.Resends.Plan(t.Context(), "crm", time.UnixMilli(0), time.Time{}, first)
		require.True(t, p.AtLeast)
		require.EqualValues(t, first, p.Events)
		return err
	})
	for _, filter := range []operation.ReplayFilter{{}, {Provider: "p7"}, {Code: "c7"}, {Provider: "p7", Type: "t7"}} {
		plan, err := db.Replays.Plan(t.Context(), filter)
		require.NoError(t, err)
		require.Positive(t, plan.Count)
		readsFew(func() error {
			return db.Replays.PlanKeys(t.Context(), filter, first, nothing, map[string]string{}, &plan)
		})
	}
}

// nothing is a parser that finds no event.
func nothing(event.Receipt, []byte) (event.Parsed, error) {
	return event.Parsed{}, errors.New("no event")
}
