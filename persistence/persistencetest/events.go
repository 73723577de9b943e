package persistencetest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
)

var (
	// Body is the body of the tests' events.
	Body = []byte(`{"id": "evt_1",  "data": {"n": 1.10}}`)
	// Noon is when they were received, and occurred.
	Noon = time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)
)

// Receipt returns a new event with its own key.
func Receipt() event.Receipt {
	id := uuid.Must(uuid.NewV7()).String()
	return event.Receipt{
		ID: id, Provider: "acme", Key: "evt_" + rand.Text(), KeyFrom: event.KeyFromEvent, Type: "thing.changed",
		ReceivedAt: Noon, Headers: map[string]string{"user-agent": "test"}, RequestID: "req_1",
	}
}

// SameKey returns another event with the same key, received later.
func SameKey(r event.Receipt, later time.Duration) event.Receipt {
	other := Receipt()
	other.Key, other.DedupeWindow, other.ReceivedAt = r.Key, r.DedupeWindow, r.ReceivedAt.Add(later)
	return other
}

// Parsed returns a parsed event with these changes.
func Parsed(changes ...event.Change) event.Parsed {
	return event.Parsed{Type: "thing.changed", OccurredAt: Noon, Outcome: event.OutcomeProcessed, Changes: changes}
}

// Snapshot returns a change that sets the whole state of a thing.
func Snapshot(id, state string) event.Change {
	return event.Change{Kind: "thing", ExternalID: id, Op: event.OpSnapshot, State: json.RawMessage(state)}
}

// Patch returns a change of a part of a thing's state.
func Patch(id, state string) event.Change {
	return event.Change{Kind: "thing", ExternalID: id, Op: event.OpPatch, State: json.RawMessage(state)}
}

// Thing returns the thing that Snapshot and Patch change.
func Thing(id string) event.EntityRef {
	return event.EntityRef{Provider: "acme", Kind: "thing", ExternalID: id}
}

// RunOf returns the first run of an event, which is the same at each call.
func RunOf(r event.Receipt) event.Run {
	return event.Run{WorkflowID: r.WorkflowID(), RunID: uuid.NewSHA1(uuid.Nil, []byte(r.ID)).String()}
}

// AnotherRun returns a new run of an event.
func AnotherRun(r event.Receipt) event.Run {
	return event.Run{WorkflowID: r.WorkflowID(), RunID: uuid.NewString()}
}

// Process runs the persist and upsert steps of an event.
func (d *Database) Process(r event.Receipt, p event.Parsed) {
	d.T.Helper()
	persisted, err := d.Writer.Write(d.T.Context(), event.RowOnly, r, Body, p, RunOf(r))
	require.NoError(d.T, err)
	require.False(d.T, persisted.Duplicate)
	require.NoError(d.T, d.UpsertEntities(d.T.Context(), r, p, RunOf(r)))
}

// ProcessAgain runs both steps of an event in another run, as a replay does.
func (d *Database) ProcessAgain(r event.Receipt) {
	d.T.Helper()
	run := AnotherRun(r)
	_, err := d.Writer.Write(d.T.Context(), event.RowOnly, r, Body, Parsed(), run)
	require.NoError(d.T, err)
	require.NoError(d.T, d.UpsertEntities(d.T.Context(), r, Parsed(), run))
}

// UpsertEntities runs the upsert step of an event.
func (d *Database) UpsertEntities(ctx context.Context, r event.Receipt, p event.Parsed, run event.Run) error {
	_, err := d.Writer.Write(ctx, event.EntitiesOnly, r, nil, p, run)
	return err
}

// Conflicts returns the events that had the key of another event.
func (d *Database) Conflicts() []event.Conflict {
	d.T.Helper()
	conflicts, err := d.Read.Conflicts(d.T.Context(), event.ConflictQuery{Provider: "acme"})
	require.NoError(d.T, err)
	return conflicts
}

// Stored runs the persist step of a new event with this body.
func (d *Database) Stored(body []byte, change ...func(*event.Receipt)) event.Receipt {
	d.T.Helper()
	r := Receipt()
	for _, c := range change {
		c(&r)
	}
	_, err := d.Writer.Write(d.T.Context(), event.RowOnly, r, body, Parsed(), RunOf(r))
	require.NoError(d.T, err)
	return r
}
