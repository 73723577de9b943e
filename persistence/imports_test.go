package persistence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/event/retention"
)

// mover imports items into a database, page by page.
type mover struct {
	*database

	n    int // items per page
	made int
	line int64
}

func newMover(db *database, n int) *mover { return &mover{database: db, n: n} }

// stage stages items, and creates their import.
func (m *mover) stage(items ...operation.ImportItem) string {
	m.t.Helper()
	m.made++
	id := fmt.Sprintf("%s-%04d", time.Now().UTC().Format("20060102-150405"), m.made)
	require.NoError(m.t, m.Imports.StageImport(m.t.Context(), id, true, items))
	i, err := m.Imports.Create(m.t.Context(), operation.Import{Base: operation.Base{ID: id, Rate: 50}, Name: "old.ndjson"}, oversight.Actor{Name: "ada"})
	require.NoError(m.t, err)
	require.EqualValues(m.t, len(items), i.Total)
	return id
}

func (m *mover) bring(items ...operation.ImportItem) operation.Import {
	m.t.Helper()
	return m.finish(m.stage(items...))
}

func (m *mover) finish(id string) operation.Import { return m.finishWith(id, readImported) }

func (m *mover) finishWith(id string, parse event.Parser) operation.Import {
	m.t.Helper()
	for {
		i, err := m.Imports.Page(m.t.Context(), id, m.n, parse)
		require.NoError(m.t, err)
		if i.State != operation.Running {
			require.Zero(m.t, value[int](m.database, `SELECT count(*) FROM import_rows WHERE import_id = $1`, id))
			return i
		}
	}
}

// readImported replaces a definition: a body is the patch of one entity, without the time at which it occurred.
func readImported(r event.Receipt, body []byte) (event.Parsed, error) {
	var of struct {
		ID    string
		State json.RawMessage
	}
	if json.Unmarshal(body, &of) != nil {
		return event.Parsed{}, event.Rejectf("malformed_json", "no JSON")
	}
	p := parsed(patch(of.ID, string(of.State)))
	p.OccurredAt, p.OccurredAtMissing = r.ReceivedAt, true
	return p, nil
}

func patchBody(id, state string) []byte {
	return []byte(fmt.Sprintf(`{"id":%q,"state":%s}`, id, state))
}

func (m *mover) receipt(key string, at time.Time) event.Receipt {
	m.line++
	return event.Receipt{
		ID: operation.ImportedID("acme", key, at), Provider: "acme", Key: key, KeyFrom: event.KeyFromEvent, Type: "thing.changed",
		ReceivedAt: at, Imported: &event.Imported{Attempts: 2},
	}
}

func (m *mover) event(key string, at time.Time, body []byte) operation.ImportItem {
	return operation.ImportItem{Record: operation.ImportEvent, Receipt: m.receipt(key, at), Body: body, Line: m.line}
}

func (m *mover) key(key string, at time.Time) operation.ImportItem {
	r := m.receipt(key, at)
	r.ID, r.Imported = operation.KeyOwnerID("acme", key), nil
	return operation.ImportItem{Record: operation.ImportKey, Receipt: r, Line: m.line}
}

func (m *mover) letter(key string, at time.Time, body []byte, isExhausted bool) operation.ImportItem {
	return operation.ImportItem{
		Record: operation.ImportDeadLetter, Receipt: m.receipt(key, at), Body: body, Line: m.line,
		Failure: &operation.ImportFailure{
			Exhausted: isExhausted, Attempts: 4, Error: "connection refused", FirstFailedAt: at, LastFailedAt: at.Add(time.Hour),
		},
	}
}

func (m *mover) snapshot(id, state string, at time.Time) operation.ImportItem {
	m.line++
	return operation.ImportItem{
		Record: operation.ImportEntity, Line: m.line,
		Entity: &operation.ImportSnapshot{EntityRef: thing(id), State: json.RawMessage(state), AsOf: at},
	}
}

