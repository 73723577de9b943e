package feed_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/feed"
)

// book is a feed in memory.
type book struct {
	mu    sync.Mutex
	epoch int32
	items []feed.Change
	looks int
	fails error
}

func (b *book) write(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range n {
		id := len(b.items) + 1
		b.items = append(b.items, feed.Change{
			Subject: feed.Event, Provider: []string{"acme", "zeta"}[id%2], ID: fmt.Sprint(id),
			Cursor: feed.Cursor{Epoch: b.epoch, XID: uint64(id), Item: 1},
		})
	}
}

func (b *book) Changes(_ context.Context, after feed.Cursor, limit int) (feed.Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks++
	if b.fails != nil {
		return feed.Page{}, b.fails
	}
	if after.Epoch != 0 && after.Epoch != b.epoch {
		return feed.Page{}, feed.ErrResync
	}
	p := feed.Page{Next: feed.Cursor{Epoch: b.epoch, XID: after.XID, Item: after.Item}}
	for _, c := range b.items {
		if c.Cursor.Compare(after) <= 0 {
			continue
		}
		if len(p.Items) == limit {
			p.More = true
			break
		}
		p.Items, p.Next = append(p.Items, c), c.Cursor
	}
	return p, nil
}

func (b *book) Now(context.Context) (feed.Cursor, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return feed.Cursor{Epoch: b.epoch, XID: uint64(len(b.items)), Item: 1}, nil
}

func (b *book) Since(context.Context, time.Time) (feed.Cursor, error) { return feed.Cursor{}, nil }

func (b *book) seen() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.looks
}

// follower notes what it is given.
type follower struct {
	batches chan feed.Batch
	ended   chan error
}

