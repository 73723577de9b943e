package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// A definition makes timeouts final:
//   - an event whose step times out is a dead letter after one attempt of the durable lane
//   - its run replays
//   - it isn't replayed automatically; an operator does it
func TestTimeoutsFailForGoodWhereDeclared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(acme+"timeout: 1s\non_timeout: fail\n"), 0o600))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "ACME_TOKEN="+secret)
	n := i.start(t, "serve")
	deliver := func(id string) answer {
		return n.deliver(t, 202, "/webhooks/acme", `{"id":"`+id+`","type":"order.paid","order":"o1","total":7}`, "X-Acme-Token", secret)
	}
	deliver("e1")
	i.entity(t, "acme", "order", "o1")
	release := i.lockEntity(t, "acme", "order", "o1")
	id := deliver("e2").Events[0].EventID
	const dead = "SELECT count(*) FROM dead_letters WHERE error_code = 'timeout' AND error_class = 'rejected' AND attempts = 1"
	i.awaitCount(t, time.Minute, 1, dead)
	var letter string
	i.query(t, "SELECT id::text FROM dead_letters WHERE event_id = $1::uuid", []any{id}, &letter)
	i.awaitStatus(t, "acme:e2", enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	i.replay(t, "failed_on_timeout", "acme:e2")
	release()
	_, err := i.run(t, "dlq", "replay", letter, "--wait")
	require.NoError(t, err)
	i.awaitCount(t, time.Minute, 2, processedEvents)
}
