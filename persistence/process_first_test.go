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
			require.Positive(t, done[event.StatusPersisted], "some come late")
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

// Of what comes before a later snapshot nothing shows: it is processed all the same.
func TestProcessFirstKnowsWhatIsOutdone(t *testing.T) {
	t.Parallel()
	db := open(t)
	late, p := receipt(), parsed(snapshot("1", `{"n":1}`), snapshot("2", `{"n":1}`))
	p.OccurredAt = noon.Add(-time.Hour)
	db.process(receipt(), parsed(snapshot("1", `{"n":2}`)))

	status, err := db.ProcessFirst(t.Context(), late, body, p, runOf(late))
	require.NoError(t, err)
	require.Equal(t, event.StatusProcessed, status)
	db.requireStates(map[string]string{"1": `{"n":2}`, "2": `{"n":1}`})
	require.Equal(t, 3, value[int](db, `SELECT count(*) FROM event_entities`))
}

// Behind a late one there are only patches: they go on top of it, which is the upsert's work.
func TestProcessFirstLeavesTheFoldToTheUpsert(t *testing.T) {
	t.Parallel()
	db := open(t)
	late, p := receipt(), parsed(snapshot("1", `{"n":1}`), snapshot("2", `{"n":1}`))
	p.OccurredAt = noon.Add(-time.Hour)
	db.process(receipt(), parsed(patch("1", `{"m":2}`)))

	status, err := db.ProcessFirst(t.Context(), late, body, p, runOf(late))
	require.NoError(t, err)
	require.Equal(t, event.StatusPersisted, status)
	record, err := db.Event(t.Context(), late.ID)
	require.NoError(t, err)
	require.Empty(t, record.Outcome)
	require.Nil(t, record.ProcessedAt)

	require.NoError(t, db.UpsertEntities(t.Context(), late, p, runOf(late)))
	db.requireStates(map[string]string{"1": `{"n":1,"m":2}`, "2": `{"n":1}`})
}

func (d *database) requireStates(want map[string]string) {
	for id, state := range want {
		e, err := d.Entity(d.t.Context(), thing(id))
		require.NoError(d.t, err)
		require.JSONEq(d.t, state, string(e.State))
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

// Events of the same few entities, many at once and in no order: each entity ends as the fold of all.
func TestProcessFirstFoldsUnderConcurrency(t *testing.T) {
	t.Parallel()
	db := open(t)
	random := rand.New(rand.NewPCG(1, 2))
	all := map[event.EntityRef][]event.OrderedChange{}
	var group errgroup.Group
	group.SetLimit(16)
	for n := range 400 {
		r, id, state := receipt(), fmt.Sprint(random.IntN(4)), fmt.Sprintf(`{"n":%d,"k%d":1}`, n, random.IntN(5))
		change := snapshot(id, state)
		if random.IntN(3) == 0 {
			change = patch(id, state)
		}
		p := parsed(change)
		p.OccurredAt = noon.Add(time.Duration(random.IntN(100)) * time.Second)
		ref := thing(id)
		all[ref] = append(all[ref], event.OrderedChange{Order: event.OrderOf(r, p, change), Change: change})
		group.Go(func() error {
			status, err := db.ProcessFirst(t.Context(), r, body, p, runOf(r))
			if status == event.StatusProcessed {
				return err
			}
			if _, err := db.Persist(t.Context(), r, body, p, runOf(r)); err != nil {
				return err
			}
			return db.UpsertEntities(t.Context(), r, p, runOf(r))
		})
	}
	require.NoError(t, group.Wait())
	for ref, changes := range all {
		want, err := event.Fold(ref, changes)
		require.NoError(t, err)
		got, err := db.Entity(t.Context(), ref)
		require.NoError(t, err)
		require.JSONEq(t, string(want.State), string(got.State))
		require.Zero(t, want.Last.Compare(got.Last))
	}
}