// live processes an event that a provider sends now.
func (d *database) live(key string, at time.Time, body []byte) (event.Receipt, event.Persisted) {
	d.t.Helper()
	r := receipt()
	r.Key, r.ReceivedAt = key, at
	p, err := readImported(r, body)
	require.NoError(d.t, err)
	persisted, err := d.Writer.Write(d.t.Context(), event.WholeEvent, r, body, p, runOf(r))
	require.NoError(d.t, err)
	return r, persisted
}

func summary(i operation.Import) string {
	n := i.Counts.Sum()
	return fmt.Sprintf("%d of %d: %d new, %d there, %d unreadable, %d failed (%s)", i.Read, i.Total, n.New, n.There, n.Unreadable,
		n.Failed, i.State)
}

// Whatever is imported, in whatever order and page size, before and after live events:
//   - the states of entities are the fold of all their events, in the order of their own times
//   - importing the same items again changes nothing, to the byte
//   - a dry run counts the results, and changes nothing
func TestImportsAreIdempotent(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 16))
			m := newMover(open(t), 1+random.IntN(20))
			all := map[event.EntityRef][]event.OrderedChange{}
			says := func(id string, at time.Time, c event.Change, eventID string) {
				all[thing(id)] = append(all[thing(id)], event.OrderedChange{Order: event.Order{OccurredAt: at, EventID: eventID}, Change: c})
			}
			var items []operation.ImportItem
			for n := range 60 {
				id, key := fmt.Sprint(random.IntN(5)), fmt.Sprintf("old_%d", n)
				at := noon.Add(-time.Duration(random.IntN(1000)) * time.Minute)
				state := fmt.Sprintf(`{"f%d":%d}`, random.IntN(3), n)
				switch random.IntN(5) {
				case 0:
					items = append(items, m.key(key, at))
				case 1:
					items = append(items, m.letter(key, at, patchBody(id, state), n%2 == 0))
				case 2:
					item := m.snapshot(id, state, at)
					items = append(items, item)
					says(id, at, snapshot(id, state), item.Entity.ID())
				default:
					item := m.event(key, at, patchBody(id, state))
					items = append(items, item)
					says(id, at, patch(id, state), item.Receipt.ID)
				}
			}
			for n := range 10 {
				id, state := fmt.Sprint(random.IntN(5)), fmt.Sprintf(`{"f%d":"today"}`, random.IntN(3))
				at := noon.Add(time.Duration(n) * time.Minute)
				r, _ := m.live(fmt.Sprintf("new_%d", n), at, patchBody(id, state))
				says(id, at, patch(id, state), r.ID)
			}
			before := m.everything()
			random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			counts, problems, err := m.Imports.TryImport(t.Context(), items, readImported)
			require.NoError(t, err)
			require.Empty(t, problems)
			require.Equal(t, before, m.everything(), "a dry run writes nothing")

			first := m.bring(items...)
			require.Equal(t, "60 of 60: 60 new, 0 there, 0 unreadable, 0 failed (completed)", summary(first))
			require.Equal(t, counts, first.Counts)
			for ref, changes := range all {
				want, err := fold.Of(ref, changes)
				require.NoError(t, err)
				require.JSONEq(t, string(want.State), m.stateOf(ref), "%v", ref)
			}

			after := m.everything()
			random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			require.Equal(t, "60 of 60: 0 new, 60 there, 0 unreadable, 0 failed (completed)", summary(m.bring(items...)))
			require.Equal(t, after, m.everything())
		})
	}
}

