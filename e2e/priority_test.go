package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// Every slot of the normal queue is occupied: a flood of events waits for the locked row of one customer:
//   - a critical event of the same process is processed meanwhile
//   - the flood is processed once the row is unlocked, and none of it is given up
func TestAFloodDoesNotDelayACriticalEvent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	normal := "name: normal\nextends: stripe\nsecrets: STRIPE_WEBHOOK_SECRET\npriority: normal\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "normal.yaml"), []byte(normal), 0o644))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve", "HOLDFAST_WORKER_SLOTS_NORMAL=4")
	const flood = 60
	send := func(name string) (workflowID string) {
		id := uniqueID("evt")
		body := customerUpdated(id, "cus_flooded", name, time.Now())
		a, err := n.post("/webhooks/normal", body, "Stripe-Signature", sign(body, secret, time.Now()))
		require.NoError(t, err)
		require.Equal(t, 202, a.status, string(a.body))
		return "normal:" + id
	}
	first := send("Ada")
	i.awaitCount(t, 30*time.Second, 1, processedEvents)
	require.Equal(t, "events", i.describe(t, first).GetTaskQueue())
	release := i.lockEntity(t, "normal", "customer", "cus_flooded")
	for k := range flood {
		send(fmt.Sprint(k))
	}
	i.awaitAtLeast(t, 30*time.Second, 4,
		"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")

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

// awaitAtLeast waits until the query returns at least the number.
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
