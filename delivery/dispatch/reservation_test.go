package dispatch

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// Slots without a lease keep to the shares of destinations, and to what a lease under way may use.
func TestASlotIsTakenOnlyIfItIsFree(t *testing.T) {
	t.Parallel()
	d, attempts := newDesk(4), &sync.WaitGroup{}
	take := func(destination int64) *slot { return d.take(destination, attempts) }
	first := take(1)
	require.NotNil(t, first)
	require.Nil(t, take(1), "it isn't proven yet")
	require.NotNil(t, take(2))
	require.Nil(t, take(3), "unproven ones have half of the slots")
	d.capacity()
	first.begin()
	d.ends(delivery.OK, first)
	require.Nil(t, take(1), "a lease is under way")
	d.claim(nil)
	require.NotNil(t, take(1))
	require.NotNil(t, take(1))
	require.Nil(t, take(1), "its window is two")
	require.Equal(t, 3, d.inUse())
	d.close()
	require.Nil(t, take(3))
}

// reserve waits until no lease is under way.
func reserve(t *testing.T, d *Dispatcher, destination int64, bytes int) delivery.Reservation {
	t.Helper()
	for range 1000 {
		if r := d.Reserve(destination, bytes); r != nil {
			return r
		}
		<-time.After(time.Millisecond)
	}
	require.Fail(t, "no slot became free")
	return nil
}

// A reserved attempt is made and settled like one from the queue, without reading its event or its target. Its slot and memory
// are free after that, and so are those of a reservation that isn't used.
func TestAReservedAttemptIsMade(t *testing.T) {
	t.Parallel()
	m := newMemory()
	m.messageFault = func() error { t.Error("an event was read"); return nil }
	sent := make(chan delivery.Message, 1)
	d := start(t, m, 4, func(ctx context.Context, tgt delivery.Target, j delivery.Job, msg delivery.Message) delivery.Result {
		sent <- msg
		require.Equal(t, "one", tgt.Destination.Name)
		return ok(ctx, tgt, j, msg)
	})
	reserve(t, d, 1, 10).Free()
	j := job(1, 1)
	j.LeasedUntil = time.Now().Add(time.Minute)
	m.mu.Lock()
	m.leased[j.Key] = j
	m.mu.Unlock()
	one := delivery.Target{Destination: delivery.Destination{Name: "one", HTTP: &delivery.HTTP{URL: "https://one.example.com"}}}
	reserve(t, d, 1, 3).Start(j, one, delivery.Message{Body: []byte("abc")})
	require.Equal(t, "abc", string((<-sent).Body))
	m.until(func() bool { return len(m.ended) == 1 })

	large := reserve(t, d, 1, maxBodyBytes)
	require.Nil(t, d.Reserve(2, 1), "there is no memory")
	large.Free()
	reserve(t, d, 2, 1).Free()
}

// A stop waits for a reservation: its transaction may have leased the delivery. New ones aren't made.
func TestAStopWaitsForReservations(t *testing.T) {
	t.Parallel()
	m := newMemory()
	to(m, 1)
	d := start(t, m, 4, ok)
	r := reserve(t, d, 1, 0)
	stopped := make(chan error)
	go func() { stopped <- d.Stop(context.Background(), time.Minute) }()
	for d.working.Err() == nil {
		<-time.After(time.Millisecond)
	}
	require.Nil(t, d.Reserve(2, 0))
	j := job(1, 1)
	j.LeasedUntil = time.Now().Add(time.Minute)
	m.mu.Lock()
	m.leased[j.Key] = j
	m.mu.Unlock()
	select {
	case err := <-stopped:
		require.Fail(t, "it didn't wait", err)
	default:
	}
	r.Start(j, m.targets[1], delivery.Message{})
	require.NoError(t, <-stopped)
	require.Len(t, m.ended, 1)
}
