package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// Every slot of the normal queue is taken: a flood of events waits for the row of one customer, which is locked:
//   - a critical event of the same process is processed meanwhile
//   - the flood is processed once the row is free, and nothing of it is given up
func TestAFloodDoesNotDelayACriticalEvent(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve", "HOLDFAST_WORKER_SLOTS_NORMAL=4")
	const flood = 60
	require.Equal(t, 202, n.send(t, customerUpdated(uniqueID("evt"), "cus_flooded", "Ada", time.Now())).status)
	i.awaitCount(t, 30*time.Second, 1, processedEvents)
	release := i.lockEntity(t, "cus_flooded")
	for k := range flood {
		body := customerUpdated(uniqueID("evt"), "cus_flooded", fmt.Sprint(k), time.Now())
		require.Equal(t, 202, n.send(t, body).status)
	}
	i.awaitAtLeast(t, 30*time.Second, 4, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")

	id := uniqueID("evt")
	critical := fmt.Appendf(nil, `{"id":%q,"type":"payment_intent.succeeded","created":%d,`+
		`"data":{"object":{"id":"pi_1","object":"payment_intent"}}}`, id, time.Now().Unix())
	a := n.send(t, critical)
	require.Equal(t, 202, a.status)
	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, "events-critical", i.describe(t, "stripe:"+id).GetTaskQueue())
	require.Equal(t, 2, i.count(t, processedEvents), "the flood still waits")

	release()
	i.awaitCount(t, 3*time.Minute, flood+2, processedEvents)
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
}

// lockEntity holds the row of one entity until the function that it gives is called.
func (i *installation) lockEntity(t *testing.T, externalID string) (release func()) {
	t.Helper()
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, i.database)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close(ctx) })
	tx, err := connection.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "SELECT FROM entities WHERE external_id = $1 FOR UPDATE", externalID)
	require.NoError(t, err)
	return func() { require.NoError(t, tx.Rollback(ctx)) }
}

// awaitAtLeast waits until the query gives the number or more.
func (i *installation) awaitAtLeast(t *testing.T, limit time.Duration, want int, sql string) {
	t.Helper()
	eventually(t, limit, fmt.Sprintf("%s >= %d", sql, want), func() error {
		var got int
		if err := i.tryQuery(sql, nil, &got); err != nil {
			return err
		}
		return atLeast(got, want)
	})
}
