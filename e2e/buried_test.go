package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"holdfast/event"
	"holdfast/event/operation"
)

// bury inserts n dead letters of Stripe events that would be processed if they ran again, as after an outage that has lasted
// longer than Temporal's retention.
func (i *installation) bury(t *testing.T, n int) {
	t.Helper()
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, i.database)
	require.NoError(t, err)
	defer connection.Close(ctx)
	now := time.Now().UTC().Truncate(time.Millisecond)
	_, err = connection.CopyFrom(ctx, pgx.Identifier{"dead_letters"}, []string{
		"event_id", "provider", "key", "type", "receipt", "raw_body", "step", "error_class", "error_code", "error_message",
		"attempts", "first_failed_at", "last_failed_at", "workflow_id", "run_id",
	}, pgx.CopyFromSlice(n, func(int) ([]any, error) {
		r := event.Receipt{
			ID: uuid.Must(uuid.NewV7()).String(), Provider: "stripe", Key: uniqueID("evt"), KeyFrom: event.KeyFromEvent,
			Type: "customer.updated", ReceivedAt: now, RequestID: "req_buried",
		}
		receipt, err := json.Marshal(r)
		body := customerUpdated(r.Key, fmt.Sprintf("cus_buried_%d", sequence.Add(1)%50), "Ada", now)
		return []any{
			r.ID, r.Provider, r.Key, r.Type, string(receipt), body, "upsert", "failed", "undefined_column", "a migration was missing",
			4, now, now, r.WorkflowID(), uuid.NewString(),
		}, err
	}))
	require.NoError(t, err)
}

// runsOf counts the runs that match a query, once they are visible.
func (i *installation) runsOf(t *testing.T, query string) (n int) {
	t.Helper()
	c := i.dial(t)
	eventually(t, 30*time.Second, "Temporal counts runs", func() error {
		found, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		n = int(found.GetCount())
		return err
	})
	return n
}

// accepted sends until the answer is 202, as senders do.
func accepted(t *testing.T, send func() answer) {
	t.Helper()
	eventually(t, time.Minute, "the event is accepted", func() error {
		if a := send(); a.status != 202 && a.status != 200 {
			return fmt.Errorf("%d: %s", a.status, a.body)
		}
		return nil
	})
}

// shownReplay reads a replay as JSON.
func (i *installation) shownReplay(t *testing.T, id string) (r operation.Replay) {
	t.Helper()
	out, err := i.run(t, "replay", "show", id, "--json")
	require.NoError(t, err, out)
	require.NoError(t, json.Unmarshal([]byte(out), &r), out)
	return r
}

// awaitReplay waits until a replay has the state and none of its runs is open.
func (i *installation) awaitReplay(t *testing.T, limit time.Duration, id string, want operation.State) (r operation.Replay) {
	t.Helper()
	eventually(t, limit, "replay "+id+" is "+string(want), func() error {
		if r = i.shownReplay(t, id); r.State != want || r.InFlight > 0 {
			return fmt.Errorf("it is %+v", r)
		}
		return nil
	})
	return r
}
