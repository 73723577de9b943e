package persistence_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// misread returns an event whose definition found no key in it, and how the corrected definition parses it.
func misread(key string, changes ...event.Change) (event.Receipt, event.Parsed) {
	r := receipt()
	r.Key, r.KeyFrom, r.DedupeWindow = "missing:"+r.ID, event.KeyFromNothing, event.Duration(15*time.Minute)
	p := parsed(changes...)
	p.Identity = &event.Identity{Key: key, KeyFrom: event.KeyFromEvent, Fingerprint: "sha256:same", Certain: true}
	return r, p
}

// sentAgain returns the redelivery that an ingress with the corrected definition accepts.
func sentAgain(key, fingerprint string) event.Receipt {
	r := receiptAt(noon.Add(time.Hour))
	r.Key, r.Fingerprint, r.Certain = key, fingerprint, true
	return r
}

func (d *database) ownerOf(key string) string {
	d.t.Helper()
	return value[string](d, `SELECT event_id::text FROM idempotency_keys WHERE provider = 'acme' AND key = $1`, key)
}

func (d *database) processedEvents() int64 {
	d.t.Helper()
	return value[int64](d, `SELECT count(*) FROM events WHERE status = 'processed'`)
}

// A dead letter without a key is replayed after its definition was corrected, and is sent again:
//   - the replay first: the redelivery is a duplicate, under both keys
//   - the redelivery first: the replay is a duplicate, and its dead letter says of what
func TestACorrectedKeyIsProcessedOnceInEitherOrder(t *testing.T) {
	t.Parallel()
	for _, redelivered := range []bool{false, true} {
		for _, step := range []string{"process", "persist"} {
			t.Run(fmt.Sprintf("redelivery first %t, %s", redelivered, step), func(t *testing.T) {
				t.Parallel()
				d := open(t)
				dead, corrected := misread("evt_1", snapshot("1", `{"n":1}`))
				again := sentAgain("evt_1", "sha256:same")
				d.fail(dead, event.Rejectf("missing_key", "no key"), "run-1")
				scope := event.WholeEvent
				if step == "persist" {
					scope = event.RowOnly
				}
				first, second := dead, again
				if redelivered {
					first, second = again, dead
				}
				for _, r := range []event.Receipt{first, second} {
					p := parsed(snapshot("1", `{"n":1}`))
					if r.ID == dead.ID {
						p = corrected
					}
					persisted, err := d.Writer.Write(t.Context(), scope, r, body, p, anotherRun(r))
					require.NoError(t, err)
					require.Equal(t, r.ID == second.ID, persisted.Duplicate)
					if persisted.Duplicate {
						require.Equal(t, first.ID, persisted.Owner)
					} else if !persisted.Processed {
						require.NoError(t, d.UpsertEntities(t.Context(), r, p, anotherRun(r)))
					}
				}
				require.EqualValues(t, 1, d.processedEvents())
				require.Equal(t, first.ID, d.ownerOf("evt_1"))
				require.Equal(t, first.ID, d.ownerOf(dead.Key), "the former key stays claimed")
				letter := d.deadLetterOf(dead)
				require.Equal(t, event.DeadLetterResolved, letter.State)
				require.Equal(t, redelivered, letter.DuplicateOf == again.ID)
				require.Equal(t, "evt_1", value[string](d, `SELECT key FROM events`))
			})
		}
	}
}

