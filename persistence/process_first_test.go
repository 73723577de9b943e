package persistence_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/persistence"
)

// Whatever comes, an event leaves the same rows with the short cut and without it: see TestABatchLeavesWhatSingleEventsLeave.
func TestProcessFirstLeavesWhatTwoStepsLeave(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			source := newEventSource(t, rand.New(rand.NewPCG(seed, 17)))
			first, single := open(t), open(t)
			done := map[event.Status]int{}
			for range 400 {
				r, body := source.next()
				status := source.processFirst(first, r, body)
				done[status]++
				if status != event.StatusProcessed {
					_ = source.processSingle(first, r, body)
				}
				_ = source.processSingle(single, r, body)
				if source.random.IntN(100) == 0 {
					source.clock = source.clock.Add(2 * time.Hour) // windows of short.* pass
				}
			}
			require.Greater(t, done[event.StatusProcessed], 40, "the common case is common")
			require.Greater(t, done[event.StatusPersisted], 5, "some come late")
			require.Greater(t, done[""], 20, "some are no case for it")
			for _, query := range []string{
				`SELECT to_jsonb(e) - '{persisted_at,processed_at,run_id,receipt}'::text[], receipt::text FROM events AS e
				  WHERE $1::uuid[] IS NOT NULL ORDER BY id`,
				`SELECT to_jsonb(e) - 'updated_at' FROM entities AS e WHERE $1::uuid[] IS NOT NULL ORDER BY provider, kind, external_id`,
				`SELECT to_jsonb(e) FROM event_entities AS e WHERE $1::uuid[] IS NOT NULL ORDER BY event_id, position`,
				`SELECT to_jsonb(e) FROM idempotency_keys AS e WHERE $1::uuid[] IS NOT NULL ORDER BY provider, key`,
			} {
				require.Equal(t, rowsOf(single, query, nil), rowsOf(first, query, nil))
			}
		})
	}
}

func (s *eventSource) processFirst(d *database, r event.Receipt, body []byte) event.Status {
	p, err := s.parse(r, body)
	if err != nil {
		return ""
	}
	status, err := d.ProcessFirst(s.t.Context(), r, body, p, runOf(r))
	if err != nil {
		require.Equal(s.t, event.ClassRejected, event.ClassOf(err), err)
		return ""
	}
	return status
}

func TestProcessFirstIsForNewEventsOnly(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed(snapshot("1", `{"n":1}`))
	process := func(r event.Receipt) event.Status {
		status, err := db.ProcessFirst(t.Context(), r, body, p, runOf(r))
		require.NoError(t, err)
		return status
	}
	require.Equal(t, event.StatusProcessed, process(r))
	record, err := db.Event(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, event.OutcomeProcessed, record.Outcome)
	require.NotNil(t, record.ProcessedAt)
	require.Equal(t, body, record.Body)
	require.Empty(t, process(r), "it has been there")

	duplicate := receipt()
	duplicate.Key = r.Key
	require.Empty(t, process(duplicate), "another has the key")
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM events`))

	stored := receipt()
	_, err = db.Persist(t.Context(), stored, body, p, runOf(stored))
	require.NoError(t, err)
	require.Empty(t, process(stored), "a run before has stored it")

	dead := receipt()
	require.NoError(t, db.RecordDeadLetter(t.Context(), deadLetter(dead)))
	require.Empty(t, process(dead), "its dead letter is to be resolved")
	require.Zero(t, value[int](db, `SELECT count(*) FROM idempotency_keys WHERE event_id = '`+dead.ID+`'`), "nothing has happened")
}

func TestProcessFirstLeavesTheFoldToTheUpsert(t *testing.T) {
	t.Parallel()
	db := open(t)
	late, p := receipt(), parsed(snapshot("1", `{"n":1}`), snapshot("2", `{"n":1}`))
	p.OccurredAt = noon.Add(-time.Hour)
	db.process(receipt(), parsed(snapshot("1", `{"n":2}`)))

	status, err := db.ProcessFirst(t.Context(), late, body, p, runOf(late))
	require.NoError(t, err)
	require.Equal(t, event.StatusPersisted, status)
	record, err := db.Event(t.Context(), late.ID)
	require.NoError(t, err)
	require.Empty(t, record.Outcome)
	require.Nil(t, record.ProcessedAt)

	require.NoError(t, db.UpsertEntities(t.Context(), late, p, runOf(late)))
	for id, want := range map[string]string{"1": `{"n":2}`, "2": `{"n":1}`} {
		e, err := db.Entity(t.Context(), thing(id))
		require.NoError(t, err)
		require.JSONEq(t, want, string(e.State))
	}
}

// An entity that somebody holds delays the event for half a second, and no more: the caller stores it without.
func TestProcessFirstWaitsShortly(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) { c.LockTimeout = time.Hour })
	p := parsed(snapshot("1", `{"n":1}`))
	db.process(receipt(), p)
	tx, err := db.sql.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `SELECT FROM entities FOR UPDATE`)
	require.NoError(t, err)

	r := receipt()
	_, err = db.ProcessFirst(t.Context(), r, body, p, runOf(r))
	require.Equal(t, event.ClassTransient, event.ClassOf(err))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM events`))
	_, err = db.Persist(t.Context(), r, body, p, runOf(r))
	require.NoError(t, err)
}

func TestTheSameEventFiftyTimesAtOnceIsProcessedOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, p := receipt(), parsed(snapshot("1", `{"n":1}`), snapshot("2", `{"n":2}`))
	statuses := make([]event.Status, 50)
	var group errgroup.Group
	for i := range statuses {
		group.Go(func() (err error) {
			statuses[i], err = db.ProcessFirst(t.Context(), r, body, p, runOf(r))
			return err
		})
	}
	require.NoError(t, group.Wait())
	count := map[event.Status]int{}
	for _, s := range statuses {
		count[s]++
	}
	require.Equal(t, map[event.Status]int{event.StatusProcessed: 1, "": 49}, count)
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM event_entities`))
}
