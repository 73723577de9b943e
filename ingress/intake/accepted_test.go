package intake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// fakeReceipts stands in for the database, which can't fail on demand.
type fakeReceipts struct {
	mu    sync.Mutex
	err   error
	pages [][]event.Acknowledged
}

func (f *fakeReceipts) KeepAccepted(_ context.Context, page []event.Acknowledged) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return 0, f.err
	}
	f.pages = append(f.pages, page)
	return 0, nil
}

func (f *fakeReceipts) fail(err error) { f.mu.Lock(); defer f.mu.Unlock(); f.err = err }

func (f *fakeReceipts) all() (pages, events int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pages {
		events += len(p)
	}
	return len(f.pages), events
}

func (a *Accepted) start(t *testing.T, from, n int) {
	t.Helper()
	for i := range n {
		r := event.Receipt{
			ID: fmt.Sprintf("event-%d", from+i), Provider: "acme", Key: fmt.Sprint(from + i), Headers: map[string]string{"a": "b"},
		}
		_, err := a.Starting(newFakeStarter()).Start(t.Context(), r, nil, false)
		require.NoError(t, err)
	}
}

// Accepted events are looked up 10 to 20 seconds later, many in one statement, without what is large in their receipts.
func TestAcceptedEventsAreLookedUpTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeReceipts{}
		a := NewAccepted(store)
		a.start(t, 0, 100)
		elapse(acceptedPause + time.Millisecond)
		synctest.Wait()
		pages, _ := store.all()
		require.Zero(t, pages, "most are stored soon")
		a.start(t, 100, 1)
		elapse(acceptedPause)
		synctest.Wait()
		pages, events := store.all()
		require.Equal(t, []int{1, 100}, []int{pages, events})
		require.Nil(t, store.pages[0][0].Receipt.Headers)
		require.True(t, store.pages[0][0].Receipt.BodyLost)

		require.NoError(t, a.Close(t.Context()))
		_, events = store.all()
		require.Equal(t, 101, events, "the end of the process doesn't forget any")
	})
}

// While the database is unavailable, receipts are kept in memory, up to a limit.
func TestAcceptedEventsOutliveAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeReceipts{}
		store.fail(errors.New("no database"))
		a := NewAccepted(store)
		a.start(t, 0, 10)
		elapse(5 * acceptedPause)
		synctest.Wait()
		for i := range maxAccepted {
			a.add(event.Acknowledged{Receipt: event.Receipt{ID: fmt.Sprint(i)}})
		}
		synctest.Wait()
		store.fail(nil)
		require.NoError(t, a.Close(t.Context()))
		_, events := store.all()
		require.Equal(t, maxAccepted, events)
		require.Equal(t, "event-0", store.pages[0][0].Receipt.ID, "the oldest first")
	})
}

// Copies and duplicates need no receipt.
func TestOnlyNewEventsNeedAReceipt(t *testing.T) {
	t.Parallel()
	store := &fakeReceipts{}
	a := NewAccepted(store)
	starter := a.Starting(newFakeStarter())
	for _, r := range []event.Receipt{{ID: "1", Key: "a", Copied: true}, {ID: "2", Key: "b"}, {ID: "3", Key: "b"}} {
		_, err := starter.Start(t.Context(), r, nil, false)
		require.NoError(t, err)
	}
	require.NoError(t, a.Close(t.Context()))
	require.Len(t, store.pages, 1)
	require.Len(t, store.pages[0], 1)
	require.Equal(t, "2", store.pages[0][0].Receipt.ID)
}

func BenchmarkAccepted(b *testing.B) {
	a := NewAccepted(&fakeReceipts{err: errors.New("none")})
	defer a.stop()
	r := event.Receipt{ID: "01a22169-a50c-7677-b219-2fb550c53c38", Provider: "acme", Key: "evt_1", Type: "thing.changed"}
	b.ReportAllocs()
	for b.Loop() {
		a.add(event.Acknowledged{Receipt: r.ForLoss(), RunID: "run"})
		if len(a.new) >= acceptedPage {
			a.mu.Lock()
			a.new = nil
			a.mu.Unlock()
		}
	}
}
