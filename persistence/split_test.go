package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/writer"
)

// partsOf returns the events that the definition now makes of one, with these keys.
func partsOf(whole event.Receipt, keys ...string) (parts []event.Received) {
	for n, key := range keys {
		r := event.Receipt{Key: key, KeyFrom: event.KeyFromEvent, Certain: true, Fingerprint: "sha256:" + key, Type: "item"}
		parts = append(parts, event.Received{Receipt: r.PartOf(whole, n), Body: []byte(`{"id":"` + key + `"}`)})
	}
	return parts
}

// split splits an event that goes on.
func (d *database) split(whole event.Receipt, parts ...event.Received) event.Decision {
	d.t.Helper()
	persisted, ok, err := d.Inbox.Split(d.t.Context(), whole, anotherRun(whole), parts)
	require.True(d.t, ok, err)
	require.Zero(d.t, persisted)
	decision, ok := errors.AsType[*event.DecisionError](err)
	require.True(d.t, ok, err)
	return decision.Decision
}

// drainInto processes what waits in the inbox, as the runs do that the drain starts.
func (d *database) drainInto(lanes ...event.Lane) (run []event.Waiting) {
	d.t.Helper()
	for _, lane := range lanes {
		_, err := d.Inbox.DrainInbox(d.t.Context(), lane, 100, all(event.StartOutcome{Started: true}, &run))
		require.NoError(d.t, err)
	}
	for _, w := range run {
		d.runPart(w.Receipt, w.Body, keyOfPart(w.Receipt))
	}
	return run
}

// keyOfPart returns the key that a part has unless it is kept as a conflict.
func keyOfPart(r event.Receipt) string {
	if r.ConflictsWith != "" {
		return r.Earlier.Key
	}
	return r.Key
}

// runPart processes an event with one entity, as its run does: it goes on as the owner of its key if that waits, and becomes a dead
// letter if only an operator may accept it.
func (d *database) runPart(r event.Receipt, body []byte, entity string) {
	d.t.Helper()
	for range 2 {
		persisted, err := d.Writer.Write(d.t.Context(), event.WholeEvent, r, body, parsed(patch(entity, `{"n":1}`)), anotherRun(r))
		if held, ok := errors.AsType[*event.Error](err); ok && held.Class == event.ClassConflict {
			err = d.DeadLetters.RecordDeadLetter(d.t.Context(), event.DeadLetter{
				Receipt: r, Body: body, Run: anotherRun(r),
				Failure: event.Failure{Step: event.StepPersist, Class: held.Class, Code: held.Code, Attempts: 1, At: r.ReceivedAt},
			})
		}
		if err != nil {
			require.True(d.t, writer.IsRefusal(err), err)
		}
		if err != nil || !persisted.OwnerWaits {
			return
		}
		r.ID = persisted.Owner
	}
}

// accept replays the conflicts.
func (d *database) accept() {
	d.t.Helper()
	rows, err := d.sql.Query(d.t.Context(), `SELECT id, event_id::text FROM dead_letters WHERE state = 'open' AND error_class = 'conflict'`)
	require.NoError(d.t, err)
	ids := map[int64]string{}
	var id int64
	var of string
	_, err = pgx.ForEachRow(rows, []any{&id, &of}, func() error { ids[id] = of; return nil })
	require.NoError(d.t, err)
	for id, of := range ids {
		letter, err := d.DeadLetters.DeadLetterOfEvent(d.t.Context(), of)
		require.NoError(d.t, err)
		d.take(id)
		d.runPart(letter.Receipt, letter.Body, keyOfPart(letter.Receipt))
	}
}