// An old event is imported after a newer one, without the time at which it occurred: it folds before it. If its provider sent it
// again instead, it would count as the newest (seen on 2026-11-22: 150 became 100).
func TestAnImportedEventFoldsBelow(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	m.live("new", noon, patchBody("car", `{"mileage":150}`))
	item := m.event("old", noon.Add(-24*time.Hour), patchBody("car", `{"mileage":100,"plate":"A 1"}`))
	m.bring(item)
	require.JSONEq(t, `{"mileage":150,"plate":"A 1"}`, m.stateOf(thing("car")))

	stored, err := m.Read.Event(t.Context(), item.Receipt.ID)
	require.NoError(t, err)
	require.Equal(t, noon.Add(-24*time.Hour), stored.OccurredAt)
	require.Equal(t, noon.Add(-24*time.Hour), stored.Receipt.ReceivedAt)
	require.Equal(t, event.StatusProcessed, stored.Status)
	require.Equal(t, 2, stored.Receipt.Imported.Attempts)
	require.NotEmpty(t, stored.Receipt.Imported.ID)
	require.Equal(t, item.Body, stored.Body)
	newest, err := m.Read.Events(t.Context(), event.RecordQuery{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "new", newest[0].Receipt.Key, "the list is newest first")
}

// A provider sends an event again that the previous system has handled:
//   - by a workflow or in a batch, it is a duplicate of a key, of an event and of a dead letter
//   - for an open dead letter the result says so, so that the redelivery rescues it
func TestARedeliveryOfAnImportedEventIsADuplicate(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	old := noon.Add(-time.Hour)
	key, stored, dead := m.key("key", old), m.event("event", old, patchBody("1", `{"n":1}`)), m.letter("dead", old, patchBody("1", `{"n":2}`), false)
	m.bring(key, stored, dead)
	before := m.everything()
	for _, of := range []operation.ImportItem{key, stored, dead} {
		_, persisted := m.live(of.Receipt.Key, noon, patchBody("1", `{"n":3}`))
		require.True(t, persisted.Duplicate, of.Record)
		require.Equal(t, of.Receipt.ID, persisted.Owner)
		require.Equal(t, of.Record == operation.ImportDeadLetter, persisted.OwnerWaits)
	}
	inbox := m.Inbox.NewInboxWriter()
	for _, of := range []operation.ImportItem{key, stored} {
		r := receipt()
		r.Key = of.Receipt.Key
		_, err := inbox.Spool(t.Context(), event.LaneBulk, r, patchBody("1", `{"n":3}`), false)
		require.NoError(t, err)
	}
	batch, err := m.Writer.ProcessBatch(t.Context(), 10, newBatchRun(), readImported)
	require.NoError(t, err)
	require.Len(t, batch, 2)
	for _, e := range batch {
		require.Equal(t, event.OutcomeDuplicate, e.Outcome)
	}
	require.Equal(t, before, m.everything())
}

// A key with a window of a day was seen two days ago: the next event of the key is a separate event.
func TestAnImportedKeyHoldsForItsWindow(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	key := m.key("daily", noon.Add(-48*time.Hour))
	key.Receipt.DedupeWindow = event.Duration(24 * time.Hour)
	m.bring(key)
	require.Equal(t, noon.Add(-24*time.Hour), value[time.Time](m.database, `SELECT expires_at FROM idempotency_keys`).UTC())
	r := receipt()
	r.Key, r.DedupeWindow = "daily", event.Duration(24*time.Hour)
	persisted, err := m.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(), runOf(r))
	require.NoError(t, err)
	require.False(t, persisted.Duplicate)
}

// A key with a window of 15 minutes belongs to a live event. A dead letter of the same key that failed hours earlier is another
// event: it is imported once, and a replay processes it.
func TestAnImportedDeadLetterFromBeforeTheWindowIsAnother(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	today, dead := m.event("key", noon, patchBody("1", `{"n":2}`)), m.letter("key", noon.Add(-time.Hour), patchBody("1", `{"m":1}`), false)
	today.Receipt.DedupeWindow = event.Duration(15 * time.Minute)
	dead.Receipt.DedupeWindow = today.Receipt.DedupeWindow
	m.bring(today)
	require.Equal(t, "1 of 1: 1 new, 0 there, 0 unreadable, 0 failed (completed)", summary(m.bring(dead)))
	before := m.everything()
	require.Equal(t, "1 of 1: 0 new, 1 there, 0 unreadable, 0 failed (completed)", summary(m.bring(dead)))
	require.Equal(t, before, m.everything())
	taken, err := m.DeadLetters.ClaimForReplay(t.Context(), "replay", m.deadLetterOf(dead.Receipt).ID, oversight.Actor{Name: "ada"})
	require.NoError(t, err)
	p, err := readImported(taken.Receipt, taken.Body)
	require.NoError(t, err)
	_, err = m.Writer.Write(t.Context(), event.WholeEvent, taken.Receipt, taken.Body, p, runOf(taken.Receipt))
	require.NoError(t, err)
	require.JSONEq(t, `{"m":1,"n":2}`, m.stateOf(thing("1")))
	require.Equal(t, event.DeadLetterResolved, m.deadLetterOf(dead.Receipt).State)
}

