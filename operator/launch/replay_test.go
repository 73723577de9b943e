package launch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/launch"
)

// desk stands in for the store and for Temporal, whose answers a test chooses.
type desk struct {
	launch.DeadLetters

	answer  error
	owner   string
	started map[int64]string
	given   []int64
	// subscription is that of the dead letter, redelivered what was sent again.
	subscription int64
	redelivered  string
	// dropped reports whether the fetched state was removed, unless the database was unavailable.
	dropped     bool
	unavailable error
}

func (d *desk) ClaimForReplay(_ context.Context, owner string, id int64, _ oversight.Actor) (event.DeadLetter, error) {
	d.owner = owner
	return event.DeadLetter{ID: id, Receipt: event.Receipt{ID: "event"}, SubscriptionID: d.subscription}, nil
}

func (d *desk) DropFetched(context.Context, event.DeadLetter, oversight.Actor) error {
	if d.unavailable != nil {
		return d.unavailable
	}
	d.dropped = true
	return nil
}

func (d *desk) Replay(context.Context, event.DeadLetter) (event.Run, error) {
	return event.Run{RunID: "new"}, d.answer
}

func (d *desk) MarkStarted(_ context.Context, _ string, runs map[int64]string) error {
	d.started = runs
	return nil
}

func (d *desk) Release(_ context.Context, owner string, ids ...int64) error {
	if owner == d.owner {
		d.given = append(d.given, ids...)
	}
	return nil
}

// What becomes of a dead letter that was taken, by how the start of its run ends:
//   - started: the run is kept
//   - its event has an open run already: it stays with that run, and the replay is refused
//   - its latest run has succeeded, a run is in the way, or Temporal is away: it waits again
func TestOutcomesOfAReplay(t *testing.T) {
	t.Parallel()
	away := errors.New("unavailable")
	for name, c := range map[string]struct {
		answer  error
		is      func(error) bool
		started map[int64]string
		given   []int64
	}{
		"started": {is: func(err error) bool { return err == nil }, started: map[int64]string{7: "new"}},
		"open": {
			answer:  &operation.RunExistsError{Run: event.Run{RunID: "theirs"}, Open: true},
			is:      func(err error) bool { return errors.As(err, new(*event.StateError)) },
			started: map[int64]string{7: "theirs"},
		},
		"in the way": {
			answer: &operation.RunExistsError{Run: event.Run{RunID: "theirs"}, Open: true, InTheWay: true},
			is:     func(err error) bool { return errors.As(err, new(*operation.RunExistsError)) },
			given:  []int64{7},
		},
		"succeeded": {
			answer: &operation.RunExistsError{Run: event.Run{RunID: "theirs"}},
			is:     func(err error) bool { return errors.As(err, new(*operation.RunExistsError)) },
			given:  []int64{7},
		},
		"away": {answer: away, is: func(err error) bool { return errors.Is(err, away) }, given: []int64{7}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &desk{answer: c.answer}
			_, err := (&launch.SingleReplays{DeadLetters: d, Runs: d}).Replay(t.Context(), 7, oversight.Actor{Name: "ada"})
			require.True(t, c.is(err), "%v", err)
			require.Equal(t, c.started, d.started)
			require.Equal(t, c.given, d.given)
		})
	}
}

func (d *desk) Redeliver(_ context.Context, eventID string, subscriptionID int64) error {
	d.redelivered = fmt.Sprintf("%s %d", eventID, subscriptionID)
	return d.answer
}

// To replay what could not be delivered is to send it again: no run is started. If that fails it waits again.
func TestAReplayOfADeliveryStartsNoRun(t *testing.T) {
	t.Parallel()
	away := errors.New("unavailable")
	for _, answer := range []error{nil, away} {
		d := &desk{answer: answer, subscription: 3}
		replayed, err := (&launch.SingleReplays{DeadLetters: d}).Replay(t.Context(), 7, oversight.Actor{Name: "ada"})
		require.ErrorIs(t, err, answer)
		require.Equal(t, "event 3", d.redelivered)
		require.Empty(t, replayed.Run)
		if answer == nil {
			require.Contains(t, d.started, int64(7))
		} else {
			require.Equal(t, []int64{7}, d.given)
		}
	}
}

// A replay that fetches again removes the fetched state before the run starts. If that fails, the dead letter waits again.
func TestAReplayThatFetchesAgain(t *testing.T) {
	t.Parallel()
	d := &desk{}
	_, err := (&launch.SingleReplays{DeadLetters: d, Runs: d}).Replay(t.Context(), 7, oversight.Actor{Name: "ada"})
	require.NoError(t, err)
	require.False(t, d.dropped)
	_, err = (&launch.SingleReplays{DeadLetters: d, Runs: d}).Fetch(t.Context(), 7, oversight.Actor{Name: "ada"})
	require.NoError(t, err)
	require.True(t, d.dropped)

	away := errors.New("unavailable")
	d = &desk{unavailable: away}
	_, err = (&launch.SingleReplays{DeadLetters: d, Runs: d}).Fetch(t.Context(), 7, oversight.Actor{Name: "ada"})
	require.ErrorIs(t, err, away)
	require.Empty(t, d.started)
	require.Equal(t, []int64{7}, d.given)
}
