package deadletters_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/persistencetest"
)

func TestADeadLetterHoldsAllThatAReplayNeeds(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r := receipt()
	db.Record(deadLetter(r)) // it failed before it had a row

	got := db.DeadLetterOf(r)
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
	db := persistencetest.Open(t)
	r, p := receipt(), parsed()
	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
	require.NoError(t, err)

	db.Record(deadLetter(r))
	db.Record(deadLetter(r)) // the activity is retried: the same run does not count twice
	require.Equal(t, 1, db.DeadLetterOf(r).Failures)
	require.Equal(t, event.StatusDead, db.Status(r.ID))

	id := db.DeadLetterOf(r).ID
	require.NoError(t, db.Claim(id))
	require.Equal(t, event.DeadLetterReplaying, db.DeadLetterOf(r).State)

	_, err = db.Writer.Write(t.Context(), event.RowOnly, r, body, p, anotherRun(r))
	require.NoError(t, err)
	require.Equal(t, event.StatusDead, db.Status(r.ID), "an event is dead as long as its dead letter is open")

	db.Record(died(r, noon.Add(time.Hour))) // the replay fails
	again := db.DeadLetterOf(r)
	require.Equal(t, id, again.ID, "one open row an event")
	require.Equal(t, event.DeadLetterOpen, again.State)
	require.Equal(t, 2, again.Failures)
	require.Equal(t, noon, again.FirstFailed)
	require.Equal(t, noon.Add(time.Hour), again.LastFailed)

	rescue := anotherRun(r)
	require.NoError(t, db.UpsertEntities(t.Context(), r, p, rescue))
	resolved := db.DeadLetterOf(r)
	require.Equal(t, event.DeadLetterResolved, resolved.State)
	require.Equal(t, rescue.RunID, resolved.ResolvedRun)
	require.NotNil(t, resolved.ResolvedAt)
	require.Equal(t, event.StatusProcessed, db.Status(r.ID))
}

func TestALateAttemptDoesNotResurrectADeadLetter(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r := receipt()
	db.Process(r, parsed())

	t.Run("of a run that gave up before the event was processed", func(t *testing.T) {
		db.Record(died(r, time.Now().Add(-time.Minute)))
		require.Equal(t, 0, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters`))
		require.Equal(t, event.StatusProcessed, db.Status(r.ID))
	})
	t.Run("but a later run that fails is recorded", func(t *testing.T) {
		late := died(r, time.Now().Add(time.Minute))
		db.Record(late)
		require.Equal(t, event.StatusDead, db.Status(r.ID))
		require.NoError(t, db.UpsertEntities(t.Context(), r, parsed(), anotherRun(r)))
		db.Record(late) // its own retry, after the rescue
		require.Equal(t, event.StatusProcessed, db.Status(r.ID))
		require.Equal(t, 0, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
	})
}

func TestADeadLetterOfADuplicateIsResolved(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	first, second := receipt(), receipt()
	second.Key = first.Key
	db.Record(deadLetter(second))
	db.Exec(`DELETE FROM idempotency_keys`) // the previous release gave a dead letter no key
	db.Process(first, parsed())

	run := anotherRun(second)
	persisted, err := db.Writer.Write(t.Context(), event.RowOnly, second, body, parsed(), run)
	require.NoError(t, err)
	require.True(t, persisted.Duplicate)
	require.Equal(t, event.DeadLetterResolved, db.DeadLetterOf(second).State)
	require.Equal(t, run.RunID, db.DeadLetterOf(second).ResolvedRun)
}

// The owner of a key is stored and unfinished, then dead, and its redelivery has its own ID: the result says that the owner needs
// a rescue until it is processed or discarded. While it is unfinished, only a run of its own workflow reports that, since no
// other can be open then.
func TestADuplicateKnowsThatItsOwnerWaits(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	for name, end := range map[string]func(event.Receipt){
		"processed": func(r event.Receipt) { db.Process(r, parsed()) },
		"discarded": func(r event.Receipt) {
			by := oversight.Actor{Name: "ada", Reason: "test"}
			require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), db.DeadLetterOf(r).ID, by))
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
		db.Record(deadLetter(owner))
		require.True(t, waits(), name)
		end(owner)
		require.False(t, waits(), name)
	}
}

func TestFailureAndRescueAtOnceAgreeInTheEnd(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
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
		require.Equal(t, event.StatusProcessed, db.Status(r.ID))
	}
	require.Equal(t, 0, persistencetest.Value[int](db, `SELECT count(*) FROM dead_letters WHERE state = 'open'`))
}

func TestDeadLettersAreListedLastFailedFirst(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	var all []event.Receipt
	for i := range 5 {
		r := receipt()
		if i == 2 {
			r.Provider = "other"
		}
		db.Record(died(r, noon.Add(time.Duration(i/2)*time.Hour))) // pairs fail at the same time
		all = append(all, r)
	}
	list := func(q event.DeadLetterQuery) (ids []string, last *event.DeadLetterCursor) {
		page, err := db.DeadLetters.DeadLetters(t.Context(), q)
		require.NoError(t, err)
		for _, d := range page {
			require.Nil(t, d.Body)
			ids = append(ids, d.Receipt.ID)
			last = new(d.Cursor())
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
	db.Exec(`UPDATE dead_letters SET state = 'replaying', replaying_since = now() WHERE provider = 'other'`)
	db.Exec(`UPDATE dead_letters SET state = 'exhausted' WHERE id = (SELECT min(id) FROM dead_letters)`)
	waiting, err := db.DeadLetters.WaitingDeadLetters(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, waiting, "nobody has to do anything about what is being replayed")
}

func TestALongMessageIsCut(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	d := deadLetter(receipt())
	d.Failure.Message = strings.Repeat("ü", 10_000)
	db.Record(d)
	require.Len(t, db.DeadLetterOf(d.Receipt).Failure.Message, 4096)
}
