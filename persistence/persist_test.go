package persistence_test

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
)

func TestAnEventIsStoredAsItWasReceived(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed(snapshot("1", `{"n":1}`))
	r.Source, r.CorrelationID = "eu", "corr_1"
	r.Query, r.Path = map[string]string{"q": "1"}, map[string]string{"p": "2"}
	r.Root = json.RawMessage(`{"exact":1.10,"nul":"\u0000","lone":"\ud800"}`)
	r.DedupeWindow = event.Duration(time.Hour)
	r.ReceivedAt = noon.Add(123456789 * time.Nanosecond)

	persisted, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
	require.NoError(t, err)
	require.Equal(t, event.Persisted{}, persisted)

	record, err := db.Read.Event(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, sha256.Sum256(body), sha256.Sum256(record.Body))
	require.Equal(t, r, record.Receipt, "the receipt comes back exactly")
	require.Equal(t, event.StatusPersisted, record.Status)
	require.Empty(t, record.Outcome)
	require.Nil(t, record.ProcessedAt)
	require.Equal(t, runOf(r), record.Run)
	require.Empty(t, record.Links)

	require.NoError(t, db.UpsertEntities(t.Context(), r, p, runOf(r)))
	for name, find := range map[string]func() (event.Record, error){
		"by id":  func() (event.Record, error) { return db.Read.Event(t.Context(), r.ID) },
		"by key": func() (event.Record, error) { return db.Read.EventByKey(t.Context(), r.Provider, r.Key) },
	} {
		record, err := find()
		require.NoError(t, err, name)
		require.Equal(t, r.ID, record.Receipt.ID, name)
		require.Equal(t, event.StatusProcessed, record.Status, name)
		require.Equal(t, event.OutcomeProcessed, record.Outcome, name)
		require.NotNil(t, record.ProcessedAt, name)
		require.Len(t, record.Links, 1, name)
		require.JSONEq(t, `{"n":1}`, string(record.Links[0].State), name)
		require.Equal(t, "thing.changed", record.Links[0].EventType, name)
	}
}

func TestMissingThingsAreNotFound(t *testing.T) {
	t.Parallel()
	db := open(t)
	id := receipt().ID
	for name, find := range map[string]func() error{
		"event":                func() error { _, err := db.Read.Event(t.Context(), id); return err },
		"event by key":         func() error { _, err := db.Read.EventByKey(t.Context(), "acme", "x"); return err },
		"entity":               func() error { _, err := db.Read.Entity(t.Context(), thing("x")); return err },
		"dead letter":          func() error { _, err := db.DeadLetters.DeadLetter(t.Context(), 1); return err },
		"dead letter of event": func() error { _, err := db.DeadLetters.DeadLetterOfEvent(t.Context(), id); return err },
	} {
		require.ErrorIs(t, find(), event.ErrNotFound, name)
	}
}

func TestTheFirstEventOwnsTheKey(t *testing.T) {
	t.Parallel()
	db := open(t)
	first, second := receipt(), receipt()
	second.Key, second.ReceivedAt = first.Key, first.ReceivedAt.AddDate(10, 0, 0)
	db.process(first, parsed())

	for range 2 { // and again: a retry gets the same result
		persisted, err := db.Writer.Write(t.Context(), event.RowOnly, second, body, parsed(), runOf(second))
		require.NoError(t, err)
		require.Equal(t, event.Persisted{Duplicate: true, Owner: first.ID}, persisted)
	}
	_, err := db.Read.Event(t.Context(), second.ID)
	require.ErrorIs(t, err, event.ErrNotFound, "nothing of a duplicate is stored")

	err = db.UpsertEntities(t.Context(), second, parsed(snapshot("1", `{}`)), runOf(second))
	require.Equal(t, "not_persisted", event.CodeOf(err), "a duplicate must not fold")
	_, err = db.Read.Entity(t.Context(), thing("1"))
	require.ErrorIs(t, err, event.ErrNotFound)
}

