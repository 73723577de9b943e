package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// A worker is killed between persist and upsert:
//   - the event is stored, but its entity isn't
//   - another worker completes it, and each effect has happened once
func TestAWorkerIsKilledBetweenPersistAndUpsert(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	door := i.start(t, "ingress")
	first := i.start(t, "worker")
	id, customer := uniqueID("evt"), uniqueID("cus")

	release := i.lock(t, "entities")
	require.Equal(t, 202, door.send(t, customerUpdated(id, customer, "Ada", time.Now())).status)
	i.awaitCount(t, 30*time.Second, 1, "SELECT count(*) FROM events WHERE status = 'persisted'")
	first.kill()
	release()
	require.Zero(t, i.count(t, processedEvents))

	i.start(t, "worker")
	i.awaitCount(t, time.Minute, 1, processedEvents)
	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM event_entities"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM entities WHERE external_id = $1", customer))
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
}

// A worker is killed in the middle of a step of the durable lane, which may take three minutes:
//   - another one takes the step over once the first has been silent for some seconds, without waiting for those minutes
func TestAWorkerIsKilledInTheMiddleOfADurableStep(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	door := i.start(t, "ingress")
	first := i.start(t, "worker")
	id := uniqueID("evt")

	release := i.lock(t, "entities")
	require.Equal(t, 202, door.send(t, customerUpdated(id, uniqueID("cus"), "Ada", time.Now())).status)
	eventually(t, time.Minute, "the durable lane is used", func() error { return i.usesDurableLane(t, "stripe:"+id) })
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
	first.kill()
	release()

	i.start(t, "worker")
	i.awaitCount(t, 90*time.Second, 1, processedEvents)
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
}

// A process is stopped while requests come in:
//   - every accepted request is answered, and every event is eventually processed
func TestAStopCutsNothing(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	load := startLoad(n, 8)
	eventually(t, 30*time.Second, "the load is running", func() error { return load.atLeast(50) })
	n.terminate(t)
	load.stop()

	for _, id := range load.unanswered {
		require.NotContains(t, n.log.String(), id, "a request that was handled has been answered")
	}
	i.start(t, "worker")
	i.awaitCount(t, time.Minute, int(load.accepted.Load()), processedEvents)
	require.Zero(t, i.count(t, openDeadLetters))
}
