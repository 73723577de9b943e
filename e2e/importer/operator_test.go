package importer

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
)

// awaitReplayLooks waits until the automatic replay has run twice.
func (i *installation) awaitReplayLooks(t *testing.T) {
	t.Helper()
	c, err := sdk.NewLazyClient(sdk.Options{HostPort: temporal.Address(), Namespace: i.namespace()})
	require.NoError(t, err)
	defer c.Close()
	looks := func() int64 {
		n, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: i.namespace(), Query: "WorkflowType = 'ReplayDue' AND ExecutionStatus = 'Completed'",
		})
		require.NoError(t, err)
		return n.GetCount()
	}
	first := looks()
	eventually(t, "the schedule has looked twice", func() error {
		if n := looks(); n < first+2 {
			return fmt.Errorf("it has looked %d times", n-first)
		}
		return nil
	})
}

// replay replays the dead letters of a provider, open and exhausted, until this many are left. Of several with one key, one
// replay runs only one.
func (i *installation) replay(t *testing.T, provider string, left int) {
	t.Helper()
	eventually(t, "all dead letters have been replayed", func() error {
		out, _ := i.run("dlq", "replay", "--provider", provider, "--yes", "--reason", "moving in") // a repeated failure is an error
		require.Contains(t, out, "(completed)")
		i.settle(t)
		if n := i.count(t, openDeadLetters); n != left {
			return fmt.Errorf("%d are left", n)
		}
		return nil
	})
}

// eventsOf returns the events of an entity, filtered by type and by a changed field, unless these are "".
func (i *installation) eventsOf(t *testing.T, kind, id, eventType, field string) (ids []string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), i.database)
	require.NoError(t, err)
	defer c.Close(context.Background())
	rows, err := c.Query(t.Context(), "SELECT l.event_id::text FROM event_entities AS l JOIN events AS e ON e.id = l.event_id"+
		" WHERE l.kind = $1 AND l.external_id = $2 AND $3 IN ('', e.type) AND ($4 = '' OR l.change ? $4)", kind, id, eventType, field)
	require.NoError(t, err)
	ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return ids
}

// eventOf returns the only event of an entity.
func (i *installation) eventOf(t *testing.T, kind, id string) string {
	t.Helper()
	ids := i.eventsOf(t, kind, id, "", "")
	require.Len(t, ids, 1, "%s %s", kind, id)
	return ids[0]
}