func TestAKeyIsFreeAgainWhenItsWindowHasPassed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		window    time.Duration
		later     time.Duration
		duplicate bool
	}{
		{"for ever", 0, 50 * 365 * 24 * time.Hour, true},
		{"inside", 15 * time.Minute, 15*time.Minute - time.Microsecond, true},
		{"exactly at the end", 15 * time.Minute, 15 * time.Minute, false},
		{"after", 15 * time.Minute, time.Hour, false},
		{"an older one inside", 15 * time.Minute, time.Microsecond - 15*time.Minute, true},
		{"an older one that comes late", 15 * time.Minute, -time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			first, second := receipt(), receipt()
			first.DedupeWindow, second.DedupeWindow = event.Duration(c.window), event.Duration(c.window)
			second.Key, second.ReceivedAt = first.Key, first.ReceivedAt.Add(c.later)
			db.process(first, parsed())

			persisted, err := db.Writer.Write(t.Context(), event.RowOnly, second, body, parsed(), runOf(second))
			require.NoError(t, err)
			require.Equal(t, c.duplicate, persisted.Duplicate)
			owner := second.ID
			if c.duplicate || c.later < 0 {
				owner = first.ID
			}
			require.Equal(t, owner, value[string](db, `SELECT event_id::text FROM idempotency_keys`))

			// Whatever happened to its key, the first event has won it once and stays a separate event.
			again, err := db.Writer.Write(t.Context(), event.RowOnly, first, body, parsed(), runOf(first))
			require.NoError(t, err)
			require.False(t, again.Duplicate)
			require.NoError(t, db.UpsertEntities(t.Context(), first, parsed(), runOf(first)))
		})
	}
}

// A start compares with the time in the earlier event's ID, which has whole milliseconds. What it takes for a new event isn't a
// duplicate for the store.
func TestAWindowBeginsWithTheMillisecondOfItsEvent(t *testing.T) {
	t.Parallel()
	db := open(t)
	first, second := receipt(), receipt()
	first.DedupeWindow, second.DedupeWindow = event.Duration(time.Second), event.Duration(time.Second)
	accepted, ok := event.TimeOfID(first.ID)
	require.True(t, ok)
	first.ReceivedAt = accepted.Add(900 * time.Microsecond)
	second.Key, second.ReceivedAt = first.Key, accepted.Add(time.Second)
	require.True(t, second.OutsideWindowOf(accepted))
	db.process(first, parsed())
	persisted, err := db.Writer.Write(t.Context(), event.RowOnly, second, body, parsed(), runOf(second))
	require.NoError(t, err)
	require.False(t, persisted.Duplicate)
	require.Equal(t, second.ID, value[string](db, `SELECT event_id::text FROM idempotency_keys`))
}

func TestARepeatedClaimDoesNotMoveTheWindow(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	r.DedupeWindow = event.Duration(time.Hour)
	db.process(r, parsed())
	redelivered := r
	redelivered.ReceivedAt = r.ReceivedAt.Add(59 * time.Minute)
	db.process(redelivered, parsed())
	require.Equal(t, noon, value[time.Time](db, `SELECT first_seen FROM idempotency_keys`).UTC())
}

func TestOfAHundredClaimsAtOnceOneWins(t *testing.T) {
	t.Parallel()
	db := open(t)
	var mu sync.Mutex
	owners, won := map[string]int{}, []string{}
	key := receipt().Key
	var group errgroup.Group
	for range 100 {
		group.Go(func() error {
			r := receipt()
			r.Key = key
			persisted, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
			mu.Lock()
			defer mu.Unlock()
			if err == nil && persisted.Duplicate {
				owners[persisted.Owner]++
			} else if err == nil {
				won = append(won, r.ID)
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, won, 1)
	require.Equal(t, map[string]int{won[0]: 99}, owners)
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM events`))
}

func TestTheSameEventFiftyTimesAtOnceIsOneEffect(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed(snapshot("1", `{"n":1}`), patch("2", `{"m":2}`))
	var group errgroup.Group
	for range 50 {
		group.Go(func() error {
			if _, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r)); err != nil {
				return err
			}
			return db.UpsertEntities(t.Context(), r, p, runOf(r))
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM events WHERE status = 'processed'`))
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM event_entities`))
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM entities`))
}

