package persistence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/oversight"
)

// deadLetter returns a dead letter of the event's own run, which failed at noon.
func deadLetter(r event.Receipt) event.DeadLetter {
	return event.DeadLetter{Receipt: r, Body: body, Run: runOf(r), Failure: event.Failure{
		Step: event.StepParse, Class: event.ClassRejected, Code: "malformed_json", Message: "not JSON",
		Attempts: 3, At: noon,
	}}
}

// died returns a dead letter of another run, which failed at the given time.
func died(r event.Receipt, at time.Time) event.DeadLetter {
	d := deadLetter(r)
	d.Run, d.Failure.At = anotherRun(r), at
	return d
}

func (d *database) deadLetterOf(r event.Receipt) event.DeadLetter {
	d.t.Helper()
	letter, err := d.DeadLetters.DeadLetterOfEvent(d.t.Context(), r.ID)
	require.NoError(d.t, err)
	return letter
}

func (d *database) record(letter event.DeadLetter) {
	d.t.Helper()
	require.NoError(d.t, d.DeadLetters.RecordDeadLetter(d.t.Context(), letter))
}

func TestADeadLetterHoldsAllThatAReplayNeeds(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.record(deadLetter(r)) // it failed before it had a row

	got := db.deadLetterOf(r)
	require.Equal(t, r, got.Receipt)
	require.Equal(t, body, got.Body)
	require.Equal(t, event.DeadLetterOpen, got.State)
	require.Equal(t, runOf(r), got.Run)
	require.Equal(t, deadLetter(r).Failure, got.Failure)
	require.Equal(t, 1, got.Failures)
	require.Equal(t, noon, got.FirstFailed)
	require.Equal(t, noon, got.LastFailed)
	require.Nil(t, got.ResolvedAt)
}

func TestTheLifeOfADeadLetter(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed()
	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
	require.NoError(t, err)

	db.record(deadLetter(r))
	db.record(deadLetter(r)) // the activity is retried: the same run does not count twice
	require.Equal(t, 1, db.deadLetterOf(r).Failures)
	require.Equal(t, event.StatusDead, db.status(r.ID))

	id := db.deadLetterOf(r).ID
	db.take(id)
	require.Equal(t, event.DeadLetterReplaying, db.deadLetterOf(r).State)

	_, err = db.Writer.Write(t.Context(), event.RowOnly, r, body, p, anotherRun(r))
	require.NoError(t, err)
	require.Equal(t, event.StatusDead, db.status(r.ID), "an event is dead as long as its dead letter is open")

	db.record(died(r, noon.Add(time.Hour))) // the replay fails
	again := db.deadLetterOf(r)
	require.Equal(t, id, again.ID, "one open row an event")
	require.Equal(t, event.DeadLetterOpen, again.State)
	require.Equal(t, 2, again.Failures)
	require.Equal(t, noon, again.FirstFailed)
	require.Equal(t, noon.Add(time.Hour), again.LastFailed)

	rescue := anotherRun(r)
	require.NoError(t, db.UpsertEntities(t.Context(), r, p, rescue))
	resolved := db.deadLetterOf(r)
	require.Equal(t, event.DeadLetterResolved, resolved.State)
	require.Equal(t, rescue.RunID, resolved.ResolvedRun)
	require.NotNil(t, resolved.ResolvedAt)
	require.Equal(t, event.StatusProcessed, db.status(r.ID))
}