// The keys are imported first, and later the events that they belong to, with other times: the events get their keys. Events
// received live by then stay.
func TestEventsTakeTheirImportedKeysOver(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	m.bring(m.key("a", noon.Add(-time.Hour)), m.key("b", noon.Add(-time.Hour)))
	live, _ := m.live("c", noon, patchBody("c", `{"n":1}`))
	a, b := m.event("a", noon.Add(-2*time.Hour), patchBody("a", `{"n":1}`)), m.letter("b", noon.Add(-2*time.Hour), patchBody("b", `{"n":1}`), true)
	i := m.bring(a, b, m.event("c", noon.Add(-time.Minute), patchBody("c", `{"n":0}`)))
	require.Equal(t, "3 of 3: 2 new, 1 there, 0 unreadable, 0 failed (completed)", summary(i))
	require.Equal(t, []string{a.Receipt.ID, b.Receipt.ID, live.ID},
		value[[]string](m.database, `SELECT array_agg(event_id::text ORDER BY key) FROM idempotency_keys`))
	require.Equal(t, "2 of 2: 0 new, 2 there, 0 unreadable, 0 failed (completed)",
		summary(m.bring(m.key("a", noon.Add(-time.Hour)), m.key("b", noon.Add(-time.Hour)))))
	require.JSONEq(t, `{"n":1}`, m.stateOf(thing("c")))
}

// Dead letters keep what is known of them, and can be replayed:
//   - a failed one is open, one that the previous system gave up on is exhausted
//   - processed by a replay, it stays resolved, however often its file is imported
//   - imported again as an event that has been handled meanwhile, the other is resolved as well
func TestImportedDeadLetters(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	old := noon.Add(-time.Hour)
	open, given := m.letter("open", old, patchBody("1", `{"n":1}`), false), m.letter("given", old, patchBody("2", `{"n":1}`), true)
	i := m.bring(open, given)
	require.Equal(t, operation.ImportCount{New: 2}, i.Counts[operation.ImportDeadLetter])
	d := m.deadLetterOf(open.Receipt)
	require.Equal(t, event.DeadLetterOpen, d.State)
	require.Equal(t, event.Failure{
		Step: event.StepStart, Class: event.ClassFailed, Code: "imported", Message: "connection refused", Attempts: 4, At: noon,
	}, d.Failure)
	require.Equal(t, old, d.FirstFailed)
	require.Equal(t, noon, d.LastFailed)
	require.Equal(t, event.DeadLetterExhausted, m.deadLetterOf(given.Receipt).State)

	taken, err := m.DeadLetters.ClaimForReplay(t.Context(), "replay", d.ID, oversight.Actor{Name: "ada"})
	require.NoError(t, err)
	require.Equal(t, open.Body, taken.Body)
	p, err := readImported(taken.Receipt, taken.Body)
	require.NoError(t, err)
	_, err = m.Writer.Write(t.Context(), event.WholeEvent, taken.Receipt, taken.Body, p, runOf(taken.Receipt))
	require.NoError(t, err)
	require.Equal(t, event.DeadLetterResolved, m.deadLetterOf(open.Receipt).State)

	handled := m.event("given", old, given.Body)
	require.Equal(t, given.Receipt.ID, handled.Receipt.ID)
	require.Equal(t, "2 of 2: 1 new, 1 there, 0 unreadable, 0 failed (completed)", summary(m.bring(open, handled)))
	require.Equal(t, event.DeadLetterResolved, m.deadLetterOf(given.Receipt).State)
	require.Equal(t, 2, value[int](m.database, `SELECT count(*) FROM dead_letters`))
}