// An event is dead, and partly written. Its corrected definition splits it:
//   - its parts are in the inbox, under its request and its time; what it did to entities is undone
//   - the decision and the dead letter name the first part; the audit log and the change feed report the split
//   - its key stays claimed, so that a redelivery under the earlier definition is a duplicate
//   - a second split, after a reset or a replay, changes nothing
func TestASplitReplacesTheWholeEvent(t *testing.T) {
	t.Parallel()
	d := open(t)
	whole := receipt()
	_, err := d.Writer.Write(t.Context(), event.RowOnly, whole, body, parsed(), runOf(whole))
	require.NoError(t, err)
	d.fail(whole, event.Rejectf("missing_items", "no items"), "run-1")
	parts := partsOf(whole, "evt_1", "evt_2", "evt_3")
	decision := d.split(whole, parts...)
	require.Equal(t, event.OutcomeReplaced, decision.Outcome)
	require.Equal(t, parts[0].ID, decision.ReplacedBy)
	require.Equal(t, "the current definition splits it into 3 events", decision.Reason)
	letter := d.deadLetterOf(whole)
	require.Equal(t, event.DeadLetterDiscarded, letter.State)
	require.Equal(t, decision.ReplacedBy, letter.ReplacedBy)
	require.Equal(t, whole.ID, d.ownerOf(whole.Key))
	require.EqualValues(t, "event.split", d.audit()[0].Action)
	require.Equal(t, "event:"+whole.ID, d.audit()[0].Object)
	require.Equal(t, 1, value[int](d, `SELECT count(*) FROM changes WHERE items::text LIKE '%replaced%' || $1 || '%'`, whole.ID))

	again := d.split2(whole, parts)
	require.Equal(t, decision.ReplacedBy, again.ReplacedBy)
	_, err = d.Writer.Write(t.Context(), event.WholeEvent, whole, body, parsed(snapshot("1", `{}`)), anotherRun(whole))
	require.ErrorAs(t, err, new(*event.DecisionError))
	redelivered := receipt()
	redelivered.Key = whole.Key
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, redelivered, body, parsed(), runOf(redelivered))
	require.NoError(t, err)
	require.Equal(t, whole.ID, persisted.Owner)

	run := d.drainInto(event.LaneOverflow)
	require.Len(t, run, 3)
	slices.SortFunc(run, func(a, b event.Waiting) int { return strings.Compare(a.Receipt.ID, b.Receipt.ID) })
	for n, w := range run {
		require.Equal(t, parts[n].Receipt, w.Receipt)
		require.Equal(t, parts[n].Body, w.Body)
		require.Equal(t, whole.RequestID, w.Receipt.RequestID)
		require.Equal(t, whole.ID, w.Receipt.SplitFrom)
		require.True(t, w.Receipt.ReceivedAt.Equal(whole.ReceivedAt))
	}
	require.EqualValues(t, 3, d.processedEvents())
	require.Zero(t, value[int](d, `SELECT count(*) FROM inbox`))
}

// An event that was split can't be reopened, not even if its first part is discarded: the others count.
func TestASplitEventStaysReplaced(t *testing.T) {
	t.Parallel()
	d := open(t)
	whole := receipt()
	d.fail(whole, event.Rejectf("x", "x"), "run-1")
	parts := partsOf(whole, "evt_1", "evt_2")
	d.split(whole, parts...)
	d.fail(parts[0].Receipt, event.Rejectf("x", "x"), "run-2")
	by := oversight.Actor{Name: "ada", Reason: "a test"}
	require.NoError(t, d.DeadLetters.DiscardDeadLetter(t.Context(), d.deadLetterOf(parts[0].Receipt).ID, by))
	require.ErrorAs(t, d.DeadLetters.ReopenDeadLetter(t.Context(), d.deadLetterOf(whole).ID, by), new(*event.StateError))
	require.Equal(t, parts[0].ID, d.deadLetterOf(whole).ReplacedBy)
}

// split2 is a split that finds that the event was split before.
func (d *database) split2(whole event.Receipt, parts []event.Received) event.Decision {
	d.t.Helper()
	_, ok, err := d.Inbox.Split(d.t.Context(), whole, anotherRun(whole), parts)
	require.NoError(d.t, err)
	require.False(d.t, ok)
	_, err = d.Writer.Write(d.t.Context(), event.RowOnly, whole, body, parsed(), anotherRun(whole))
	decision, ok := errors.AsType[*event.DecisionError](err)
	require.True(d.t, ok, err)
	return decision.Decision
}

