package persistence_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// guessed returns an event whose key its definition guesses.
func guessed(content string, later time.Duration) event.Receipt {
	r := receiptAt(noon.Add(later))
	r.Content = content
	return r
}

func repeats(hold bool, flood int) event.Parsed {
	p := parsed()
	p.Repeats = &event.Repeats{Hold: hold, Flood: flood}
	return p
}

func requireClass(t testing.TB, err error, class event.Class, code string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, class, event.ClassOf(err), err)
	require.Equal(t, code, event.CodeOf(err))
}

func (d *database) duplicateOf(r event.Receipt) string {
	d.t.Helper()
	return value[string](d, `SELECT coalesce(possible_duplicate_of::text, '') FROM events WHERE id = $1::uuid`, r.ID)
}

func (d *database) fail(r event.Receipt, err error, run string) {
	d.t.Helper()
	require.NoError(d.t, d.DeadLetters.RecordDeadLetter(d.t.Context(), event.DeadLetter{
		Receipt: r, Body: body, Run: event.Run{WorkflowID: r.WorkflowID(), RunID: run},
		Failure: event.Failure{
			Step: event.StepPersist, Class: event.ClassOf(err), Code: event.CodeOf(err), Message: err.Error(), Attempts: 1, At: r.ReceivedAt,
		},
	}))
}

// Two events have equal content and different keys:
//   - the second is stored and names the first, in whatever way it arrives
//   - events from more than 30 days before, or of another provider, don't count
//   - a retry of the second changes nothing
func TestAnEventWithEqualContentIsMarked(t *testing.T) {
	t.Parallel()
	d := open(t)
	first, second, later := guessed("same", 0), guessed("same", time.Hour), guessed("same", 30*24*time.Hour+30*time.Minute)
	stranger := guessed("same", time.Minute)
	stranger.Provider = "other"
	for _, r := range []event.Receipt{first, second, stranger, second, later} {
		persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, r, body, repeats(false, 0), runOf(r))
		require.NoError(t, err)
		require.True(t, persisted.Processed)
	}
	require.Empty(t, d.duplicateOf(first))
	require.Equal(t, first.ID, d.duplicateOf(second))
	require.Empty(t, d.duplicateOf(stranger))
	require.Equal(t, second.ID, d.duplicateOf(later), "the first one in 30 days")

	stepwise, batched := guessed("same", 2*time.Hour), guessed("same", 3*time.Hour)
	d.process(stepwise, repeats(false, 0))
	d.bulk(batched)
	d.batch(event.Run{WorkflowID: "batch/1", RunID: "1"}, nil)
	require.Equal(t, first.ID, d.duplicateOf(stepwise))
	require.Equal(t, first.ID, d.duplicateOf(batched))
}

// Of concurrent events with equal content, one is the first, and all others name it.
func TestEventsThatComeTogetherSeeEachOther(t *testing.T) {
	t.Parallel()
	d := open(t)
	var together errgroup.Group
	for range 20 {
		r := guessed("same", 0)
		together.Go(func() error {
			_, err := d.Writer.Write(t.Context(), event.WholeEvent, r, body, repeats(false, 0), runOf(r))
			return err
		})
	}
	require.NoError(t, together.Wait())
	require.EqualValues(t, 1, value[int64](d, `SELECT count(*) FROM events WHERE possible_duplicate_of IS NULL`))
	require.EqualValues(t, 19, value[int64](d, `
SELECT count(*) FROM events WHERE possible_duplicate_of NOT IN (SELECT id FROM events WHERE possible_duplicate_of IS NOT NULL)`),
		"they name an event that came before them")
}

