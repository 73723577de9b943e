package e2e

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/internal/devstack/fakeapi"
	"holdfast/workflows"
)

// The schedule recovers what never arrived, without an operator:
//   - the first recovery is of everything in the list, the next ones go on from the watermark
//   - those that have found nothing are not audited
//   - an operator pauses one, and it stays paused: the schedule starts no other one of the list
func TestTheScheduleRecoversMissedEvents(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["stripe"])
	var delay atomic.Int64
	fake.Fault = func(int) fakeapi.Fault { return fakeapi.Fault{Delay: time.Duration(delay.Load())} }
	i := newShop(t, fake, "HOLDFAST_RECOVERY_INTERVAL=2s")
	door := i.start(t, "ingress")
	i.start(t, "worker")
	time.Sleep(time.Second) // the provider's times are whole seconds, and recovery was switched on when the worker started
	sent := fakeapi.Event{ID: uniqueID("evt"), Type: "customer.updated", Time: time.Now(), Object: "cus_1"}
	body := customerUpdated(sent.ID, sent.Object, "Ada", sent.Time)
	a, err := door.post("/webhooks/shop", body, "Stripe-Signature", sign(body, secret, time.Now()))
	require.NoError(t, err)
	require.Equal(t, 202, a.status)
	i.awaitCount(t, time.Minute, 1, processedEvents)
	fake.Add(sent, fakeapi.Event{ID: uniqueID("evt"), Type: "customer.updated", Time: time.Now(), Object: "cus_2"})
	i.awaitCount(t, time.Minute, 2, processedEvents)
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM recoveries WHERE recovered = 1 AND state = 'completed'")
	i.replay(t, "recover_due", i.latestOf(t, workflows.TypeRecoverDue, "Completed"))

	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM recoveries WHERE whole AND since < until")) // the first may come too early
	require.Zero(t, i.count(t, "SELECT count(*) FROM audit_log WHERE action LIKE 'recovery.%'"))
	var r operation.Recovery
	delay.Store(int64(5 * time.Second)) // or it ends before the command has started
	eventually(t, time.Minute, "one is paused", func() error {
		if err := i.tryQuery("SELECT id FROM recoveries ORDER BY started_at DESC LIMIT 1", nil, &r.ID); err != nil {
			return err
		}
		if out, err := i.run(t, "recover", "pause", r.ID); err != nil {
			return errors.New(out) // it has ended
		}
		return nil
	})
	delay.Store(0)
	i.runTool(t, "temporal", "schedule", "trigger", "--schedule-id", workflows.ScheduleRecover)
	before := i.count(t, "SELECT count(*) FROM recoveries WHERE state <> 'completed'")
	fake.Add(fakeapi.Event{ID: uniqueID("evt"), Type: "customer.updated", Time: time.Now(), Object: "cus_3"})
	time.Sleep(6 * time.Second)
	require.Equal(t, []int{1, 1, 2}, []int{
		before, i.count(t, "SELECT count(*) FROM recoveries WHERE state <> 'completed'"), i.count(t, processedEvents),
	})
	out, err := i.run(t, "recover", "resume", r.ID)
	require.NoError(t, err, out)
	i.awaitCount(t, time.Minute, 3, processedEvents)
}