// A car was created before the move, and events only patch it:
//   - its snapshot makes it complete, before the later changes and after the earlier ones
//   - the same time with another state corrects it
//   - a deleted one stays deleted
func TestAnImportedEntityIsWhole(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	m.live("late", noon, patchBody("car", `{"mileage":150}`))
	moved := noon.Add(-time.Hour)
	m.bring(m.snapshot("car", `{"plate":"A 1","mileage":120}`, moved))
	require.JSONEq(t, `{"plate":"A 1","mileage":150}`, m.stateOf(thing("car")))
	m.bring(m.event("early", moved.Add(-time.Hour), patchBody("car", `{"mileage":100,"color":"red"}`)))
	require.JSONEq(t, `{"plate":"A 1","mileage":150}`, m.stateOf(thing("car")), "it is in the snapshot")
	m.live("next", noon.Add(time.Hour), patchBody("car", `{"mileage":160}`))
	require.JSONEq(t, `{"plate":"A 1","mileage":160}`, m.stateOf(thing("car")))

	i := m.bring(m.snapshot("car", `{"plate":"A 2"}`, moved), m.snapshot("car", `{"plate":"A 0"}`, time.Unix(0, 0)))
	require.Equal(t, operation.ImportCount{New: 2}, i.Counts[operation.ImportEntity])
	require.JSONEq(t, `{"plate":"A 2","mileage":160}`, m.stateOf(thing("car")))

	gone := m.snapshot("gone", `{"plate":"A 3"}`, moved)
	gone.Entity.Deleted = true
	m.bring(gone)
	e, err := m.Read.Entity(t.Context(), thing("gone"))
	require.NoError(t, err)
	require.True(t, e.Deleted)
}

// An event that today's definition can't parse is a dead letter with its bytes; an item that the store can't accept is reported
// with its line, and blocks nothing.
func TestAnImportNamesInvalidLines(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	unread := m.event("unread", noon, []byte("no JSON"))
	long := m.event("long", noon, patchBody(incompressible(9000), `{"n":1}`))
	i := m.bring(m.event("a", noon, patchBody("1", `{"a":1}`)), unread, long, m.event("b", noon, patchBody("1", `{"b":1}`)))
	require.Equal(t, "4 of 4: 3 new, 0 there, 1 unreadable, 1 failed (completed)", summary(i))
	require.Len(t, i.Problems, 1)
	require.Equal(t, long.Line, i.Problems[0].Line)
	require.Equal(t, event.ClassRejected, i.Problems[0].Class)
	require.JSONEq(t, `{"a":1,"b":1}`, m.stateOf(thing("1")))
	d := m.deadLetterOf(unread.Receipt)
	require.Equal(t, "malformed_json", d.Failure.Code)
	require.Equal(t, unread.Body, d.Body)
	require.NotContains(t, fmt.Sprint(i.Problems), "JSON")
}

// A worker is killed in the middle of a page:
//   - nothing of the page is stored
//   - the next worker continues at the same position, and each item is applied once
func TestAnImportContinuesAfterAKill(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 4)
	var items []operation.ImportItem
	for n := range 10 {
		items = append(items, m.event(fmt.Sprint(n), noon.Add(time.Duration(n)*time.Second), patchBody("1", fmt.Sprintf(`{"n":%d}`, n))))
	}
	id := m.stage(items...)
	_, err := m.Imports.Page(t.Context(), id, 4, readImported)
	require.NoError(t, err)
	ctx, kill := context.WithCancel(t.Context())
	_, err = m.Imports.Page(ctx, id, 4, func(r event.Receipt, body []byte) (event.Parsed, error) {
		if r.Key == "6" {
			kill()
		}
		return readImported(r, body)
	})
	require.Error(t, err)
	require.Equal(t, 4, value[int](m.database, `SELECT count(*) FROM events`))
	require.Equal(t, "10 of 10: 10 new, 0 there, 0 unreadable, 0 failed (completed)", summary(m.finish(id)))
	require.JSONEq(t, `{"n":9}`, m.stateOf(thing("1")))
}