func TestALateAttemptDoesNotResurrectADeadLetter(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.process(r, parsed())

	t.Run("of a run that gave up before the event was processed", func(t *testing.T) {
		db.record(died(r, time.Now().Add(-time.Minute)))
		require.Equal(t, 0, value[int](db, `SELECT count(*) FROM dead_letters`))
		require.Equal(t, event.StatusProcessed, db.status(r.ID))
	})
	t.Run("but a later run that fails is recorded", func(t *testing.T) {
		late := died(r, time.Now().Add(time.Minute))
		db.record(late)
		require.Equal(t, event.StatusDead, db.status(r.ID))
		require.NoError(t, db.UpsertEntities(t.Context(), r, parsed(), anotherRun(r)))
		db.record(late) // its own retry, after the rescue
		require.Equal(t, event.StatusProcessed, db.status(r.ID))
		require.Equal(t, 0, value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
	})
}

func TestADeadLetterOfADuplicateIsResolved(t *testing.T) {
	t.Parallel()
	db := open(t)
	first, second := receipt(), receipt()
	second.Key = first.Key
	db.record(deadLetter(second))
	db.exec(`DELETE FROM idempotency_keys`) // the previous release gave a dead letter no key
	db.process(first, parsed())

	run := anotherRun(second)
	persisted, err := db.Writer.Write(t.Context(), event.RowOnly, second, body, parsed(), run)
	require.NoError(t, err)
	require.True(t, persisted.Duplicate)
	require.Equal(t, event.DeadLetterResolved, db.deadLetterOf(second).State)
	require.Equal(t, run.RunID, db.deadLetterOf(second).ResolvedRun)
}

// The owner of a key is stored and unfinished, then dead, and its redelivery has its own ID: the result says that the owner needs
// a rescue until it is processed or discarded. While it is unfinished, only a run of its own workflow reports that, since no
// other can be open then.
func TestADuplicateKnowsThatItsOwnerWaits(t *testing.T) {
	t.Parallel()
	db := open(t)
	for name, end := range map[string]func(event.Receipt){
		"processed": func(r event.Receipt) { db.process(r, parsed()) },
		"discarded": func(r event.Receipt) {
			by := oversight.Actor{Name: "ada", Reason: "test"}
			require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), db.deadLetterOf(r).ID, by))
		},
	} {
		owner, again := receipt(), receipt()
		again.Key = owner.Key
		waitsFor := func(run event.Run) bool {
			persisted, err := db.Writer.Write(t.Context(), event.RowOnly, again, body, parsed(), run)
			require.NoError(t, err)
			require.Equal(t, owner.ID, persisted.Owner)
			return persisted.OwnerWaits
		}
		waits := func() bool { return waitsFor(runOf(again)) }
		_, err := db.Writer.Write(t.Context(), event.RowOnly, owner, body, parsed(), runOf(owner))
		require.NoError(t, err)
		require.False(t, waitsFor(event.Run{WorkflowID: "batch/1", RunID: uuid.NewString()}), "its run may be open")
		require.True(t, waits(), "its run is gone")
		db.record(deadLetter(owner))
		require.True(t, waits(), name)
		end(owner)
		require.False(t, waits(), name)
	}
}

func TestFailureAndRescueAtOnceAgreeInTheEnd(t *testing.T) {
	t.Parallel()
	db := open(t)
	for range 20 {
		r := receipt()
		p := parsed()
		p.Outcome = event.OutcomeIgnored // persist is the rescue
		var group errgroup.Group
		group.Go(func() error { return db.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(r)) })
		group.Go(func() error {
			_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, anotherRun(r))
			return err
		})
		require.NoError(t, group.Wait())
		require.Equal(t, event.StatusProcessed, db.status(r.ID))
	}
	require.Equal(t, 0, value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
}

// UpsertEntitiesAfterPersist processes an event with its own run.
func (d *database) UpsertEntitiesAfterPersist(r event.Receipt) error {
	run := anotherRun(r)
	if _, err := d.Writer.Write(d.t.Context(), event.RowOnly, r, body, parsed(), run); err != nil {
		return err
	}
	return d.UpsertEntities(d.t.Context(), r, parsed(), run)
}

func TestDeadLettersAreListedLastFailedFirst(t *testing.T) {
	t.Parallel()
	db := open(t)
	var all []event.Receipt
	for i := range 5 {
		r := receipt()
		if i == 2 {
			r.Provider = "other"
		}
		db.record(died(r, noon.Add(time.Duration(i/2)*time.Hour))) // pairs fail at the same time
		all = append(all, r)
	}
	list := func(q event.DeadLetterQuery) (ids []string, last *event.DeadLetterCursor) {
		page, err := db.DeadLetters.DeadLetters(t.Context(), q)
		require.NoError(t, err)
		for _, d := range page {
			require.Nil(t, d.Body)
			ids = append(ids, d.Receipt.ID)
			last = pointer(d.Cursor())
		}
		return ids, last
	}
	first, cursor := list(event.DeadLetterQuery{Limit: 2})
	require.Equal(t, []string{all[4].ID, all[3].ID}, first)
	var oldest []string
	for after := (*event.DeadLetterCursor)(nil); ; {
		page, err := db.DeadLetters.DeadLetters(t.Context(), event.DeadLetterQuery{Oldest: true, Limit: 1, Before: after})
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		place := page[0].Cursor()
		oldest, after = append(oldest, page[0].Receipt.ID), &place
	}
	newest, err := db.DeadLetters.DeadLetters(t.Context(), event.DeadLetterQuery{})
	require.NoError(t, err)
	require.Len(t, oldest, len(newest))
	for n, d := range newest {
		require.Equal(t, d.Receipt.ID, oldest[len(oldest)-1-n])
	}
	rest, _ := list(event.DeadLetterQuery{Before: cursor})
	require.Equal(t, []string{all[2].ID, all[1].ID, all[0].ID}, rest)
	other, _ := list(event.DeadLetterQuery{Provider: "other", State: event.DeadLetterOpen})
	require.Equal(t, []string{all[2].ID}, other)

	counts, err := db.DeadLetters.OpenDeadLetters(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"acme": 4, "other": 1}, counts)
}

func TestALongMessageIsCut(t *testing.T) {
	t.Parallel()
	db := open(t)
	d := deadLetter(receipt())
	d.Failure.Message = strings.Repeat("ü", 10_000)
	db.record(d)
	require.Len(t, db.deadLetterOf(d.Receipt).Failure.Message, 4096)
}