// An event whose definition found no key is found by both of its keys once a corrected definition has given it one:
//   - the key without a provider, with it, and as its workflow's ID
//   - the key that it was accepted with, which its workflow keeps
func TestACorrectedEventIsFoundByBothKeys(t *testing.T) {
	t.Parallel()
	for name, correct := range map[string]func(*database, event.Receipt, event.Parsed){
		"replayed": func(d *database, r event.Receipt, p event.Parsed) { d.process(r, p) },
		"replayed in two steps": func(d *database, r event.Receipt, p event.Parsed) {
			_, err := d.Writer.Write(t.Context(), event.RowOnly, r, body, p, anotherRun(r))
			require.NoError(t, err)
			require.NoError(t, d.UpsertEntities(t.Context(), r, p, anotherRun(r)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			dead, corrected := misread("evt_1", snapshot("1", `{"n":1}`))
			d.fail(dead, event.Rejectf("missing_key", "no key"), "run-1")
			correct(d, dead, corrected)
			other := receipt()
			d.process(other, parsed())
			for _, key := range []string{"evt_1", dead.Key} {
				for _, provider := range []string{"", dead.Provider} {
					found, err := d.Read.Events(t.Context(), event.RecordQuery{Provider: provider, Key: key})
					require.NoError(t, err)
					require.Len(t, found, 1, key)
					require.Equal(t, dead.ID, found[0].Receipt.ID, key)
					require.Equal(t, dead.Key, found[0].Receipt.Key, "the receipt stays")
					require.Equal(t, "evt_1", found[0].CorrectedKey)
				}
				id, err := d.Upkeep.EventOfWorkflow(t.Context(), event.WorkflowID(dead.Provider, key))
				require.NoError(t, err)
				require.Equal(t, dead.ID, id, key)
			}
			found, err := d.Read.Event(t.Context(), other.ID)
			require.NoError(t, err)
			require.Empty(t, found.CorrectedKey)
		})
	}
}

// A later event takes over the corrected key once the dedupe window has passed: the key finds that event, and the corrected one is
// found by the key that it was accepted with. A provider with an equal key finds neither.
func TestACorrectedKeyFindsItsOwner(t *testing.T) {
	t.Parallel()
	d := open(t)
	dead, corrected := misread("evt_1", snapshot("1", `{"n":1}`))
	d.fail(dead, event.Rejectf("missing_key", "no key"), "run-1")
	d.process(dead, corrected)
	later := sentAgain("evt_1", "sha256:other")
	later.DedupeWindow = dead.DedupeWindow
	d.process(later, parsed())
	require.Equal(t, later.ID, d.ownerOf("evt_1"))
	for key, id := range map[string]string{"evt_1": later.ID, dead.Key: dead.ID} {
		found, err := d.Read.Events(t.Context(), event.RecordQuery{Provider: "acme", Key: key})
		require.NoError(t, err)
		require.Len(t, found, 1, key)
		require.Equal(t, id, found[0].Receipt.ID, key)
		found, err = d.Read.Events(t.Context(), event.RecordQuery{Provider: "other", Key: key})
		require.NoError(t, err)
		require.Empty(t, found, key)
	}
}

// The corrected definition finds the ID of another event with other content:
//   - the event is a conflict, which only an operator accepts
//   - an accepted one is processed, and owns the key of its further deliveries
func TestACorrectedKeyOfAnotherEventIsAConflict(t *testing.T) {
	t.Parallel()
	d := open(t)
	dead, corrected := misread("evt_1")
	other := sentAgain("evt_1", "sha256:other")
	d.fail(dead, event.Rejectf("missing_key", "no key"), "run-1")
	d.process(other, parsed())
	_, err := d.Writer.Write(t.Context(), event.WholeEvent, dead, body, corrected, anotherRun(dead))
	requireClass(t, err, event.ClassConflict, event.CodeCorrectedConflict)
	dead.ConflictsWith = other.ID
	d.fail(dead, err, "run-2")
	_, err = d.Writer.Write(t.Context(), event.WholeEvent, dead, body, corrected, anotherRun(dead))
	require.Error(t, err, "a reset accepts nothing")
	d.take(d.deadLetterOf(dead).ID)
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, dead, body, corrected, anotherRun(dead))
	require.NoError(t, err)
	require.False(t, persisted.Duplicate)
	require.EqualValues(t, 2, d.processedEvents())
	require.Equal(t, other.ID, d.ownerOf("evt_1"))
	again := sentAgain("evt_1", "sha256:same").WithConflictKey(other.ID)
	persisted, err = d.Writer.Write(t.Context(), event.WholeEvent, again, body, parsed(), runOf(again))
	require.NoError(t, err)
	require.Equal(t, dead.ID, persisted.Owner)
}

// An event that was accepted under the earlier definition, and whose key another event has by that definition, is that event's
// redelivery if the contents are the same, and otherwise an event of its own: the definition was corrected to tell the two apart.
func TestTheFormerKeyDropsOnlyRedeliveries(t *testing.T) {
	t.Parallel()
	d := open(t)
	owner, same, other := receipt(), receipt(), receipt()
	for _, r := range []*event.Receipt{&owner, &same, &other} {
		r.Key, r.Fingerprint = "customer_1", "sha256:a"
	}
	other.Fingerprint = "sha256:b"
	d.process(owner, parsed())
	as := func(key, fingerprint string) event.Parsed {
		p := parsed()
		p.Identity = &event.Identity{Key: key, KeyFrom: event.KeyFromEvent, Fingerprint: fingerprint, Certain: true}
		return p
	}
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, same, body, as("evt_a", "sha256:a"), runOf(same))
	require.NoError(t, err)
	require.Equal(t, owner.ID, persisted.Owner)
	require.Equal(t, owner.ID, d.ownerOf("evt_a"), "it has the content of the owner, and so its key")
	persisted, err = d.Writer.Write(t.Context(), event.WholeEvent, other, body, as("evt_b", "sha256:b"), runOf(other))
	require.NoError(t, err)
	require.False(t, persisted.Duplicate)
	require.Equal(t, other.ID, d.ownerOf("evt_b"))
	require.Equal(t, owner.ID, d.ownerOf("customer_1"))
}

