package persistencetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
)

// DeadLetter returns a dead letter of the event's first run, which failed at noon.
func DeadLetter(r event.Receipt) event.DeadLetter {
	return event.DeadLetter{Receipt: r, Body: Body, Run: RunOf(r), Failure: event.Failure{
		Step: event.StepParse, Class: event.ClassRejected, Code: "malformed_json", Message: "not JSON",
		Attempts: 3, At: Noon,
	}}
}

// Died returns a dead letter of another run, which failed at the given time.
func Died(r event.Receipt, at time.Time) event.DeadLetter {
	d := DeadLetter(r)
	d.Run, d.Failure.At = AnotherRun(r), at
	return d
}

// Record records a dead letter.
func (d *Database) Record(letter event.DeadLetter) {
	d.T.Helper()
	require.NoError(d.T, d.DeadLetters.RecordDeadLetter(d.T.Context(), letter))
}

// DeadLetterOf returns the latest dead letter of an event.
func (d *Database) DeadLetterOf(r event.Receipt) event.DeadLetter {
	d.T.Helper()
	letter, err := d.DeadLetters.DeadLetterOfEvent(d.T.Context(), r.ID)
	require.NoError(d.T, err)
	return letter
}

// Bury records n dead letters that failed a minute apart.
func (d *Database) Bury(n int, change ...func(*event.DeadLetter)) (receipts []event.Receipt) {
	d.T.Helper()
	for i := range n {
		letter := Died(Receipt(), Noon.Add(time.Duration(i)*time.Minute))
		for _, c := range change {
			c(&letter)
		}
		d.Record(letter)
		receipts = append(receipts, letter.Receipt)
	}
	return receipts
}

// Letter records a dead letter of a new event, and returns its number.
func (d *Database) Letter() (event.Receipt, int64) {
	d.T.Helper()
	r := Receipt()
	d.Record(DeadLetter(r))
	return r, d.DeadLetterOf(r).ID
}

// RequireState fails the test unless the error says that a dead letter is in this state.
func RequireState(t *testing.T, err error, state event.DeadLetterState) {
	t.Helper()
	var refused *event.StateError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, state, refused.State)
}

// AllRows is a page of all events.
func AllRows(limit int) operation.RowPage {
	return operation.RowPage{After: event.FirstIDAt(time.Time{}), Before: event.FirstIDAt(time.Now().Add(time.Hour)), Limit: limit}
}

// CreateReplay creates a replay of the dead letters that match the filter.
func (d *Database) CreateReplay(id string, f operation.ReplayFilter) operation.Replay {
	d.T.Helper()
	r, err := d.Replays.Create(d.T.Context(), operation.Replay{Base: operation.Base{ID: id, Rate: 50}, Filter: f}, Ada)
	require.NoError(d.T, err)
	return r
}

// Automatic replays failed events of most providers.
var Automatic = operation.AutomaticReplay{
	ReplayPolicy: operation.ReplayPolicy{Base: time.Hour, Attempts: 2, Classes: []event.Class{event.ClassFailed}},
	Own: map[string]operation.ReplayPolicy{
		"quiet": {Base: time.Hour, Attempts: 2},
		"hasty": {Base: time.Minute, Attempts: 1, Classes: []event.Class{event.ClassRejected, event.ClassTransient}},
	},
	Rate: 10,
}

// Due plans the automatic replay, and claims the dead letters that are due.
func (d *Database) Due() (ids []int64) {
	d.T.Helper()
	_, _, err := d.DeadLetters.PlanAutomaticReplay(d.T.Context(), Automatic)
	require.NoError(d.T, err)
	page, err := d.DeadLetters.ClaimDue(d.T.Context(), "run-of-the-schedule", Automatic, 10, 1000)
	require.NoError(d.T, err)
	for _, letter := range page.DeadLetters {
		ids = append(ids, letter.ID)
	}
	require.Equal(d.T, len(ids) == 0, page.Drained)
	return ids
}

// ReplayLater simulates that time has passed for all dead letters, by moving the times of their replays back.
func (d *Database) ReplayLater(by time.Duration) {
	d.Exec(`UPDATE dead_letters SET next_replay_at = next_replay_at - $1::interval`, by)
}

// Claim claims a dead letter for a replay.
func (d *Database) Claim(id int64) error {
	_, err := d.DeadLetters.ClaimForReplay(d.T.Context(), "replay-1", id, Ada)
	return err
}

// ClaimAll claims what is left for a replay, n at a time.
func (d *Database) ClaimAll(id string, n int) (ids []int64) {
	d.T.Helper()
	for {
		page, err := d.Replays.ClaimPage(d.T.Context(), id, n, 1000)
		require.NoError(d.T, err)
		if page.Drained || page.State != operation.Running {
			return ids
		}
		for _, letter := range page.DeadLetters {
			require.NotEmpty(d.T, letter.Body)
			ids = append(ids, letter.ID)
		}
	}
}

// BuryDelivery returns the dead letter of a new delivery that has failed.
func (d *Database) BuryDelivery(destination int64) event.DeadLetter {
	d.T.Helper()
	id := d.Queue(destination, 1)[0]
	dead := Became(d.Lease(1, 1)[0], delivery.Final, "422")
	dead.Dead = true
	d.Settle(dead)
	page, err := d.DeadLetters.DeadLetters(d.T.Context(), event.DeadLetterQuery{EventID: id})
	require.NoError(d.T, err)
	require.Len(d.T, page, 1)
	letter, err := d.DeadLetters.DeadLetter(d.T.Context(), page[0].ID)
	require.NoError(d.T, err)
	return letter
}