// A paused import waits, a canceled one leaves nothing behind, and neither does a file that was not read to its end.
func TestAnImportCanBePausedAndCanceled(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	ada := oversight.Actor{Name: "ada"}
	id := m.stage(m.key("a", noon), m.key("b", noon))
	_, err := m.Imports.Change(t.Context(), id, operation.Paused, ada)
	require.NoError(t, err)
	i, err := m.Imports.Page(t.Context(), id, 10, readImported)
	require.NoError(t, err)
	require.Equal(t, operation.Paused, i.State)
	require.Zero(t, i.Read)
	active, err := m.Imports.Active(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{id}, active)

	_, err = m.Imports.Change(t.Context(), id, operation.Canceled, ada)
	require.NoError(t, err)
	require.Equal(t, operation.Canceled, m.finish(id).State)
	require.Zero(t, value[int](m.database, `SELECT count(*) FROM idempotency_keys`))
	_, err = m.Imports.Change(t.Context(), id, operation.Running, ada)
	require.Equal(t, "import_ended", event.CodeOf(err))

	require.NoError(t, m.Imports.StageImport(t.Context(), "20200101-000000-dead", true, []operation.ImportItem{m.key("c", noon)}))
	m.bring(m.key("a", noon))
	require.Zero(t, value[int](m.database, `SELECT count(*) FROM import_rows`))
	require.Equal(t, []string{"import.start", "import.pause", "import.cancel", "import.start"},
		value[[]string](m.database, `SELECT array_agg(action ORDER BY id) FROM audit_log`))
	latest, err := m.Imports.Latest(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, latest, 2)
}

// A client that has read a file may not get the response that its import was created: when it then drops the rows, those that the
// import still has to apply stay. An import whose workflow was canceled in Temporal keeps nothing.
func TestARunningImportLosesNoRow(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 1)
	id := m.stage(m.key("a", noon), m.key("b", noon))
	require.NoError(t, m.Imports.DropImport(t.Context(), id))
	require.Equal(t, "2 of 2: 2 new, 0 there, 0 unreadable, 0 failed (completed)", summary(m.finish(id)))

	id = m.stage(m.key("c", noon), m.key("d", noon))
	require.NoError(t, m.Imports.Cancel(t.Context(), id))
	require.Zero(t, value[int](m.database, `SELECT count(*) FROM import_rows`))
	require.NoError(t, m.Imports.StageImport(t.Context(), id+"x", true, []operation.ImportItem{m.key("e", noon)}))
	require.NoError(t, m.Imports.DropImport(t.Context(), id+"x"))
	require.Zero(t, value[int](m.database, `SELECT count(*) FROM import_rows`))
}

// Subscribers have received these events from the previous system: an import delivers nothing, and its change events are of
// entities, not of events.
func TestAnImportDeliversNothing(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	m.subscribe("all", delivery.Events{})
	m.bring(m.event("old", noon, patchBody("1", `{"n":1}`)), m.letter("dead", noon, patchBody("1", `{"n":1}`), false))
	require.Zero(t, value[int](m.database, `SELECT count(*) FROM delivery_queue`))
	require.Equal(t, []string{"dead_letter", "entity"}, value[[]string](m.database, `
SELECT array_agg(DISTINCT item->>'subject' ORDER BY item->>'subject') FROM changes, json_array_elements(items) AS item`))
	m.live("new", noon, patchBody("1", `{"n":2}`))
	require.Equal(t, 1, value[int](m.database, `SELECT count(*) FROM delivery_queue`))
}

