package outbox_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

// A worker leases a second ahead. Attempts that wait for their start time count as in flight: a destination that allows enough of
// them reaches its rate, one that allows a single attempt stays below it, and neither exceeds its maximum in flight.
func TestAttemptsLeasedAheadCountAsUnderWay(t *testing.T) {
	t.Parallel()
	const lead, step, steps = time.Second, 50 * time.Millisecond, 100
	sent := func(inFlight int) (n int, span time.Duration) {
		db := persistencetest.Open(t)
		rate := &delivery.Rate{Requests: 10, Per: event.Duration(time.Second)}
		db.Destination(1, delivery.Destination{InFlight: inFlight, Rate: rate})
		db.Queue(1, 200)
		missed := delivery.Job{
			Key:           delivery.Key{EventID: uuid.NewString(), SubscriptionID: 1},
			DestinationID: 1, Lease: uuid.NewString(), Lead: lead/2 - delivery.MaxLate/4,
		}
		db.Settle(persistencetest.Became(missed, delivery.Ours, delivery.CodeLateStart))
		began, skipped := time.Now(), time.Duration(0)
		var underWay []delivery.Job
		for range steps {
			jobs := db.Lease(100, 100)
			for i := range jobs {
				jobs[i].StartAt = jobs[i].StartAt.Add(skipped)
			}
			underWay = append(underWay, jobs...)
			require.LessOrEqual(t, len(underWay), inFlight)
			underWay = slices.DeleteFunc(underWay, func(j delivery.Job) bool {
				started := !j.StartAt.After(time.Now().Add(skipped))
				if started {
					db.Settle(persistencetest.Became(j, delivery.OK, "200"))
					n++
				}
				return started
			})
			db.Passes(1, step)
			skipped += step
		}
		return n, time.Since(began) + skipped
	}
	n, span := sent(1)
	require.Positive(t, n)
	require.LessOrEqual(t, n, int(span/(lead*8/10))+1)
	n, span = sent(16)
	require.Greater(t, n, int((span-lead)/(110*time.Millisecond))*7/10)
}
