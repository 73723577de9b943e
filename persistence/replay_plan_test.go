package persistence_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
