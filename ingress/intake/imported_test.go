package intake

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/workflows/runs"
)

// fakeOwners is a table of keys that can be slow or down.
type fakeOwners struct {
	owners map[string]event.Owner // by key
	err    error
	hangs  bool       // until the end of the look-up's time
	asked  [][]string // the keys of each look-up
}

func (f *fakeOwners) Owners(ctx context.Context, rs []event.Receipt) ([]event.Owner, error) {
	found, keys := make([]event.Owner, len(rs)), make([]string, len(rs))
	for n, r := range rs {
		found[n], keys[n] = f.owners[r.Key], r.Key
	}
	f.asked = append(f.asked, keys)
	if f.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return found, f.err
}

func (f *fakeOwners) intake(starter EventStarter) *Intake {
	i := New(Options{
		Starter: starter, Inbox: newFakeInbox(), Remover: newFakeInbox(), Breaker: NewBreaker(8), Owners: f,
		ImportedProviders: func() ([]string, error) { return []string{"moved"}, nil },
		CommitTimeout:     time.Minute, StartTimeout: time.Minute, AckBudget: time.Minute,
	})
	return i
}

func imported(provider, key string) event.Received {
	return event.Received{
		Receipt: event.Receipt{
			ID: "live-" + key, Provider: provider, Key: key, Certain: true, Fingerprint: "f", ReceivedAt: time.Now(),
			DedupeWindow: event.Duration(time.Hour),
		},
		Body: []byte("{}"),
	}
}

// The first repeat of an imported event is a duplicate of it. What isn't one, or has no event, keeps its ID; the run of an
// imported dead letter replays it.
func TestRepeatsOfImportedEventsAreAnsweredAsDuplicates(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for key, c := range map[string]struct {
		owner  event.Owner
		reject bool
		want   runs.Started
	}{
		"event":      {event.Owner{ID: "old", ReceivedAt: now, Status: event.StatusProcessed}, false, runs.Started{EventID: "old", State: runs.StateProcessed}},
		"unfinished": {event.Owner{ID: "old", ReceivedAt: now, Status: event.StatusPersisted}, false, runs.Started{EventID: "old", State: runs.StateProcessing}},
		"discarded":  {event.Owner{ID: "old", ReceivedAt: now, Status: event.StatusDead}, false, runs.Started{EventID: "old", State: runs.StateDead}},
		"letter":     {event.Owner{ID: "old", ReceivedAt: now, DeadLetterID: 7}, false, runs.Started{EventID: "old", State: runs.StateAccepted, DeadLetterID: 7}},
		"rejected":   {event.Owner{ID: "old", ReceivedAt: now, DeadLetterID: 7}, true, runs.Started{EventID: "old", State: runs.StateDead, DeadLetterID: 7}},
		"key":        {event.Owner{ID: "old", ReceivedAt: now}, false, runs.Started{EventID: "live-key", State: runs.StateProcessed}},
		"same":       {event.Owner{ID: "old", ReceivedAt: now, Status: event.StatusProcessed, Fingerprint: "f"}, false, runs.Started{EventID: "old", State: runs.StateProcessed}},
		"other":      {event.Owner{ID: "old", ReceivedAt: now, Status: event.StatusProcessed, Fingerprint: "g"}, false, runs.Started{EventID: "live-other", State: runs.StateAccepted}},
		"itself":     {event.Owner{ID: "live-itself", ReceivedAt: now, Status: event.StatusProcessed}, false, runs.Started{EventID: "live-itself", State: runs.StateAccepted}},
		"earlier":    {event.Owner{ID: "old", ReceivedAt: now.Add(-2 * time.Hour), Status: event.StatusProcessed}, false, runs.Started{EventID: "live-earlier", State: runs.StateAccepted}},
		"new":        {event.Owner{}, false, runs.Started{EventID: "live-new", State: runs.StateAccepted}},
	} {
		starter, counted := newFakeStarter(), &counted{}
		i := (&fakeOwners{owners: map[string]event.Owner{key: c.owner}}).intake(starter)
		i.Duplicates = counted
		e := imported("moved", key)
		e.RejectRedelivery = c.reject
		all, err := i.Commit(t.Context(), []event.Received{e})
		require.NoError(t, err)
		c.want.WorkflowID, c.want.Fingerprint = "moved:"+key, "f"
		require.Equal(t, []runs.Started{c.want}, all, key)
		require.Len(t, starter.all(), 1, "its run decides")
		require.Empty(t, *counted, "its run counts it")
	}
}

// Nothing is looked up for other providers, and one statement serves a request. If the database is slow or down, the events are
// accepted as ever, and soon nothing is looked up.
func TestOnlyImportedProvidersAreLookedUp(t *testing.T) {
	t.Parallel()
	owner := event.Owner{ID: "old", ReceivedAt: time.Now(), Status: event.StatusProcessed}
	owners := &fakeOwners{owners: map[string]event.Owner{"a": owner}}
	i := owners.intake(newFakeStarter())
	commit := func(es ...event.Received) (states []runs.State) {
		t.Helper()
		all, err := i.Commit(t.Context(), es)
		require.NoError(t, err)
		for _, s := range all {
			states = append(states, s.State)
		}
		return states
	}
	require.Equal(t, []runs.State{runs.StateAccepted}, commit(imported("stayed", "a")))
	require.Empty(t, owners.asked)
	require.Equal(t, []runs.State{runs.StateProcessed, runs.StateAccepted}, commit(imported("moved", "a"), imported("moved", "b")))
	require.Equal(t, [][]string{{"a", "b"}}, owners.asked)
	require.Equal(t, []runs.State{runs.StateProcessed}, commit(imported("moved", "b")), "Temporal has its run")
	require.Len(t, owners.asked, 1)

	for _, slow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			owners = &fakeOwners{hangs: slow, err: errors.New("down")}
			i = owners.intake(newFakeStarter())
			for n := range 2 * tripAfter {
				require.Equal(t, []runs.State{runs.StateAccepted}, commit(imported("moved", string(rune('a'+n)))))
			}
			require.Len(t, owners.asked, tripAfter)
		})
	}
}

// An event that the inbox holds because Temporal is down is answered like one that Temporal has accepted; a copy keeps the ID of
// its run.
func TestSpooledRepeatsOfImportedEventsAreAnsweredAsDuplicates(t *testing.T) {
	t.Parallel()
	owner := event.Owner{ID: "old", ReceivedAt: time.Now(), Status: event.StatusProcessed}
	owners := &fakeOwners{owners: map[string]event.Owner{"a": owner}}
	starter := newFakeStarter()
	starter.before = func(event.Receipt) error { return errors.New("down") }
	for _, both := range []bool{false, true} {
		inbox := newFakeInbox()
		i := owners.intake(starter)
		i.inbox, i.Both = newInbox(inbox), both
		all, err := i.Commit(t.Context(), []event.Received{imported("moved", "a")})
		require.NoError(t, err)
		require.Equal(t, []string{"old", string(runs.StateProcessed)}, []string{all[0].EventID, string(all[0].State)})
		require.Len(t, inbox.rows, 1)
		require.Equal(t, "live-a", inbox.rows[0].Receipt.ID)
		starter.before = nil
	}
}