// Which lane a part waits in: that of the ingress while Temporal is down. A body over 1.5 MiB waits under its event ID, and an event
// that must be in both stores stays until it is stored, once.
func TestPartsWaitInTheirLanes(t *testing.T) {
	t.Parallel()
	d := open(t)
	whole := receipt()
	parts := partsOf(whole, "bulk", "large", "plain")
	parts[0].Bulk = true
	parts[1].Body = make([]byte, event.MaxInline+1)
	d.split(whole, parts...)
	lanes := map[string]event.Lane{}
	page, err := d.Inbox.Inbox(t.Context(), event.InboxQuery{})
	require.NoError(t, err)
	for _, w := range page {
		lanes[w.Receipt.Key] = w.Lane
	}
	require.Equal(t, map[string]event.Lane{"bulk": event.LaneBulk, "large": event.LaneLarge, "plain": event.LaneOverflow}, lanes)
	w, err := d.Inbox.WaitingEvent(t.Context(), parts[1].ID)
	require.NoError(t, err)
	require.True(t, w.Receipt.Large.Is(parts[1].Body))
	require.False(t, w.DueAt.After(time.Now()))

	copied := d.copied(time.Hour)
	copied.Copied = true
	parts = partsOf(copied, copied.Key, "other")
	d.split(copied, parts...)
	require.Equal(t, 2, d.shared().Copies(), "the whole event's copy is gone")
	run := d.drainInto(event.LaneCopy)
	require.Len(t, run, 2)
}

// The earlier definition gave the whole event the key that one of its parts has now: the part owns it.
func TestAPartMayHaveTheKeyOfItsEvent(t *testing.T) {
	t.Parallel()
	d := open(t)
	whole := receipt()
	whole.Key, whole.Fingerprint, whole.Certain = "evt_1", "sha256:whole", true
	d.fail(whole, event.Rejectf("x", "x"), "run-1")
	parts := partsOf(whole, "evt_1", "evt_2")
	d.split(whole, parts...)
	require.Equal(t, parts[0].ID, d.ownerOf("evt_1"))
	require.Len(t, d.drainInto(event.LaneOverflow), 2)
	require.EqualValues(t, 2, d.processedEvents())
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, sentAgain("evt_1", "sha256:evt_1"), body, parsed(), event.Run{WorkflowID: "w", RunID: "r"})
	require.NoError(t, err)
	require.Equal(t, parts[0].ID, persisted.Owner)
}

// What isn't split: a duplicate, a conflict that no operator has accepted, and an event that is processed.
func TestEventsThatAreNotSplit(t *testing.T) {
	t.Parallel()
	d := open(t)
	owner, duplicate, conflict := receipt(), receipt(), receipt()
	d.process(owner, parsed(snapshot("1", `{"n":1}`)))
	duplicate.Key = owner.Key
	conflict.ConflictsWith, conflict.Fingerprint, conflict.Certain = owner.ID, "sha256:x", true
	for _, r := range []event.Receipt{duplicate, conflict} {
		persisted, ok, err := d.Inbox.Split(t.Context(), r, runOf(r), partsOf(r, "evt_1"))
		require.NoError(t, err)
		require.False(t, ok)
		require.Zero(t, persisted)
	}
	persisted, ok, err := d.Inbox.Split(t.Context(), owner, anotherRun(owner), partsOf(owner, "evt_1"))
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, event.Persisted{Processed: true}, persisted)
	require.Zero(t, value[int](d, `SELECT count(*) FROM inbox`))
	require.Zero(t, value[int](d, `SELECT count(*) FROM decisions`))
	require.Equal(t, 1, value[int](d, `SELECT count(*) FROM event_entities`))

	d.fail(conflict, &event.Error{Class: event.ClassConflict, Code: event.CodeKeyConflict, Text: "x"}, "run-1")
	d.take(d.deadLetterOf(conflict).ID)
	d.split(conflict, partsOf(conflict, "evt_1")...)
}

// Parts with one key, or with the key of an event that waits in the inbox: equal content is one event, other content is kept apart.
func TestPartsOfOneKey(t *testing.T) {
	t.Parallel()
	d := open(t)
	waits := sentAgain("evt_3", "sha256:other")
	_, err := d.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, waits, body, false)
	require.NoError(t, err)
	whole := receipt()
	parts := partsOf(whole, "evt_1", "evt_1", "evt_1", "evt_2", "evt_3")
	parts[1].Fingerprint = "sha256:another"
	d.split(whole, parts...)
	var keys []string
	page, err := d.Inbox.Inbox(t.Context(), event.InboxQuery{})
	require.NoError(t, err)
	for _, w := range page {
		if w.Receipt.ID != waits.ID {
			keys = append(keys, fmt.Sprint(w.Receipt.Key, " ", w.Receipt.ConflictsWith))
		}
	}
	apart := parts[1].WithConflictKey(parts[0].ID)
	apart3 := parts[4].WithConflictKey(waits.ID)
	require.ElementsMatch(t, []string{
		"evt_1 ", "evt_2 ", apart.Key + " " + parts[0].ID, apart3.Key + " " + waits.ID,
	}, keys)
	require.Len(t, d.conflicts(), 2)
}

