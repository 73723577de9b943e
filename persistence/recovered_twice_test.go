package persistence_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// A recovered event and its late webhook may both wait in the inbox if the boundary of two windows is between them. Whichever comes
// first, and whether the first is processed before the second comes, there is one event. On the same side of the boundary the
// inbox has one row.
func TestARecoveredEventAndItsLateWebhookAreProcessedOnce(t *testing.T) {
	t.Parallel()
	const window = 15 * time.Minute
	boundary := noon.Truncate(window)
	for name, c := range map[string]struct {
		listed, arrived time.Duration // from the boundary
		rows            int64
	}{
		"just around the boundary": {-time.Second, time.Second, 2},
		"on the boundary":          {-time.Nanosecond * 1000, 0, 2},
		"almost a window apart":    {time.Second - window, 0, 2},
		"before the boundary":      {-2 * time.Minute, -time.Minute, 1},
		"after the boundary":       {0, time.Minute, 1},
	} {
		for _, lateFirst := range []bool{false, true} {
			for _, alone := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, late first %t, alone %t", name, lateFirst, alone), func(t *testing.T) {
					t.Parallel()
					db := open(t)
					recovered, late := receipt(), receipt()
					recovered.Via, late.Fingerprint, late.Key = event.ViaRecover, "sha256:late", recovered.Key
					for r, at := range map[*event.Receipt]time.Duration{&recovered: c.listed, &late: c.arrived} {
						r.DedupeWindow, r.ReceivedAt = event.Duration(window), boundary.Add(at)
					}
					order := []event.Receipt{recovered, late}
					if lateFirst {
						order = []event.Receipt{late, recovered}
					}
					became := map[string]event.Outcome{}
					drain := func() { // a batch has no key twice
						for b := db.batch(newBatchRun(), nil); len(b) > 0; b = db.batch(newBatchRun(), nil) {
							maps.Copy(became, outcomes(b))
						}
					}
					for n, r := range order {
						_, err := db.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneBulk, r, fmt.Append(nil, n), false)
						require.NoError(t, err)
						if alone {
							drain()
						}
					}
					if !alone {
						require.Equal(t, c.rows, value[int64](db, `SELECT count(*) FROM inbox`))
						drain()
					}
					require.Equal(t, event.OutcomeProcessed, became[order[0].ID])
					if alone || c.rows == 2 {
						require.Equal(t, event.OutcomeDuplicate, became[order[1].ID])
					}
					require.Equal(t, order[0].ID, value[string](db, `SELECT id::text FROM events`), "one event")
					require.Zero(t, value[int](db, `SELECT (SELECT count(*) FROM inbox) + (SELECT count(*) FROM dead_letters)`))
				})
			}
		}
	}
}