// A definition holds possible repeats:
//   - nothing of them is stored, folded or delivered, and they stay dead letters however often they are tried
//   - others of their group are stored
//   - a bulk replay processes them only if its filter names them
//   - the replay of an operator accepts them
func TestAHeldEventWaitsForAnOperator(t *testing.T) {
	t.Parallel()
	d := open(t)
	first, second, other := guessed("same", 0), guessed("same", time.Hour), guessed("another", 0)
	hold := repeats(true, 0)
	hold.Changes = parsed(snapshot("1", `{"n":1}`)).Changes
	for _, r := range []event.Receipt{first, other} {
		_, err := d.Writer.Write(t.Context(), event.WholeEvent, r, body, hold, runOf(r))
		require.NoError(t, err)
	}
	for range 2 {
		_, err := d.Writer.Write(t.Context(), event.WholeEvent, second, body, hold, runOf(second))
		requireClass(t, err, event.ClassInDoubt, "possible_duplicate")
		require.Contains(t, err.Error(), first.ID)
		_, err = d.Writer.Write(t.Context(), event.RowOnly, second, body, hold, runOf(second))
		requireClass(t, err, event.ClassInDoubt, "possible_duplicate")
		d.fail(second, err, "run-1")
	}
	require.EqualValues(t, 2, value[int64](d, `SELECT count(*) FROM events`))
	require.Equal(t, "open", value[string](d, `SELECT state FROM dead_letters`))
	require.Equal(t, "in_doubt", value[string](d, `SELECT error_class FROM dead_letters`))

	for class, count := range map[event.Class]int64{"": 0, event.ClassInDoubt: 1} {
		plan, err := d.Replays.Plan(t.Context(), operation.ReplayFilter{Provider: "acme", Class: class})
		require.NoError(t, err)
		require.Equal(t, count, plan.Count, class)
	}

	letter, err := d.DeadLetters.DeadLetterOfEvent(t.Context(), second.ID)
	require.NoError(t, err)
	_, err = d.DeadLetters.ClaimForReplay(t.Context(), "", letter.ID, oversight.Actor{Name: "ada"})
	require.NoError(t, err)
	_, err = d.Writer.Write(t.Context(), event.WholeEvent, letter.Receipt, body, hold, event.Run{WorkflowID: second.WorkflowID(), RunID: "run-2"})
	require.NoError(t, err)
	require.Equal(t, first.ID, d.duplicateOf(second))
	require.Equal(t, "resolved", value[string](d, `SELECT state FROM dead_letters`))
}

// A replay of a dead letter with another cause doesn't accept it as a repeat.
func TestOnlyTheReplayOfAHeldEventAcceptsIt(t *testing.T) {
	t.Parallel()
	d := open(t)
	first, second := guessed("same", 0), guessed("same", time.Hour)
	d.process(first, repeats(true, 0))
	d.fail(second, event.Rejectf("malformed_json", "no JSON"), "run-1")
	letter, err := d.DeadLetters.DeadLetterOfEvent(t.Context(), second.ID)
	require.NoError(t, err)
	_, err = d.DeadLetters.ClaimForReplay(t.Context(), "", letter.ID, oversight.Actor{Name: "ada"})
	require.NoError(t, err)
	_, err = d.Writer.Write(t.Context(), event.WholeEvent, second, body, repeats(true, 0), runOf(second))
	requireClass(t, err, event.ClassInDoubt, "possible_duplicate")
}

// The first event fails before it is stored: the second is marked or held all the same.
func TestADeadEventCountsAsTheFirst(t *testing.T) {
	t.Parallel()
	d := open(t)
	first, second, third := guessed("same", 0), guessed("same", time.Hour), guessed("same", 2*time.Hour)
	d.fail(first, event.Rejectf("contract", "a field is missing"), "run-1")
	d.process(second, repeats(false, 0))
	require.Equal(t, first.ID, d.duplicateOf(second))
	_, err := d.Writer.Write(t.Context(), event.WholeEvent, third, body, repeats(true, 0), runOf(third))
	requireClass(t, err, event.ClassInDoubt, "possible_duplicate")
	require.Equal(t, "open", value[string](d, `SELECT state FROM dead_letters`), "the first stays dead")
}

// Events of one content beyond the daily limit are held; those of the next day are not.
func TestAFloodOfOneContentIsHeld(t *testing.T) {
	t.Parallel()
	d := open(t)
	for i := range 4 {
		r := guessed("same", time.Duration(i)*time.Minute)
		_, err := d.Writer.Write(t.Context(), event.WholeEvent, r, body, repeats(false, 3), runOf(r))
		if i < 3 {
			require.NoError(t, err, i)
			continue
		}
		requireClass(t, err, event.ClassInDoubt, "repeat_flood")
	}
	next := guessed("same", 48*time.Hour)
	d.process(next, repeats(false, 3))
	require.EqualValues(t, 4, value[int64](d, `SELECT count(*) FROM events`))
}

