package batch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast/internal/batch"
)

// The limits of the group under test, small enough that each is reached.
const (
	atOnce     = 2
	maxCalls   = 4
	maxBytes   = 10
	maxWaiting = 30
	maxSize    = 12 // larger than a batch
)

var errBusy = errors.New("busy")

// call is a call as the model knows it.
type call struct {
	id, size, key int
	leave         context.CancelFunc
	left          bool
	result        chan error
}

// model predicts the batches of a group from the calls that wait.
type model struct {
	group   *batch.Group[*call]
	waiting []*call
	bytes   int
	runs    []*run    // predicted, in flight
	begun   chan *run // observed
	failed  chan struct{}
	calls   int
}

// run is a batch in flight, which ends when the test says so.
type run struct {
	calls []*call
	end   chan func() error
}

func newModel() *model {
	m := &model{begun: make(chan *run, 100), failed: make(chan struct{})}
	m.group = batch.New(batch.Config[*call]{
		AtOnce: atOnce, MaxCalls: maxCalls, MaxBytes: maxBytes, MaxWaiting: maxWaiting, Busy: errBusy,
		Size: func(c *call) int { return c.size },
		Apart: func() func(*call) bool {
			seen := map[int]bool{}
			return func(c *call) bool { isNew := !seen[c.key]; seen[c.key] = true; return isNew }
		},
		Run: func(all []*batch.Call[*call]) error {
			r := &run{end: make(chan func() error)}
			for _, c := range all {
				r.calls = append(r.calls, c.Of)
			}
			m.begun <- r
			select {
			case end := <-r.end:
				return end()
			case <-m.failed: // the model; nothing may be left
				return nil
			}
		},
	})
	return m
}

// call begins a call.
func (m *model) call(t *rapid.T) {
	m.calls++
	c := &call{
		id: m.calls, size: rapid.IntRange(1, maxSize).Draw(t, "size"), key: rapid.IntRange(1, 5).Draw(t, "key"),
		result: make(chan error, 1),
	}
	var ctx context.Context
	ctx, c.leave = context.WithCancel(context.Background())
	go func() { c.result <- m.group.Do(ctx, c) }()
	synctest.Wait()
	if len(m.waiting) > 0 && m.bytes+c.size > maxWaiting {
		require.ErrorIs(t, <-c.result, errBusy)
		c.leave()
		return
	}
	m.waiting, m.bytes = append(m.waiting, c), m.bytes+c.size
	if len(m.runs) < atOnce {
		m.begin(t)
	}
}

// begin takes the next batch by its definition, and requires that the group has begun it.
func (m *model) begin(t *rapid.T) {
	var next, rest []*call
	size, keys := 0, map[int]bool{}
	for _, c := range m.waiting {
		switch isFull := len(next) == maxCalls; {
		case c.left && !isFull:
			m.bytes -= c.size
		case isFull, len(next) > 0 && size+c.size > maxBytes, keys[c.key]:
			rest = append(rest, c)
		default:
			next, size, keys[c.key] = append(next, c), size+c.size, true
			m.bytes -= c.size
		}
	}
	m.waiting = rest
	if len(next) == 0 {
		require.Empty(t, m.begun)
		return
	}
	require.Len(t, m.begun, 1)
	begun := <-m.begun
	require.Equal(t, ids(next), ids(begun.calls))
	m.runs = append(m.runs, begun)
}

// leave ends the wait of a call that waits or runs.
func (m *model) leave(t *rapid.T) {
	all := slices.Clone(m.waiting)
	for _, r := range m.runs {
		all = append(all, r.calls...)
	}
	all = slices.DeleteFunc(all, func(c *call) bool { return c.left })
	if len(all) == 0 {
		t.Skip("nobody waits")
	}
	c := rapid.SampledFrom(all).Draw(t, "call")
	c.leave()
	c.left = true
	require.ErrorIs(t, <-c.result, context.Canceled)
}

// end ends a run: with an answer, or with a panic.
func (m *model) end(t *rapid.T) {
	if len(m.runs) == 0 {
		t.Skip("nothing runs")
	}
	i := rapid.IntRange(0, len(m.runs)-1).Draw(t, "run")
	how := rapid.SampledFrom([]string{"", "failed", "panic"}).Draw(t, "how")
	ended := m.runs[i]
	m.runs = slices.Delete(m.runs, i, i+1)
	failed := errors.New("failed")
	ended.end <- func() error {
		switch how {
		case "failed":
			return failed
		case "panic":
			panic("secret")
		default:
			return nil
		}
	}
	synctest.Wait()
	for _, c := range ended.calls {
		if c.left {
			continue
		}
		switch err := <-c.result; how {
		case "failed":
			require.Equal(t, failed, err)
		case "panic":
			require.EqualError(t, err, "panic: batch panicked with a string")
		default:
			require.NoError(t, err)
		}
		c.leave()
	}
	m.begin(t)
}

func ids(calls []*call) (all []int) {
	for _, c := range calls {
		all = append(all, c.id)
	}
	return all
}

// timeless hides the deadline of a test, which is outside of a synctest bubble.
type timeless struct{ testing.TB }

// Whatever the order of calls, departures and ends of runs, each call gets the answer of one run, unless it has left or is refused, and
// batches keep their limits.
func TestAGroupDoesAsItsModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(timeless{t}, func(t *rapid.T) {
			m := newModel()
			defer close(m.failed)
			t.Repeat(map[string]func(*rapid.T){"call": m.call, "call again": m.call, "leave": m.leave, "end": m.end})
			for len(m.runs) > 0 {
				m.end(t)
			}
			require.Empty(t, m.waiting)
			require.Zero(t, m.bytes)
		})
	})
}

// A run may answer calls one by one, before it ends.
func TestARunAnswersEachCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end, odd := make(chan struct{}), errors.New("odd")
		g := batch.New(batch.Config[int]{
			AtOnce: 1, MaxCalls: 10, MaxBytes: 10, Size: func(int) int { return 1 },
			Run: func(calls []*batch.Call[int]) error {
				for _, c := range calls {
					if c.Of%2 == 1 {
						c.Answer(odd)
					}
				}
				<-end
				return nil
			},
		})
		require.ErrorIs(t, g.Do(t.Context(), 1), odd)
		even := make(chan error, 1)
		go func() { even <- g.Do(t.Context(), 2) }()
		synctest.Wait()
		require.Empty(t, even)
		close(end)
		require.NoError(t, <-even)
	})
}