func follow(t *testing.T, h *feed.Hub, after feed.Cursor, f feed.Filter) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	one := &follower{batches: make(chan feed.Batch), ended: make(chan error, 1)}
	go func() {
		who, err := h.Join(ctx, after, f)
		if err != nil {
			one.ended <- err
			return
		}
		one.ended <- who.Run(ctx, func(b feed.Batch) error {
			select {
			case one.batches <- b:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	t.Cleanup(func() { cancel(); h.Close() })
	return one
}

// until takes batches until n changes have come, and gives their IDs and how many were skipped.
func (f *follower) until(t *testing.T, n int) (ids []string, skipped int) {
	t.Helper()
	for len(ids)+skipped < n {
		select {
		case b := <-f.batches:
			for _, c := range b.Items {
				ids = append(ids, c.ID)
			}
			skipped += b.Skipped
		case <-time.After(time.Minute):
			require.Failf(t, "nothing comes", "%d of %d", len(ids)+skipped, n)
		}
	}
	return ids, skipped
}

func numbers(from, to, step int) (ids []string) {
	for i := from; i <= to; i += step {
		ids = append(ids, fmt.Sprint(i))
	}
	return ids
}

// A follower from a position gets the existing changes and then the new ones, each once and in order.
func TestAFollowerGetsPastAndFutureChanges(t *testing.T) {
	t.Parallel()
	b := &book{epoch: 1}
	b.write(2000)
	h := feed.NewHub(b, 0)
	all := follow(t, h, feed.Cursor{Epoch: 1, XID: 10, Item: 1}, feed.Filter{})
	some := follow(t, h, feed.Cursor{}, feed.Filter{Provider: "zeta"})
	go b.write(1000)
	ids, skipped := all.until(t, 2990)
	require.Zero(t, skipped)
	require.Equal(t, numbers(11, 3000, 1), ids)
	ids, _ = some.until(t, 1500)
	require.Equal(t, numbers(1, 3000, 2), ids)
}

// A slow follower skips changes and gets their number; the others get everything.
func TestASlowReaderSkipsAndHarmsNoOther(t *testing.T) {
	t.Parallel()
	b := &book{epoch: 1}
	h := feed.NewHub(b, 0)
	slow, fast := follow(t, h, feed.Cursor{}, feed.Filter{}), follow(t, h, feed.Cursor{}, feed.Filter{})
	<-slow.batches
	<-fast.batches
	b.write(1)
	_, _ = slow.until(t, 1)
	b.write(5000)
	ids, skipped := fast.until(t, 5001)
	require.Equal(t, 5001, len(ids)+skipped)
	next, gaps := 2, 0
	for next <= 5001 {
		batch := <-slow.batches
		for _, c := range batch.Items {
			require.Equal(t, fmt.Sprint(next), c.ID, "what is missing has been counted")
			next++
		}
		next += batch.Skipped
		gaps += batch.Skipped
	}
	require.Positive(t, gaps)
	b.write(1)
	ids, skipped = slow.until(t, 1)
	require.Equal(t, []string{"5002"}, ids)
	require.Zero(t, skipped)
}

func TestNothingIsReadWithoutListeners(t *testing.T) {
	t.Parallel()
	b := &book{epoch: 1}
	h := feed.NewHub(b, 2)
	ctx, cancel := context.WithCancel(t.Context())
	connected := make(chan struct{}, 10)
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			who, err := h.Join(ctx, feed.Cursor{}, feed.Filter{})
			if err == nil {
				err = who.Run(ctx, func(feed.Batch) error { connected <- struct{}{}; return nil })
			}
			ended <- err
		}()
	}
	<-connected
	<-connected
	_, err := h.Join(t.Context(), feed.Cursor{}, feed.Filter{})
	require.ErrorIs(t, err, feed.ErrTooMany)
	cancel()
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	require.Eventually(t, func() bool {
		before := b.seen()
		<-time.After(500 * time.Millisecond)
		return b.seen() == before
	}, time.Minute, time.Millisecond)
	again := follow(t, h, feed.Cursor{}, feed.Filter{})
	b.write(1)
	_, _ = again.until(t, 1)
}

func TestALostPlaceEndsWhoFollows(t *testing.T) {
	t.Parallel()
	b := &book{epoch: 2}
	h := feed.NewHub(b, 0)
	_, err := h.Join(t.Context(), feed.Cursor{Epoch: 1, XID: 1}, feed.Filter{})
	require.ErrorIs(t, err, feed.ErrResync)
	one := follow(t, h, feed.Cursor{}, feed.Filter{})
	<-one.batches
	b.write(1)
	one.until(t, 1) // from here on it reads only on request
	b.mu.Lock()
	b.fails = errors.New("away") // for a while
	b.mu.Unlock()
	before := b.seen()
	require.Eventually(t, func() bool { return b.seen() > before }, time.Minute, time.Millisecond)
	b.mu.Lock()
	b.fails, b.epoch = nil, 3
	b.mu.Unlock()
	require.ErrorIs(t, <-one.ended, feed.ErrResync)
}

func TestCursorsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	c := feed.Cursor{Epoch: 3, XID: 1 << 63, Seq: 1 << 40, Item: 77}
	read, err := feed.ParseCursor(c.String())
	require.NoError(t, err)
	require.Equal(t, c, read)
	const tooFar = "MS4xLjAuOTIyMzM3MjAzNjg1NDc3NTgwNw"
	for _, text := range []string{"", "x", "MS4yLjMuNA==", "MS4yLjMuNHg", "MC4yLjMuNA", "MS4yLjMuLTQ", "MS4yLjM", tooFar} {
		_, err := feed.ParseCursor(text)
		require.Error(t, err, text)
	}
}

// A follower that has read its state again continues at the new position immediately, however many do so.
func TestFollowersStartOverAfterALostCursor(t *testing.T) {
	t.Parallel()
	b := &book{epoch: 1}
	h := feed.NewHub(b, 0)
	one := follow(t, h, feed.Cursor{}, feed.Filter{})
	<-one.batches
	b.mu.Lock()
	b.epoch = 2
	b.mu.Unlock()
	require.ErrorIs(t, <-one.ended, feed.ErrResync)

	again := follow(t, h, feed.Cursor{Epoch: 2}, feed.Filter{})
	<-again.batches
	b.write(1)
	select {
	case batch := <-again.batches:
		require.NotEmpty(t, batch.Items)
	case err := <-again.ended:
		require.NoError(t, err)
	}
}

// A follower that starts again before the hub has noticed the reset isn't ended with those at the old position.
func TestAReaderThatStartsOverMissesNothing(t *testing.T) {
	t.Parallel()
	b := &book{epoch: 1}
	h := feed.NewHub(b, 0)
	old := follow(t, h, feed.Cursor{}, feed.Filter{})
	<-old.batches
	b.mu.Lock()
	b.epoch = 2
	b.mu.Unlock()
	anew := follow(t, h, feed.Cursor{Epoch: 2}, feed.Filter{})
	<-anew.batches
	require.ErrorIs(t, <-old.ended, feed.ErrResync)
	b.write(1)
	select {
	case batch := <-anew.batches:
		require.NotEmpty(t, batch.Items)
	case err := <-anew.ended:
		require.NoError(t, err)
	}
}