func TestUntilItIsProcessedTheBytesOfTheLatestRunWin(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	edited, tooLate := []byte(`{"edited":true}`), []byte(`{"too":"late"}`)
	persist := func(b []byte) {
		_, err := db.Writer.Write(t.Context(), event.RowOnly, r, b, parsed(), anotherRun(r))
		require.NoError(t, err)
	}
	stored := func() event.Record {
		record, err := db.Read.Event(t.Context(), r.ID)
		require.NoError(t, err)
		return record
	}
	persist(body)
	persist(edited)
	require.Equal(t, edited, stored().Body)
	require.JSONEq(t, string(edited), string(stored().Payload))

	require.NoError(t, db.UpsertEntities(t.Context(), r, parsed(), runOf(r)))
	processed := stored()
	persist(tooLate)
	require.Equal(t, processed, stored(), "a processed event keeps its body, its time and its run")
}

func TestAnIgnoredEventIsFinishedWhenItIsPersisted(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed()
	p.Outcome = event.OutcomeIgnored
	require.NoError(t, db.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(r)))

	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, anotherRun(r))
	require.NoError(t, err)
	record, err := db.Read.Event(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, event.StatusProcessed, record.Status)
	require.Equal(t, event.OutcomeIgnored, record.Outcome)
	require.Equal(t, body, record.Body, "it is kept all the same")
	require.Equal(t, event.DeadLetterResolved, db.deadLetterOf(r).State)
}

func TestAnIgnoredEventUndoesItsChanges(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.process(r, parsed(snapshot("1", `{"n":1}`)))
	p := parsed(snapshot("1", `{"n":1}`))
	p.Outcome = event.OutcomeIgnored

	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, anotherRun(r))
	require.NoError(t, err)
	_, err = db.Read.Entity(t.Context(), thing("1"))
	require.ErrorIs(t, err, event.ErrNotFound)
	record, err := db.Read.Event(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, event.OutcomeIgnored, record.Outcome)
	require.Empty(t, record.Links)
}

func TestHostileTextIsStored(t *testing.T) {
	t.Parallel()
	db := open(t)
	const hostile = "a\x00b\xff\ud7ff'; DROP TABLE events; --"
	r, p := receipt(), parsed()
	r.Source, r.RequestID, r.CorrelationID, r.Type = hostile, hostile, hostile, hostile
	r.Headers = map[string]string{hostile: hostile}
	r.Root = json.RawMessage("{\"a\":\"\xff\"}")
	p.Type = hostile
	run := event.Run{WorkflowID: r.WorkflowID(), RunID: hostile}

	_, err := db.Writer.Write(t.Context(), event.RowOnly, r, []byte("\x00\xff not json"), p, run)
	require.NoError(t, err)
	d := deadLetter(r)
	d.Run, d.Failure.Message, d.Failure.Code, d.Failure.Class = run, hostile, hostile, "unheard of"
	require.NoError(t, db.DeadLetters.RecordDeadLetter(t.Context(), d))

	record, err := db.Read.Event(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, []byte("\x00\xff not json"), record.Body)
	require.Nil(t, record.Payload)
	require.Equal(t, "not_json", record.PayloadNote)
	require.Equal(t, event.ClassFailed, db.deadLetterOf(r).Failure.Class)
}

func TestEventsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	db := open(t)
	var all []string
	for i := range 7 {
		r, p := receipt(), parsed()
		if i%2 == 0 {
			p.Type = "even"
		}
		if i == 6 {
			r.Provider = "other"
		}
		_, err := db.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
		require.NoError(t, err)
		all = append(all, r.ID)
	}
	list := func(q event.RecordQuery) (ids []string) {
		page, err := db.Read.Events(t.Context(), q)
		require.NoError(t, err)
		for _, record := range page {
			require.Nil(t, record.Body)
			ids = append(ids, record.Receipt.ID)
		}
		return ids
	}
	require.Equal(t, []string{all[6], all[5], all[4]}, list(event.RecordQuery{Limit: 3}))
	require.Equal(t, []string{all[3], all[2]}, list(event.RecordQuery{Before: all[4], Limit: 2}))
	require.Equal(t, []string{all[4], all[2], all[0]}, list(event.RecordQuery{Provider: "acme", Type: "even"}))
	require.Equal(t, []string{all[6]}, list(event.RecordQuery{Provider: "other", Status: event.StatusPersisted}))
	require.Empty(t, list(event.RecordQuery{Status: event.StatusDead}))
}
