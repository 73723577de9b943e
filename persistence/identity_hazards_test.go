package persistence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// identifiedAs returns how a corrected definition parses an event.
func identifiedAs(key, fingerprint string, changes ...event.Change) event.Parsed {
	p := parsed(changes...)
	p.Identity = &event.Identity{Key: key, KeyFrom: event.KeyFromEvent, Fingerprint: fingerprint, Certain: true}
	return p
}

// recordConflict records a dead letter like the activity does.
func (d *database) recordConflict(r event.Receipt, err error) error {
	r.ConflictsWith = "unknown"
	return d.DeadLetters.RecordDeadLetter(d.t.Context(), event.DeadLetter{
		Receipt: r, Body: body, Run: anotherRun(r), Failure: event.Failure{
			Step: event.StepPersist, Class: event.ClassOf(err), Code: event.CodeOf(err), Message: err.Error(), Attempts: 1, At: r.ReceivedAt,
		},
	})
}

// An event is persisted under its corrected key, fails, and is edited: the edited event has the key of the one that it replaces,
// which is no conflict.
func TestAnEditHasTheCorrectedKeyOfItsOriginal(t *testing.T) {
	t.Parallel()
	d := open(t)
	dead, corrected := misread("evt_1")
	_, err := d.Writer.Persist(t.Context(), dead, body, corrected, runOf(dead))
	require.NoError(t, err)
	d.fail(dead, event.Rejectf("malformed_entity_id", "no ID"), "run-2")
	letter, err := d.DeadLetters.EditDeadLetter(t.Context(),
		operation.Edit{DeadLetter: d.deadLetterOf(dead).ID, EventID: receipt().ID, Body: []byte(`{"id":"evt_1"}`)}, ada)
	require.NoError(t, err)
	persisted, err := d.Writer.Process(t.Context(), letter.Receipt, letter.Body, identifiedAs("evt_1", ""), anotherRun(letter.Receipt))
	require.NoError(t, err)
	require.True(t, persisted.Processed)
	again := sentAgain("evt_1", "sha256:same")
	persisted, err = d.Writer.Process(t.Context(), again, body, parsed(), runOf(again))
	require.NoError(t, err)
	require.True(t, persisted.Duplicate)
	require.EqualValues(t, 1, d.processedEvents())
}

// Other events have both keys of an event, each with other content: the event becomes a dead letter, and isn't lost.
func TestAnEventWithoutAKeyOfItsOwnIsKept(t *testing.T) {
	t.Parallel()
	for _, certain := range []bool{true, false} {
		d := open(t)
		former, current := sentAgain("customer_1", "sha256:a"), sentAgain("evt_1", "sha256:b")
		d.process(former, parsed())
		d.process(current, parsed())
		r := receipt()
		r.Key, r.Fingerprint, r.Certain = "customer_1", "sha256:c", certain
		_, err := d.Writer.Process(t.Context(), r, body, identifiedAs("evt_1", "sha256:c"), runOf(r))
		requireClass(t, err, event.ClassConflict, event.CodeCorrectedConflict)
		require.NoError(t, d.recordConflict(r, err))
		letter := d.deadLetterOf(r)
		require.Equal(t, event.DeadLetterOpen, letter.State)
		d.take(letter.ID)
		persisted, err := d.Writer.Process(t.Context(), letter.Receipt, body, identifiedAs("evt_1", "sha256:c"), anotherRun(r))
		require.NoError(t, err)
		require.True(t, persisted.Processed)
		require.EqualValues(t, 3, d.processedEvents())
	}
}

// An event whose corrected key belongs to another event, and its redelivery, are both held: whichever an operator accepts, the
// event is processed once.
func TestAnAcceptedConflictIsProcessedOnce(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"event", "redelivery"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			other := sentAgain("evt_1", "sha256:other")
			d.process(other, parsed())
			dead, corrected := misread("evt_1")
			again := sentAgain("evt_1", "sha256:same").WithConflictKey(other.ID)
			accept := func(r event.Receipt, p event.Parsed) {
				letter := d.deadLetterOf(r)
				if letter.State != event.DeadLetterOpen {
					return
				}
				d.take(letter.ID)
				persisted, err := d.Writer.Process(t.Context(), letter.Receipt, body, p, anotherRun(r))
				require.NoError(t, err)
				if persisted.OwnerWaits { // as the workflow does
					letter.Receipt.ID = persisted.Owner
					_, err = d.Writer.Process(t.Context(), letter.Receipt, body, p, anotherRun(r))
					requireClass(t, err, event.ClassConflict, "key_conflict")
				}
			}
			d.fail(dead, event.Rejectf("missing_key", "no key"), "run-1")
			_, err := d.Writer.Process(t.Context(), again, body, parsed(), runOf(again))
			requireClass(t, err, event.ClassConflict, "key_conflict")
			d.fail(again, err, "run-2")
			if persisted, err := d.Writer.Process(t.Context(), dead, body, corrected, anotherRun(dead)); err != nil {
				requireClass(t, err, event.ClassConflict, event.CodeCorrectedConflict)
				require.NoError(t, d.recordConflict(dead, err))
			} else {
				require.Equal(t, again.ID, persisted.Owner)
			}
			if first == "event" {
				accept(dead, corrected)
				accept(again, parsed())
			} else {
				accept(again, parsed())
				accept(dead, corrected)
			}
			require.EqualValues(t, 2, d.processedEvents())
			require.Zero(t, value[int](d, `SELECT count(*) FROM dead_letters WHERE state <> 'resolved'`))
		})
	}
}

// An event of which some pages are written turns out to be a duplicate: nothing of it is left.
func TestADuplicateLeavesNoPages(t *testing.T) {
	t.Parallel()
	d := open(t)
	dead, _ := misread("evt_1")
	many := identifiedAs("evt_0", "sha256:same", append(manyThings(1200, `{"n":1}`), patch("wrong", `{"n":1}`))...)
	_, err := d.Writer.Persist(t.Context(), dead, body, many, runOf(dead))
	require.NoError(t, err)
	d.failAfter(1)
	require.Error(t, d.UpsertEntities(t.Context(), dead, many, runOf(dead)))
	d.exec(`DROP TRIGGER fail_after ON event_entities`)
	d.fail(dead, event.Rejectf("x", "x"), "run-2")
	again := sentAgain("evt_1", "sha256:same")
	d.process(again, parsed(patch("right", `{"n":1}`)))
	persisted, err := d.Writer.Persist(t.Context(), dead, body, identifiedAs("evt_1", "sha256:same", patch("right", `{"n":1}`)), anotherRun(dead))
	require.NoError(t, err)
	require.Equal(t, again.ID, persisted.Owner)
	require.Zero(t, value[int](d, `SELECT count(*) FROM event_entities WHERE event_id = $1`, dead.ID))
	require.Equal(t, 1, value[int](d, `SELECT count(*) FROM entities`))
}