// More parts than one insert takes are in the inbox, all or none.
func TestManyParts(t *testing.T) {
	t.Parallel()
	d := open(t)
	whole := receipt()
	var keys []string
	for n := range 1200 {
		keys = append(keys, fmt.Sprint("evt_", n))
	}
	parts := partsOf(whole, keys...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := d.Inbox.Split(ctx, whole, runOf(whole), parts)
	require.Error(t, err)
	require.Zero(t, value[int](d, `SELECT count(*) FROM inbox`))
	d.split(whole, parts...)
	require.Equal(t, 1200, value[int](d, `SELECT count(*) FROM inbox`))
}

// An event of the bulk lane that is split leaves its batch: its own run splits it.
func TestABatchLeavesASplitToARun(t *testing.T) {
	t.Parallel()
	d := open(t)
	whole, plain := d.bulk(receipt()), d.bulk(receipt())
	events, err := d.Writer.ProcessBatch(t.Context(), 100, newBatchRun(), func(r event.Receipt, _ []byte) (event.Parsed, error) {
		p := parsed()
		if r.ID == whole.ID {
			p.Splits = 2
		}
		return p, nil
	})
	require.NoError(t, err)
	require.Equal(t, map[string]event.Outcome{whole.ID: event.OutcomeLeft, plain.ID: event.OutcomeProcessed}, outcomes(events))
}

// Whatever the order of runs, replays, resets, redeliveries of the whole body under both definitions, recoveries, imports, conflicts that
// an operator accepts, and drains, before and after the correction: each part has one effect, and the whole event none.
func TestAnyOrderOfASplitLeavesOneEffectAPart(t *testing.T) {
	t.Parallel()
	d := open(t)
	movers := newMover(d, 1)
	spooler := d.Inbox.NewInboxWriter()
	for seed := range uint64(80) {
		random := rand.New(rand.NewPCG(seed, 2))
		keys := []string{fmt.Sprintf("a%d", seed), fmt.Sprintf("b%d", seed), fmt.Sprintf("c%d", seed)}
		whole := receipt()
		whole.Key, whole.Fingerprint, whole.Certain = "missing:"+whole.ID, "sha256:whole", true
		if random.IntN(2) == 0 {
			whole.Key = keys[random.IntN(3)]
		}
		parts := partsOf(whole, keys...)
		isCorrected := false
		run := func(r event.Receipt) {
			if !isCorrected {
				d.fail(whole, event.Rejectf("missing_items", "no items"), fmt.Sprint("run-", random.Int()))
				return
			}
			for range 2 { // as the workflow does if the owner waits
				_, ok, err := d.Inbox.Split(t.Context(), r, anotherRun(r), partsOf(r, keys...))
				if ok {
					require.ErrorAs(t, err, new(*event.DecisionError))
					return
				}
				require.NoError(t, err)
				persisted, err := d.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), anotherRun(r))
				if errors.As(err, new(*event.DecisionError)) {
					return
				}
				require.NoError(t, err)
				require.True(t, persisted.Duplicate)
				if !persisted.OwnerWaits {
					return
				}
				r.ID = persisted.Owner
			}
		}
		spool := func(r event.Receipt) {
			_, err := spooler.Spool(t.Context(), event.LaneOverflow, r, body, false)
			if conflict, ok := errors.AsType[*event.ConflictError](err); ok {
				_, err = spooler.Spool(t.Context(), event.LaneOverflow, r.WithConflictKey(conflict.Conflict.Owner), body, false)
			}
			require.NoError(t, err)
		}
		again := receipt() // accepted by an ingress with the earlier definition
		again.Key, again.Fingerprint, again.Certain = whole.Key, whole.Fingerprint, true
		isShared := slices.Contains(keys, whole.Key)
		run(whole)
		for range 2 + random.IntN(8) {
			part := parts[random.IntN(len(parts))]
			switch random.IntN(8) {
			case 0:
				isCorrected = true
			case 1:
				run(whole)
			case 2:
				if !isShared {
					run(again)
				}
			case 3: // the ingress splits it
				for _, part := range parts {
					d.runPart(sentAgain(part.Key, part.Fingerprint), part.Body, part.Key)
				}
			case 4: // while Temporal is down
				spool(sentAgain(part.Key, part.Fingerprint))
			case 5: // a recovery has no fingerprint, and finds that the key is taken
				if !isShared {
					d.runPart(sentAgain(part.Key, ""), part.Body, part.Key)
				}
			case 6:
				imported := sentAgain(part.Key, "")
				imported.Imported = &event.Imported{}
				movers.finishWith(movers.stage(operation.ImportItem{Record: operation.ImportEvent, Receipt: imported, Body: body}),
					func(event.Receipt, []byte) (event.Parsed, error) { return parsed(patch(part.Key, `{"n":1}`)), nil })
			case 7:
				if random.IntN(2) == 0 {
					d.accept()
				} else {
					d.drainInto(event.LaneOverflow)
				}
			}
		}
		isCorrected = true
		run(whole)
		d.drainInto(event.LaneOverflow)
		d.accept()
		for _, key := range keys {
			require.Equal(t, 1, value[int](d, `SELECT count(*) FROM event_entities WHERE external_id = $1`, key), "seed %d, %s", seed, key)
			require.Equal(t, 1, value[int](d, `SELECT count(*) FROM events WHERE key = $1 OR key LIKE $1 || ':conflict:%'`, key), "seed %d", seed)
		}
		require.Zero(t, value[int](d, `SELECT count(*) FROM dead_letters WHERE state NOT IN ('discarded', 'resolved')`), "seed %d", seed)
		require.Zero(t, value[int](d, `SELECT count(*) FROM inbox`), "seed %d", seed)
	}
}

