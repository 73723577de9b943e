package inbox_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
)

// A spooled event is stored to the byte: a receipt and a body that no json column would accept.
func TestSpoolKeepsEveryByte(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	r := receipt()
	r.Headers = map[string]string{"x-odd": "a\x00b"}
	r.Root = json.RawMessage(`{"lone":"\ud800","nul":"\u0000"}`)
	raw := []byte("\x00\xff{\"a\":  1.0}")
	stored, err := d.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, r, raw, true)
	require.NoError(t, err)
	require.True(t, stored)
	require.Equal(t, raw, persistencetest.Value[[]byte](d, `SELECT raw_body FROM inbox WHERE reject AND lane = 'overflow'`))
	var got event.Receipt
	require.NoError(t, json.Unmarshal(persistencetest.Value[[]byte](d, `SELECT receipt FROM inbox WHERE workflow_id = $1`, r.WorkflowID()), &got))
	require.Equal(t, r, got)
}

// Of all events sent with one key, by several processes and within one group, one is stored and the others are reported as
// duplicates.
func TestSpoolStoresAKeyOnce(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	writers := []*persistence.InboxWriter{d.Inbox.NewInboxWriter(), d.Inbox.NewInboxWriter()}
	const keys, copies = 40, 8
	var all sync.WaitGroup
	var stored [keys]atomic.Int32
	for k := range keys {
		key := "evt_" + rand.Text()
		for c := range copies {
			all.Go(func() {
				r := receipt()
				r.Key = key
				ok, err := writers[c%len(writers)].Spool(t.Context(), event.LaneOverflow, r, body, false)
				if err == nil && ok {
					stored[k].Add(1)
				}
				if err != nil {
					stored[k].Add(1000)
				}
			})
		}
	}
	all.Wait()
	for k := range keys {
		require.EqualValues(t, 1, stored[k].Load())
	}
	require.EqualValues(t, keys, persistencetest.Value[int64](d, `SELECT count(*) FROM inbox`))
}

// A row that the table would refuse is refused alone, before it can fail a group.
func TestSpoolRefusesUnstorableEvents(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	w := d.Inbox.NewInboxWriter()
	_, err := w.Spool(t.Context(), "slow", receipt(), body, false)
	require.Equal(t, "unknown_lane", event.CodeOf(err))
	r := receipt()
	r.ID = "1"
	_, err = w.Spool(t.Context(), event.LaneBulk, r, body, false)
	require.Equal(t, "malformed_id", event.CodeOf(err))
	stored, err := w.Spool(t.Context(), event.LaneBulk, receipt(), nil, false)
	require.NoError(t, err)
	require.True(t, stored)
}

// While the database is unavailable every caller gets the error, and none is left waiting.
func TestSpoolTellsEveryCallerOfAnOutage(t *testing.T) {
	t.Parallel()
	store, err := persistence.Open(t.Context(), persistence.Config{URL: "postgres://holdfast@127.0.0.1:1/none"})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	w := store.Inbox.NewInboxWriter()
	const callers = 50
	errs := make(chan error, callers)
	for range callers {
		go func() {
			_, err := w.Spool(t.Context(), event.LaneOverflow, receipt(), body, false)
			errs <- err
		}()
	}
	for range callers {
		err := <-errs
		require.Equal(t, event.ClassTransient, event.ClassOf(err))
		require.Equal(t, "connection_failed", event.CodeOf(err))
	}
}

// A caller that stops waiting gets a response at once, although the database doesn't answer.
func TestSpoolLetsACallerGo(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	d.Exec("BEGIN")
	d.Exec("LOCK TABLE inbox IN EXCLUSIVE MODE")
	w := d.Inbox.NewInboxWriter()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 5)
	for range cap(done) {
		go func() {
			_, err := w.Spool(ctx, event.LaneOverflow, receipt(), body, false)
			done <- err
		}()
	}
	cancel()
	for range cap(done) {
		require.ErrorIs(t, <-done, context.Canceled)
	}
	d.Exec("ROLLBACK")
	stored, err := w.Spool(t.Context(), event.LaneOverflow, receipt(), body, false)
	require.NoError(t, err)
	require.True(t, stored)
}

// BenchmarkSpool measures the maximum rate of acknowledgements without Temporal: 32 callers, 600 bytes each.
func BenchmarkSpool(b *testing.B) {
	d := persistencetest.Open(b)
	w := d.Inbox.NewInboxWriter()
	raw := slices.Repeat([]byte("x"), 600)
	b.ReportAllocs()
	b.SetParallelism(16) // times GOMAXPROCS
	b.ResetTimer()
	start := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := receipt()
			r.ID = uuid.Must(uuid.NewV7()).String()
			if stored, err := w.Spool(context.Background(), event.LaneOverflow, r, raw, false); err != nil || !stored {
				b.Error(stored, err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "rows/s")
}