// A resend skips imported events that the previous system had processed, unless it has Imported set. It sends dead letters that were
// imported and processed here, live events, and whatever an operator has sent before. The plan counts the skipped ones.
func TestAResendSkipsEventsOfThePreviousSystem(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	at := time.Now().Add(-30 * time.Minute)
	dead := m.letter("dead", at, patchBody("1", `{"n":1}`), false)
	sent := m.event("sent", at, patchBody("1", `{"n":1}`))
	m.bring(m.event("old", at, patchBody("1", `{"n":1}`)), sent, dead, m.letter("finished", at, patchBody("1", `{"n":1}`), false))
	m.bring(m.event("finished", at, patchBody("1", `{"n":1}`)))
	m.mustProcess(dead.Receipt, parsed())
	m.live("new", at, patchBody("1", `{"n":2}`))
	s := m.subscribe("crm", delivery.Events{})
	m.settled()
	m.exec(`INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
VALUES ($1::uuid, $2, $3, 'delivered', '200', 1, 0, 1, now())`, sent.Receipt.ID, s.ID, s.DestinationID)
	plan, err := m.Resends.Plan(t.Context(), "crm", time.Now().Add(-time.Hour), time.Time{}, 0)
	require.NoError(t, err)
	require.Equal(t, operation.ResendPlan{Events: 5, Matching: 5, Delivered: 1, Missing: 2, Imported: 2}, plan)

	for n, one := range []struct {
		operation.Resend

		queued int64
	}{
		{operation.Resend{}, 2}, {operation.Resend{Everything: true}, 1}, {operation.Resend{Imported: true}, 2},
		{operation.Resend{Imported: true}, 0}, {operation.Resend{Everything: true, Imported: true}, 0},
	} {
		one.ID, one.Subscription, one.Rate, one.Since = fmt.Sprint(n), "crm", 50, time.Now().Add(-time.Hour)
		r, err := m.Resends.Create(t.Context(), one.Resend, ada)
		require.NoError(t, err)
		require.Equal(t, one.Imported, r.Imported)
		require.Equal(t, one.queued, m.resend(r.ID, 3).Queued, "%+v", one)
	}
}

// The data of another system is compared with the database:
//   - missing items, items pending in one of the two, and differing fields of entities are reported, each with its line
//   - events that are here and not in the file are listed for the time range of the file
func TestAnImportIsCompared(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	live, _ := m.live("both", noon, patchBody("car", `{"mileage":150,"plate":"A 1"}`))
	m.live("handled here", noon, patchBody("car", `{"mileage":150}`))
	dead := m.letter("waits here", noon, patchBody("car", `{}`), false)
	m.bring(dead, m.key("key", noon))
	waits := m.event("waits here", noon, patchBody("car", `{}`))
	handled := m.letter("handled here", noon, patchBody("car", `{}`), false)
	same, other, gone := m.snapshot("car", `{"plate":"A 1"}`, noon), m.snapshot("car", `{"mileage":100}`, noon), m.snapshot("bus", `{}`, noon)
	items := []operation.ImportItem{m.event("both", noon, nil), waits, handled, dead, m.key("key", noon), m.key("no", noon), same, other, gone}
	before := m.everything()
	all, err := m.Imports.CompareImport(t.Context(), items)
	require.NoError(t, err)
	require.Equal(t, before, m.everything())
	require.Equal(t, live.ID, all[0].EventID)
	var told []string
	for i, of := range all {
		for _, d := range of.Differences {
			require.Equal(t, items[i].Line, d.Line)
			told = append(told, fmt.Sprintf("%d %s %s %s %s→%s", i, d.Differ, d.Name, d.Field, d.There, d.Here))
		}
	}
	require.Equal(t, []string{
		`1 status waits here status "processed"→"waits"`,
		`2 status handled here status "waits"→"processed"`,
		`5 missing no  →`,
		`7 field thing car /mileage 100→150`,
		`8 missing thing bus  →`,
	}, told)

}

// A key with a window of 15 minutes may be that of several events. Each line of a file is compared with its own.
func TestEachOfSeveralEventsOfAKeyIsCompared(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	first, second := m.event("key", noon, patchBody("1", `{}`)), m.event("key", noon.Add(time.Hour), patchBody("1", `{}`))
	waits := m.letter("key", noon.Add(2*time.Hour), patchBody("1", `{}`), false)
	items := []operation.ImportItem{first, second, waits}
	for i := range items {
		items[i].Receipt.DedupeWindow = event.Duration(15 * time.Minute)
	}
	require.EqualValues(t, 3, m.bring(items...).Counts.Sum().New)
	all, err := m.Imports.CompareImport(t.Context(), items)
	require.NoError(t, err)
	for i, of := range all {
		require.Empty(t, of.Differences, i)
		require.Equal(t, items[i].Receipt.ID, of.EventID, i)
	}
}

