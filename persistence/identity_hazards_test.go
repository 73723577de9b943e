package persistence_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
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
func TestAnEditUsesTheCorrectedKeyOfItsOriginal(t *testing.T) {
	t.Parallel()
	d := open(t)
	dead, corrected := misread("evt_1")
	_, err := d.Writer.Write(t.Context(), event.RowOnly, dead, body, corrected, runOf(dead))
	require.NoError(t, err)
	d.fail(dead, event.Rejectf("malformed_entity_id", "no ID"), "run-2")
	letter, err := d.DeadLetters.EditDeadLetter(t.Context(),
		operation.Edit{DeadLetter: d.deadLetterOf(dead).ID, EventID: receipt().ID, Body: []byte(`{"id":"evt_1"}`)}, ada)
	require.NoError(t, err)
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, letter.Receipt, letter.Body, identifiedAs("evt_1", ""), anotherRun(letter.Receipt))
	require.NoError(t, err)
	require.True(t, persisted.Processed)
	again := sentAgain("evt_1", "sha256:same")
	persisted, err = d.Writer.Write(t.Context(), event.WholeEvent, again, body, parsed(), runOf(again))
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
		_, err := d.Writer.Write(t.Context(), event.WholeEvent, r, body, identifiedAs("evt_1", "sha256:c"), runOf(r))
		requireClass(t, err, event.ClassConflict, event.CodeCorrectedConflict)
		require.NoError(t, d.recordConflict(r, err))
		letter := d.deadLetterOf(r)
		require.Equal(t, event.DeadLetterOpen, letter.State)
		d.take(letter.ID)
		persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, letter.Receipt, body, identifiedAs("evt_1", "sha256:c"), anotherRun(r))
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
				persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, letter.Receipt, body, p, anotherRun(r))
				require.NoError(t, err)
				if persisted.OwnerWaits { // as the workflow does
					letter.Receipt.ID = persisted.Owner
					_, err = d.Writer.Write(t.Context(), event.WholeEvent, letter.Receipt, body, p, anotherRun(r))
					requireClass(t, err, event.ClassConflict, "key_conflict")
				}
			}
			d.fail(dead, event.Rejectf("missing_key", "no key"), "run-1")
			_, err := d.Writer.Write(t.Context(), event.WholeEvent, again, body, parsed(), runOf(again))
			requireClass(t, err, event.ClassConflict, "key_conflict")
			d.fail(again, err, "run-2")
			if persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, dead, body, corrected, anotherRun(dead)); err != nil {
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
	_, err := d.Writer.Write(t.Context(), event.RowOnly, dead, body, many, runOf(dead))
	require.NoError(t, err)
	d.failAfter(1)
	require.Error(t, d.UpsertEntities(t.Context(), dead, many, runOf(dead)))
	d.exec(`DROP TRIGGER fail_after ON event_entities`)
	d.fail(dead, event.Rejectf("x", "x"), "run-2")
	again := sentAgain("evt_1", "sha256:same")
	d.process(again, parsed(patch("right", `{"n":1}`)))
	persisted, err := d.Writer.Write(t.Context(), event.RowOnly, dead, body, identifiedAs("evt_1", "sha256:same", patch("right", `{"n":1}`)), anotherRun(dead))
	require.NoError(t, err)
	require.Equal(t, again.ID, persisted.Owner)
	require.Zero(t, value[int](d, `SELECT count(*) FROM event_entities WHERE event_id = $1`, dead.ID))
	require.Equal(t, 1, value[int](d, `SELECT count(*) FROM entities`))
}

// corrections is a provider whose definition is corrected while its events arrive:
//   - "none" finds no key, and "wrong" the customer, and both fail to process an event
//   - "right" finds the ID; two contents have the same ID, which are two events
type corrections struct {
	*database
	random     *rand.Rand
	name       string
	definition string
}

func (c *corrections) contentOf(n int) (id, customer, fingerprint string) {
	return fmt.Sprintf("%s_evt_%d", c.name, n/2), c.name + "_customer", fmt.Sprintf("sha256:%s:%d", c.name, n)
}

func (c *corrections) identityOf(n int, id string) event.Identity {
	evt, customer, fingerprint := c.contentOf(n)
	switch c.definition {
	case "none":
		return event.Identity{Key: "missing:" + id, KeyFrom: event.KeyFromNothing, DedupeWindow: event.Duration(15 * time.Minute)}
	case "wrong":
		return event.Identity{Key: customer, KeyFrom: event.KeyFromEvent, Fingerprint: fingerprint, Certain: true}
	}
	return event.Identity{Key: evt, KeyFrom: event.KeyFromEvent, Fingerprint: fingerprint, Certain: true}
}

// deliver receives a content.
func (c *corrections) deliver(n int) {
	r := receiptAt(noon.Add(time.Duration(c.random.IntN(1000)) * time.Second))
	r.CorrelationID = c.name + ":" + strconv.Itoa(n)
	r = r.IdentifiedAs(c.identityOf(n, r.ID))
	r.Definition = c.definition
	c.run(r)
}