// A certain key, with other content:
//   - the event is held as a conflict, which is recorded, and the owner keeps the key
//   - under its own key it is held until an operator replays it
//   - a redelivery of the owner under such a key is its duplicate
func TestAConflictUnderACertainKeyIsHeld(t *testing.T) {
	t.Parallel()
	d := open(t)
	first := receipt()
	first.Certain, first.Fingerprint = true, "sha256:a"
	d.process(first, parsed())
	second := sameKey(first, time.Minute)
	second.Certain, second.Fingerprint = true, "sha256:b"
	for _, scope := range []event.Scope{event.WholeEvent, event.RowOnly, event.WholeOrRow} {
		persisted, err := d.Writer.Write(t.Context(), scope, second, body, parsed(), runOf(second))
		requireClass(t, err, event.ClassConflict, "key_conflict")
		require.NotNil(t, persisted.Conflict, "it is reported")
		require.Contains(t, err.Error(), first.ID)
	}
	require.Len(t, d.conflicts(), 1)

	apart := second.WithConflictKey(first.ID)
	require.NotEqual(t, second.Key, apart.Key)
	_, err := d.Writer.Write(t.Context(), event.WholeEvent, apart, body, parsed(), runOf(apart))
	requireClass(t, err, event.ClassConflict, "key_conflict")
	d.fail(apart, err, "run-1")
	letter, err := d.DeadLetters.DeadLetterOfEvent(t.Context(), second.ID)
	require.NoError(t, err)
	_, err = d.DeadLetters.ClaimForReplay(t.Context(), "", letter.ID, oversight.Actor{Name: "ada"})
	require.NoError(t, err)
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, letter.Receipt, body, parsed(), runOf(apart))
	require.NoError(t, err)
	require.False(t, persisted.Duplicate)
	require.EqualValues(t, 2, value[int64](d, `SELECT count(*) FROM events WHERE status = 'processed'`))

	redelivery := sameKey(first, time.Hour)
	redelivery.Certain, redelivery.Fingerprint = true, first.Fingerprint
	redelivery = redelivery.WithConflictKey(second.ID)
	persisted, err = d.Writer.Write(t.Context(), event.WholeEvent, redelivery, body, parsed(), runOf(redelivery))
	require.NoError(t, err)
	require.True(t, persisted.Duplicate)
	require.Equal(t, first.ID, persisted.Owner)
}

// The batch leaves a held event to a workflow of its own, and processes the others.
func TestAHeldEventLeavesTheBatch(t *testing.T) {
	t.Parallel()
	d := open(t)
	first, second, other := receipt(), receipt(), receipt()
	first.Certain, first.Fingerprint = true, "sha256:a"
	d.process(first, parsed())
	second.Key, second.Certain, second.Fingerprint = first.Key, true, "sha256:b"
	d.bulk(second)
	d.bulk(other)
	outcomes := map[string]event.Outcome{}
	for _, e := range d.batch(event.Run{WorkflowID: "batch/1", RunID: "1"}, nil) {
		outcomes[e.Receipt.ID] = e.Outcome
	}
	require.Equal(t, map[string]event.Outcome{second.ID: event.OutcomeLeft, other.ID: event.OutcomeProcessed}, outcomes)
	require.Equal(t, "overflow", value[string](d, `SELECT lane FROM inbox`))
}