// An event that was processed stays processed, even if another event has its new key; its dead letter is resolved.
func TestAProcessedEventStaysProcessed(t *testing.T) {
	t.Parallel()
	d := open(t)
	done, corrected := misread("evt_1")
	other := sentAgain("evt_1", "sha256:same")
	d.process(done, parsed())
	d.process(other, parsed())
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, done, body, corrected, anotherRun(done))
	require.NoError(t, err)
	require.False(t, persisted.Duplicate)
	require.EqualValues(t, 2, d.processedEvents())
	require.Equal(t, other.ID, d.ownerOf("evt_1"))
}

// Events whose definition was corrected while they waited in the bulk lane share a key: one of them is processed, the other is a
// duplicate, and none of the batch is lost.
func TestABatchClaimsCorrectedKeysOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	first, corrected := misread("evt_1")
	second, _ := misread("evt_1")
	plain := receipt()
	for _, r := range []event.Receipt{first, second, plain} {
		d.bulk(r)
	}
	parse := func(r event.Receipt, _ []byte) (event.Parsed, error) {
		if r.ID == plain.ID {
			return parsed(), nil
		}
		return corrected, nil
	}
	outcomes := map[event.Outcome]int{}
	for n := range 3 {
		events, err := d.Writer.ProcessBatch(t.Context(), 100, event.Run{WorkflowID: "batch/1", RunID: fmt.Sprint(n)}, parse)
		require.NoError(t, err)
		for _, e := range events {
			outcomes[e.Outcome]++
		}
	}
	require.Equal(t, map[event.Outcome]int{event.OutcomeProcessed: 2, event.OutcomeDuplicate: 1}, outcomes)
}

// Whatever the order of runs, resets, replays, redeliveries, recoveries and imports, before and after the correction, alone and together:
// the event has one effect in the end, and no dead letter is left.
func TestAnyOrderOfACorrectionLeavesOneEffect(t *testing.T) {
	t.Parallel()
	d := open(t)
	movers := newMover(d, 1)
	for seed := range uint64(80) {
		random := rand.New(rand.NewPCG(seed, 1))
		key := fmt.Sprintf("evt_%d", seed)
		dead, corrected := misread(key, patch(key, `{"n":1}`))
		isCorrected := false
		run := func(r event.Receipt) {
			if !isCorrected {
				d.fail(dead, event.Rejectf("missing_key", "no key"), fmt.Sprint("run-", random.Int()))
				return
			}
			p := parsed(patch(key, `{"n":1}`))
			if r.ID == dead.ID {
				p = corrected
			}
			persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, r, body, p, anotherRun(r))
			require.NoError(t, err, "seed %d", seed)
			if persisted.OwnerWaits { // as the workflow does
				r.ID = persisted.Owner
				_, err = d.Writer.Write(t.Context(), event.WholeEvent, r, body, p, anotherRun(r))
				require.NoError(t, err, "seed %d", seed)
			}
		}
		run(dead)
		for range 2 + random.IntN(6) {
			switch random.IntN(6) {
			case 5: // an import of the event, which another system has processed; staged before or after the correction
				imported, p := sentAgain(key, ""), parsed(patch(key, `{"n":1}`))
				if random.IntN(2) == 0 {
					imported, p = misread(key, patch(key, `{"n":1}`))
					imported.Key, p.Identity.Fingerprint = dead.Key, ""
				}
				imported.Imported = &event.Imported{}
				movers.finishWith(movers.stage(operation.ImportItem{Record: operation.ImportEvent, Receipt: imported, Body: body}),
					func(event.Receipt, []byte) (event.Parsed, error) { return p, nil })
			case 0:
				isCorrected = true
			case 1: // a replay or a reset
				run(dead)
			case 2: // a redelivery
				if isCorrected {
					run(sentAgain(key, "sha256:same"))
				}
			case 3: // a recovery has no fingerprint
				if isCorrected {
					run(sentAgain(key, ""))
				}
			case 4: // a run of the redelivery that fails for another reason
				if isCorrected {
					again := sentAgain(key, "sha256:same")
					err := d.DeadLetters.RecordDeadLetter(t.Context(), event.DeadLetter{
						Receipt: again, Body: body, Run: anotherRun(again),
						Failure: event.Failure{Step: event.StepPersist, Class: event.ClassFailed, Code: "x", At: again.ReceivedAt},
					})
					_ = err // a refusal if the key has an owner
				}
			}
		}
		isCorrected = true
		run(dead)
		run(sentAgain(key, "sha256:same"))
		run(dead)
		require.EqualValues(t, 1, value[int64](d, `SELECT count(*) FROM events WHERE key IN ($1, $2)`, key, dead.Key), "seed %d", seed)
		require.EqualValues(t, 1, value[int64](d, `SELECT count(*) FROM event_entities WHERE external_id = $1`, key), "seed %d", seed)
		require.Zero(t, value[int64](d, `SELECT count(*) FROM dead_letters WHERE state <> 'resolved'`), "seed %d", seed)
	}
}