// run does what a workflow does.
func (c *corrections) run(r event.Receipt) {
	n := c.contentIn(r)
	p := parsed(patch(fmt.Sprintf("%s_%d", c.name, n), `{"n":1}`))
	if now := c.identityOf(n, r.ID); r.Definition != c.definition && now.KeyFrom != event.KeyFromNothing && !now.Equal(r.Identity()) &&
		(r.ConflictsWith == "" || r.Earlier == nil || r.Earlier.Key != now.Key) {
		p.Identity = &now
	}
	for range 3 { // it may take over the run of another event
		if c.definition == "none" {
			c.bury(r, event.Rejectf("missing_key", "no key"))
			return
		}
		scope := event.WholeEvent
		if c.definition == "wrong" || c.random.IntN(3) == 0 {
			scope = event.RowOnly
		}
		persisted, err := c.Writer.Write(c.t.Context(), scope, r, body, p, anotherRun(r))
		decision, isDecided := errors.AsType[*event.DecisionError](err)
		switch {
		case isDecided:
			require.Equal(c.t, event.OutcomeDiscarded, decision.Decision.Outcome)
			return
		case err != nil:
			require.Equal(c.t, event.ClassConflict, event.ClassOf(err), err)
			c.bury(r, err)
			return
		case persisted.Duplicate && persisted.OwnerWaits && persisted.Conflict == nil:
			r.ID = persisted.Owner
			continue
		case persisted.Duplicate || persisted.Processed:
			return
		case c.definition == "wrong" || c.random.IntN(4) == 0:
			c.bury(r, event.Rejectf("wrong", "it can't be processed"))
			return
		}
		require.NoError(c.t, c.UpsertEntities(c.t.Context(), r, p, anotherRun(r)))
		return
	}
}

// bury does what the activity does.
func (c *corrections) bury(r event.Receipt, err error) {
	switch {
	case event.ClassOf(err) != event.ClassConflict || r.ConflictsWith != "":
	case event.CodeOf(err) == event.CodeCorrectedConflict:
		r.ConflictsWith = "unknown"
	default:
		r = r.WithConflictKey("unknown")
	}
	letter := event.DeadLetter{Receipt: r, Body: body, Run: anotherRun(r), Failure: event.Failure{
		Step: event.StepPersist, Class: event.ClassOf(err), Code: event.CodeOf(err), Message: err.Error(), Attempts: 1, At: time.Now(),
	}}
	err = c.DeadLetters.RecordDeadLetter(c.t.Context(), letter)
	if duplicate, ok := errors.AsType[*event.DuplicateError](err); ok {
		require.Nil(c.t, duplicate.Conflict, "an event is dropped")
		if duplicate.OwnerWaits {
			letter.Receipt.ID = duplicate.Owner
			err = c.DeadLetters.RecordDeadLetter(c.t.Context(), letter)
		} else {
			err = nil
		}
	}
	if decision, ok := errors.AsType[*event.DecisionError](err); ok {
		require.Equal(c.t, event.OutcomeDiscarded, decision.Decision.Outcome)
		return
	}
	require.NoError(c.t, err)
}

func (c *corrections) open() (ids []int64) {
	rows, err := c.sql.Query(c.t.Context(), `SELECT id FROM dead_letters WHERE state = 'open' ORDER BY id`)
	require.NoError(c.t, err)
	ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(c.t, err)
	return ids
}

// discard returns the content that was discarded.
func (c *corrections) discard(id int64) int {
	letter, err := c.DeadLetters.DeadLetter(c.t.Context(), id)
	require.NoError(c.t, err)
	require.NoError(c.t, c.DeadLetters.DiscardDeadLetter(c.t.Context(), id, ada))
	return c.contentIn(letter.Receipt)
}

func (c *corrections) contentIn(r event.Receipt) int {
	n, err := strconv.Atoi(strings.TrimPrefix(r.CorrelationID, c.name+":"))
	require.NoError(c.t, err)
	return n
}

func (c *corrections) replay(id int64) {
	c.take(id)
	letter, err := c.DeadLetters.DeadLetter(c.t.Context(), id)
	require.NoError(c.t, err)
	c.run(letter.Receipt)
}

// Whatever the order in which a definition is corrected, there and back, and events arrive, are repeated, fail, are replayed and
// discarded: each event that wasn't discarded is processed once in the end, and none is lost.
func TestCorrectionsThereAndBackLoseNothing(t *testing.T) {
	t.Parallel()
	d := open(t)
	for seed := range uint64(60) {
		c := &corrections{database: d, random: rand.New(rand.NewPCG(seed, 7)), name: fmt.Sprint("s", seed), definition: "none"}
		sent, discarded := map[int]bool{}, map[int]bool{}
		for range 4 + c.random.IntN(12) {
			switch waiting := c.open(); {
			case c.random.IntN(4) == 0:
				c.definition = []string{"none", "wrong", "right"}[c.random.IntN(3)]
			case len(waiting) > 0 && c.random.IntN(8) == 0:
				discarded[c.discard(waiting[c.random.IntN(len(waiting))])] = true
			case len(waiting) > 0 && c.random.IntN(2) == 0:
				c.replay(waiting[c.random.IntN(len(waiting))])
			default:
				n := c.random.IntN(4)
				sent[n] = true
				c.deliver(n)
			}
		}
		c.definition = "right"
		for range 30 {
			for _, id := range c.open() {
				if slices.Contains(c.open(), id) {
					c.replay(id)
				}
			}
		}
		require.Empty(t, c.open(), "seed %d", seed)
		for n := range sent {
			processed := value[int](d, `SELECT count(*) FROM events WHERE status = 'processed' AND receipt->>'correlation_id' = $1`,
				fmt.Sprint(c.name, ":", n))
			require.LessOrEqual(t, processed, 1, "seed %d, content %d", seed, n)
			require.True(t, processed == 1 || discarded[n], "seed %d, content %d", seed, n)
		}
	}
}