// A redelivery after an upgrade has another key:
//   - it is a duplicate of the event that has the earlier key and the same fingerprint
//   - with another fingerprint it is a separate event
//   - an event of the previous release that is still in progress is a duplicate of its redelivery, and not of another event
//   - two new events that share only the earlier key are two
func TestAnEventIsKnownByItsEarlierKey(t *testing.T) {
	t.Parallel()
	d := open(t)
	old := receipt()
	old.Fingerprint = "guid-1"
	d.process(old, parsed())
	renamed := func(from event.Receipt, fingerprint string) event.Receipt {
		r := guessed(fmt.Sprint("content of ", from.Key), time.Minute)
		r.Earlier = &event.EarlierKey{Key: from.Key, Fingerprint: fingerprint}
		return r
	}
	again := renamed(old, "guid-1")
	for range 2 {
		persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, again, body, repeats(false, 0), runOf(again))
		require.NoError(t, err)
		require.True(t, persisted.Duplicate)
		require.Equal(t, old.ID, persisted.Owner)
	}
	another := renamed(old, "guid-2")
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, another, body, repeats(false, 0), runOf(another))
	require.NoError(t, err)
	require.True(t, persisted.Processed)

	waiting := receipt()
	waiting.Fingerprint = "guid-3"
	first := renamed(waiting, "guid-3")
	d.process(first, repeats(false, 0))
	persisted, err = d.Writer.Write(t.Context(), event.WholeEvent, waiting, body, parsed(), runOf(waiting))
	require.NoError(t, err)
	require.True(t, persisted.Duplicate)
	require.Equal(t, first.ID, persisted.Owner)

	stranger := receipt()
	stranger.Fingerprint = "guid-5"
	d.process(renamed(stranger, "guid-4"), repeats(false, 0))
	persisted, err = d.Writer.Write(t.Context(), event.WholeEvent, stranger, body, parsed(), runOf(stranger))
	require.NoError(t, err)
	require.True(t, persisted.Processed)

	one, two := renamed(receipt(), "sha256:same"), guessed("another", time.Hour)
	two.Earlier = one.Earlier
	for _, r := range []event.Receipt{one, two} {
		persisted, err = d.Writer.Write(t.Context(), event.WholeEvent, r, body, repeats(false, 0), runOf(r))
		require.NoError(t, err)
		require.True(t, persisted.Processed)
	}
}

// The first event is dead, and later ones with the same content are held because of it: the first can still be rescued, also
// automatically. If the others held it, none could proceed.
func TestTheFirstEventIsNotHeldForALaterOneThatIsHeld(t *testing.T) {
	t.Parallel()
	d := open(t)
	first, second, third := guessed("same", 0), guessed("same", time.Hour), guessed("same", 2*time.Hour)
	d.fail(first, &event.Error{Class: event.ClassFailed, Code: "upstream", Text: "it failed"}, "run-1")
	_, err := d.Writer.Write(t.Context(), event.WholeEvent, second, body, repeats(true, 0), runOf(second))
	requireClass(t, err, event.ClassInDoubt, "possible_duplicate")
	d.fail(second, err, "run-2")
	_, err = d.Writer.Write(t.Context(), event.WholeEvent, third, body, repeats(true, 0), runOf(third))
	d.fail(third, err, "run-3")
	letter, err := d.DeadLetters.DeadLetterOfEvent(t.Context(), third.ID)
	require.NoError(t, err)
	require.NoError(t, d.discardLetter(letter.ID))

	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, first, body, repeats(true, 0), runOf(first))
	require.NoError(t, err)
	require.True(t, persisted.Processed)
	require.Empty(t, d.duplicateOf(first))
	_, err = d.Writer.Write(t.Context(), event.WholeEvent, second, body, repeats(true, 0), runOf(second))
	requireClass(t, err, event.ClassInDoubt, "possible_duplicate")
}

// A duplicate isn't the first event of a content: a batch has a redelivery of an expunged event, and an event with the same
// content.
func TestARedeliveryIsNotTheFirstEvent(t *testing.T) {
	t.Parallel()
	d := open(t)
	gone := guessed("same", 0)
	d.process(gone, repeats(false, 0))
	_, err := d.Upkeep.Expunge(t.Context(), gone.ID, 0, ada)
	require.NoError(t, err)
	again, other := guessed("same", time.Minute), guessed("same", time.Hour)
	again.Key = gone.Key
	d.bulk(again)
	d.bulk(other)
	d.batch(event.Run{WorkflowID: "batch/1", RunID: "1"}, nil)
	require.Zero(t, value[int64](d, `SELECT count(*) FROM events WHERE id = $1::uuid`, again.ID))
	require.Empty(t, d.duplicateOf(other))
}