// The events of the time range of a file are found, so that those that the file doesn't name are.
func TestTheEventsOfATimeAreFound(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	at := time.Now().Truncate(time.Millisecond)
	m.bring(m.event("a", at, patchBody("1", `{}`)), m.event("b", at.Add(time.Hour), patchBody("1", `{}`)),
		m.event("before", at.Add(-time.Second), patchBody("1", `{}`)), m.event("after", at.Add(2*time.Hour), patchBody("1", `{}`)))
	extra, _ := m.live("extra", at, patchBody("1", `{}`))
	between := func(since, until time.Time) (keys []string) {
		found, err := m.Imports.EventsBetween(t.Context(), "acme", event.FirstIDAt(since), event.FirstIDAt(until.Add(time.Millisecond)), 10)
		require.NoError(t, err)
		for _, r := range found {
			keys = append(keys, r.Key)
		}
		return keys
	}
	require.ElementsMatch(t, []string{"a", "b", extra.Key}, between(at, at.Add(time.Hour)))
	require.Equal(t, []string{"b"}, between(at.Add(time.Minute), at.Add(time.Hour)))
}

// Retention removes imported events like any other old event: their entity stays complete, and later changes fold on top.
func TestRetentionKeepsImportedEntitiesWhole(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	m.CheckpointEvery(2)
	m.bring(m.snapshot("car", `{"plate":"A 1","mileage":50}`, noon))
	for n := range 5 {
		m.bring(m.event(fmt.Sprint(n), noon.Add(time.Duration(n+1)*time.Hour), patchBody("car", fmt.Sprintf(`{"mileage":%d}`, 100+n))))
	}
	m.ended()
	removed, err := m.Upkeep.PurgeBatch(t.Context(), retention.Events, noon.Add(24*time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 5, removed)
	require.Equal(t, 6, value[int](m.database, `SELECT collapsed FROM entity_bases`), "with the snapshot")
	require.JSONEq(t, `{"plate":"A 1","mileage":104}`, m.stateOf(thing("car")))
	m.live("next", noon.Add(48*time.Hour), patchBody("car", `{"mileage":150}`))
	require.JSONEq(t, `{"plate":"A 1","mileage":150}`, m.stateOf(thing("car")))
}

// A member was created before the move, under a customer. An event that names only the mandate reaches it.
func TestAnImportedEntityIsKnownByItsNames(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	item := m.snapshot("CU1", `{"status":"active"}`, noon)
	item.Entity.Names = []event.Name{{Rank: 1, Name: "MD1"}, {Rank: 2, Name: "SB1"}}
	m.bring(item)
	before := m.everything()
	m.bring(item)
	require.Equal(t, before, m.everything())
	r := receipt()
	p := parsed(event.Change{
		Kind: "thing", ExternalID: "SB1", Op: event.OpPatch, State: []byte(`{"paid":true}`), Names: []event.Name{{Rank: 2, Name: "SB1"}},
	})
	p.OccurredAt = noon.Add(1)
	m.mustProcess(r, p)
	require.JSONEq(t, `{"status":"active","paid":true}`, m.stateOf(thing("CU1")))
}

// An imported dead letter may belong to a system that still runs, and no subscription is active yet. It waits until an operator
// reruns it, and is replayed like any other from then on.
func TestAnImportedDeadLetterWaitsForAnOperator(t *testing.T) {
	t.Parallel()
	db := open(t)
	m := newMover(db, 10)
	letter := m.letter("open", noon.Add(-time.Hour), []byte("unreadable"), false)
	m.bring(letter)
	require.Empty(t, db.shared().Due())
	require.Zero(t, value[int](db, `SELECT count(*) FROM dead_letters WHERE next_replay_at IS NOT NULL`))

	d := db.deadLetterOf(letter.Receipt)
	db.take(d.ID)
	failed := deadLetter(d.Receipt)
	failed.Failure.Class, failed.Failure.At = event.ClassFailed, time.Now()
	failed.Run = anotherRun(d.Receipt)
	db.record(failed)
	require.Empty(t, db.shared().Due())
	db.shared().ReplayLater(3 * time.Hour)
	require.Equal(t, []int64{d.ID}, db.shared().Due())
}