// The sender has sent the events again, and they wait in the inbox, when the whole event, which has the key of one of them, is split:
// the event that waits gets the key, and each is processed once.
func TestAPartThatWaitsAlreadyGetsTheKey(t *testing.T) {
	t.Parallel()
	d := open(t)
	whole := receipt()
	whole.Key, whole.Fingerprint, whole.Certain = "evt_1", "sha256:whole", true
	d.fail(whole, event.Rejectf("x", "x"), "run-1")
	spooler := d.Inbox.NewInboxWriter()
	for _, key := range []string{"evt_1", "evt_2"} {
		stored, err := spooler.Spool(t.Context(), event.LaneOverflow, sentAgain(key, "sha256:"+key), body, false)
		require.NoError(t, err)
		require.True(t, stored)
	}
	d.split(whole, partsOf(whole, "evt_1", "evt_2", "evt_3")...)
	require.Len(t, d.drainInto(event.LaneOverflow), 3)
	require.EqualValues(t, 3, d.processedEvents())
	require.Equal(t, 3, value[int](d, `SELECT count(*) FROM event_entities`))
	require.Empty(t, d.conflicts())
}

// The sender has sent a part again while the whole event was dead, and had the key of the part: it is kept as a conflict. After the
// split the two are one event, whether an operator has accepted the conflict before or not.
func TestAPartThatWasKeptAsAConflictIsOneEvent(t *testing.T) {
	t.Parallel()
	for _, accepts := range []bool{false, true} {
		d := open(t)
		whole := receipt()
		whole.Key, whole.Fingerprint, whole.Certain = "evt_1", "sha256:whole", true
		d.fail(whole, event.Rejectf("x", "x"), "run-1")
		again := sentAgain("evt_1", "sha256:evt_1").WithConflictKey(whole.ID)
		p := parsed(patch("evt_1", `{"n":1}`))
		_, err := d.Writer.Write(t.Context(), event.WholeEvent, again, body, p, runOf(again))
		held, ok := errors.AsType[*event.Error](err)
		require.True(t, ok && held.Code == event.CodeKeyConflict, err)
		d.fail(again, held, "run-2")
		if accepts {
			d.take(d.deadLetterOf(again).ID)
			_, err = d.Writer.Write(t.Context(), event.WholeEvent, again, body, p, anotherRun(again))
			require.NoError(t, err)
		}
		parts := partsOf(whole, "evt_1", "evt_2")
		d.split(whole, parts...)
		d.drainInto(event.LaneOverflow)
		require.EqualValues(t, 2, d.processedEvents())
		require.Equal(t, 2, value[int](d, `SELECT count(*) FROM event_entities`))
		require.Equal(t, event.DeadLetterResolved, d.deadLetterOf(again).State)
	}
}