// A possible duplicate is reported once, however often the step runs: if its result was lost, and if a redelivery runs a held
// event again.
func TestAPossibleDuplicateIsReportedOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	first, accepted, held, batched := guessed("same", 0), guessed("same", time.Hour), guessed("same", 2*time.Hour), guessed("same", 3*time.Hour)
	d.process(first, repeats(false, 0))
	for n := range 3 {
		persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, accepted, body, repeats(false, 0), runOf(accepted))
		require.NoError(t, err)
		require.Equal(t, n == 0, persisted.PossibleDuplicateOf != "")
		persisted, err = d.Writer.Write(t.Context(), event.WholeEvent, held, body, repeats(true, 0), runOf(held))
		requireClass(t, err, event.ClassInDoubt, "possible_duplicate")
		require.Equal(t, n == 0, persisted.PossibleDuplicateOf != "")
		persisted, err = d.Writer.Write(t.Context(), event.RowOnly, held, body, repeats(true, 0), runOf(held))
		requireClass(t, err, event.ClassInDoubt, "possible_duplicate")
		require.Empty(t, persisted.PossibleDuplicateOf)
	}
	d.bulk(batched)
	left, err := d.Writer.ProcessBatch(t.Context(), 10, event.Run{WorkflowID: "batch/1", RunID: "1"},
		func(event.Receipt, []byte) (event.Parsed, error) { return repeats(true, 0), nil })
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, event.OutcomeLeft, left[0].Outcome)
	require.Equal(t, first.ID, left[0].PossibleDuplicateOf)
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, batched, body, repeats(true, 0), runOf(batched))
	requireClass(t, err, event.ClassInDoubt, "possible_duplicate")
	require.Empty(t, persisted.PossibleDuplicateOf)
}

// An operator's edit is a separate event, also if the previous release used another key for the original.
func TestAnEditIsNotADuplicateByTheEarlierKey(t *testing.T) {
	t.Parallel()
	d := open(t)
	old := receipt()
	old.Fingerprint = "guid-1"
	again := guessed("content", time.Minute)
	again.Earlier = &event.EarlierKey{Key: old.Key, Fingerprint: "guid-1"}
	d.fail(again, event.Rejectf("contract", "a field is missing"), "run-1")
	d.exec(`DELETE FROM idempotency_keys`) // a dead letter of the previous release claimed none
	d.process(old, parsed())
	letter, err := d.DeadLetters.DeadLetterOfEvent(t.Context(), again.ID)
	require.NoError(t, err)
	edited, err := d.DeadLetters.EditDeadLetter(t.Context(), operation.Edit{DeadLetter: letter.ID, EventID: receipt().ID, Body: body}, ada)
	require.NoError(t, err)
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, edited.Receipt, edited.Body, parsed(), runOf(edited.Receipt))
	require.NoError(t, err)
	require.False(t, persisted.Duplicate)
	require.True(t, persisted.Processed)
}

// No more than the daily limit of one content is accepted, also if its events are concurrent, or in one batch.
func TestAFloodIsHeldHoweverItComes(t *testing.T) {
	t.Parallel()
	d := open(t)
	const share, many = 5, 40
	var together errgroup.Group
	var held atomic.Int64
	for range many {
		r := guessed("same", 0)
		together.Go(func() error {
			_, err := d.Writer.Write(t.Context(), event.WholeEvent, r, body, repeats(false, share), runOf(r))
			if event.CodeOf(err) == "repeat_flood" {
				held.Add(1)
				return nil
			}
			return err
		})
	}
	require.NoError(t, together.Wait())
	require.EqualValues(t, many-share, held.Load())
	for range many {
		d.bulk(guessed("another", 0))
	}
	outcomes := map[event.Outcome]int{}
	for range 2 {
		batch, err := d.Writer.ProcessBatch(t.Context(), many, event.Run{WorkflowID: "batch/1", RunID: "1"},
			func(event.Receipt, []byte) (event.Parsed, error) { return repeats(false, share), nil })
		require.NoError(t, err)
		for _, e := range batch {
			outcomes[e.Outcome]++
		}
	}
	require.Equal(t, map[event.Outcome]int{event.OutcomeProcessed: share, event.OutcomeLeft: many - share}, outcomes)
	require.EqualValues(t, 2*share, value[int64](d, `SELECT count(*) FROM events`))
}
