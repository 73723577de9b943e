package background

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// world stands in for Temporal and the store, so that a replay can be killed between any two steps.
type world struct {
	RunStarter

	mu     sync.Mutex
	latest map[string]operation.LatestRun // by workflow ID
	fails  map[string]error               // of a start, by workflow ID
	starts []string                       // workflow IDs

	unstarted []event.DeadLetter
	marked    map[int64]string
	given     []int64

	redelivered []string
}

func (w *world) ReplayInBulk(_ context.Context, d event.DeadLetter) (event.Run, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := d.Receipt.WorkflowID()
	if err := w.fails[id]; err != nil {
		return event.Run{}, err
	}
	w.starts = append(w.starts, id)
	return event.Run{WorkflowID: id, RunID: "new"}, nil
}

func (w *world) LatestRun(_ context.Context, workflowID string) (operation.LatestRun, error) {
	return w.latest[workflowID], nil
}

func (w *world) Wake(context.Context, operation.Kind, string) error { return nil }

func (w *world) Unstarted(context.Context, string, int) (letters []event.DeadLetter, err error) {
	for _, d := range w.unstarted {
		if _, started := w.marked[d.ID]; !started && !slices.Contains(w.given, d.ID) {
			letters = append(letters, d)
		}
	}
	return letters, nil
}

func (w *world) MarkStarted(_ context.Context, _ string, runs map[int64]string) error {
	if w.marked == nil {
		w.marked = map[int64]string{}
	}
	maps.Copy(w.marked, runs)
	return nil
}

func (w *world) Release(_ context.Context, _ string, ids ...int64) error {
	w.given = append(w.given, ids...)
	return nil
}

func (w *world) Redeliver(_ context.Context, eventID string, subscriptionID int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := fmt.Sprintf("%s to %d", eventID, subscriptionID)
	if err := w.fails[id]; err != nil {
		return err
	}
	w.redelivered = append(w.redelivered, id)
	return nil
}

func buried(id int64, key string) event.DeadLetter {
	return event.DeadLetter{
		ID: id, Receipt: event.Receipt{ID: key, Provider: "acme", Key: key}, Run: event.Run{WorkflowID: "acme:" + key, RunID: "died"},
	}
}

func (w *world) restart(rate float64) *restart {
	return (&Activities{Starter: w, Claims: w}).newRestart("one", rate)
}

// An attempt has claimed five dead letters and was killed. Of their workflows one is forgotten, of one the run that died is the
// last, one has a newer run in progress, one has run and failed since, and one has run another event since:
//   - all but the third and the fourth are started
func TestAKillRepeatsNoStart(t *testing.T) {
	t.Parallel()
	w := &world{
		unstarted: []event.DeadLetter{buried(1, "forgotten"), buried(2, "waits"), buried(3, "runs"), buried(4, "failed"), buried(5, "other")},
		latest: map[string]operation.LatestRun{
			"acme:waits":  {Run: event.Run{RunID: "died"}, EventID: "waits"},
			"acme:runs":   {Run: event.Run{RunID: "r3"}, EventID: "runs", Open: true},
			"acme:failed": {Run: event.Run{RunID: "r4"}, EventID: "failed"},
			"acme:other":  {Run: event.Run{RunID: "r5"}, EventID: "another of this key", Open: true},
		},
	}
	require.NoError(t, w.restart(1000).leftovers(t.Context()))
	slices.Sort(w.starts)
	require.Equal(t, []string{"acme:forgotten", "acme:other", "acme:waits"}, w.starts)
	require.Equal(t, map[int64]string{1: "new", 2: "new", 3: "r3", 4: "r4", 5: "new"}, w.marked)
}

// Of a chunk one starts, one is already run by its sender's redelivery, one has succeeded, one's workflow runs another event,
// one can never be started, and for one Temporal is down:
//   - the first two are marked, the next three released
//   - the last stays claimed, and the attempt fails
func TestOutcomesOfAChunk(t *testing.T) {
	t.Parallel()
	away := errors.New("unavailable")
	w := &world{fails: map[string]error{
		"acme:runs":      &operation.RunExistsError{Run: event.Run{RunID: "theirs"}, Open: true},
		"acme:succeeded": &operation.RunExistsError{Run: event.Run{RunID: "theirs"}},
		"acme:other":     &operation.RunExistsError{Run: event.Run{RunID: "theirs"}, Open: true, InTheWay: true},
		"acme:wrong":     event.Rejectf("not_startable", "too large"),
		"acme:away":      away,
	}}
	err := w.restart(1000).fresh(t.Context(), []event.DeadLetter{
		buried(1, "starts"), buried(2, "runs"), buried(3, "succeeded"), buried(4, "wrong"), buried(5, "away"),
		buried(6, "other"),
	})
	require.ErrorIs(t, err, away)
	require.Equal(t, map[int64]string{1: "new", 2: "theirs"}, w.marked)
	slices.Sort(w.given)
	require.Equal(t, []int64{3, 4, 6}, w.given)
}

// Of failed deliveries one is resent, one has lost its subscription, and for one the database is down:
//   - no run is started, whatever the runs of their events are
func TestFailedDeliveriesAreSentAgain(t *testing.T) {
	t.Parallel()
	away := errors.New("unavailable")
	letter := func(id int64, key string) event.DeadLetter {
		d := buried(id, key)
		d.SubscriptionID, d.Run.RunID = 7, ""
		return d
	}
	w := &world{
		fails:     map[string]error{"gone to 7": event.ErrNotFound, "away to 7": away},
		latest:    map[string]operation.LatestRun{"acme:sent": {Run: event.Run{RunID: "processed it"}, EventID: "sent"}},
		unstarted: []event.DeadLetter{letter(1, "sent"), letter(2, "gone")},
	}
	require.NoError(t, w.restart(1000).leftovers(t.Context()))
	require.ErrorIs(t, w.restart(1000).fresh(t.Context(), []event.DeadLetter{letter(3, "away")}), away)
	require.Empty(t, w.starts)
	require.Equal(t, []string{"sent to 7"}, w.redelivered)
	require.Equal(t, map[int64]string{1: ""}, w.marked)
	require.Equal(t, []int64{2}, w.given)
}

// Starts keep their rate, including the pause after the last one.
func TestStartsKeepToTheirRate(t *testing.T) {
	t.Parallel()
	w := &world{}
	var letters []event.DeadLetter
	for id := range int64(10) {
		letters = append(letters, buried(id, "k"))
	}
	start := time.Now()
	require.NoError(t, w.restart(100).fresh(t.Context(), letters))
	require.GreaterOrEqual(t, time.Since(start), 99*time.Millisecond)
	require.Len(t, w.starts, 10)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.restart(0.01).fresh(ctx, letters), context.Canceled, "a worker that stops does not wait for the pace")
}
