package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
)

// bulky stores each event's whole text in as many entities as the event says.
const bulky = `
name: bulky
body_limit: 4194304
auth:
  - token: {secrets: BULKY_TOKEN, in: header, name: x-bulky-token}
type: .body.type
untyped: reject
key: {parts: [.body.id]}
entities:
  - kind: document
    each: range(.body.entities)
    id: .body.id + "-" + ($item | tostring)
    op: snapshot
    state: '{text: .body.text}'
`

// PostgreSQL is down for 15 seconds while large events arrive, up to the size that Temporal takes, in plain text and encrypted:
//   - a larger one is refused with 503, since only PostgreSQL can keep it
//   - each is processed afterwards, with its bytes and its entities; no run is terminated or stuck
//   - so is a small one that makes large entities
//   - one that can't be parsed becomes a dead letter, with its bytes
//   - the history has the body once, and replays
func TestLargeEventsOutlastAnOutage(t *testing.T) {
	t.Parallel()
	alone := stacktest.NewCluster(t)
	require.NoError(t, alone.Template(func(url string) error { return migrations.Up(context.Background(), url) }))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bulky.yaml"), []byte(bulky), 0o600))

	var installations []*installation
	for _, keys := range []string{"", newPayloadKey(t, "2026")} {
		i := installationOn(t, alone.Database(t), "HOLDFAST_PROVIDERS_DIR="+dir, "BULKY_TOKEN="+secret, "HOLDFAST_PAYLOAD_KEYS="+keys)
		out, err := i.run(t, "migrate")
		require.NoError(t, err, out)
		installations = append(installations, i)
	}
	type sent struct {
		id   string
		body string
		dead bool
	}
	var nodes []*node
	for _, i := range installations {
		nodes = append(nodes, i.start(t, "serve"))
	}
	events := []sent{{id: "poison", body: withoutType("poison", 1_500_000), dead: true}}
	for _, size := range []int{512<<10 - 1, 512 << 10, 512<<10 + 1, 1_100_000, 1_500_000, event.MaxInline} {
		id := fmt.Sprintf("size-%d", size)
		events = append(events, sent{id: id, body: bulkyEvent(id, size, 1)})
	}
	for _, entities := range []int{2, 5, 13} {
		id := fmt.Sprintf("entities-%d", entities)
		events = append(events, sent{id: id, body: bulkyEvent(id, 300_000, entities)})
	}
	require.NoError(t, alone.Stop())
	for _, n := range nodes {
		for _, e := range events {
			require.Equal(t, "accepted", n.deliver(t, 202, "/webhooks/bulky", e.body, "X-Bulky-Token", secret).state(), e.id)
		}
		n.deliver(t, 503, "/webhooks/bulky", bulkyEvent("larger", event.MaxInline+1, 1), "X-Bulky-Token", secret)
	}
	time.Sleep(15 * time.Second) // a run leaves the fast lane after 2 s, and is then retried every second and slower
	require.NoError(t, alone.Start())

	for _, i := range installations {
		for _, e := range events {
			want := enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
			if e.dead {
				want = enumspb.WORKFLOW_EXECUTION_STATUS_FAILED
			}
			i.awaitStatus(t, "bulky:"+e.id, want)
			table := "events"
			if e.dead {
				table = "dead_letters"
			}
			var stored []byte
			i.query(t, "SELECT raw_body FROM "+table+" WHERE key = $1", []any{e.id}, &stored)
			require.True(t, bytes.Equal([]byte(e.body), stored), "%s has other bytes", e.id)
			require.Less(t, i.historySize(t, "bulky:"+e.id), len(e.body)+2*(512<<10)+64<<10, e.id)
		}
		require.Equal(t, 6+2+5+13, i.count(t, "SELECT count(*) FROM entities"))
	}
	i, n := installations[0], nodes[0]
	n.deliver(t, 202, "/webhooks/bulky", bulkyEvent("fast", 600_000, 1), "X-Bulky-Token", secret)
	i.awaitStatus(t, "bulky:fast", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	for name, id := range map[string]string{
		"large_fast_lane": "fast", "large_durable_lane": "size-524289", "large_dead_letter": "poison", "large_changes": "entities-5",
	} {
		i.replay(t, name, "bulky:"+id)
	}
}

// historySize is in bytes.
func (i *installation) historySize(t *testing.T, workflowID string) (size int) {
	t.Helper()
	for _, e := range i.history(t, workflowID) {
		size += e.Size()
	}
	return size
}

// bulkyEvent returns an event of exactly size bytes.
func bulkyEvent(id string, size, entities int) string {
	text := fmt.Sprintf(`{"id":%q,"type":"document.written","entities":%d,"text":"`, id, entities)
	return text + strings.Repeat("x", size-len(text)-len(`"}`)) + `"}`
}

// withoutType returns an event of exactly size bytes that is rejected, and so is a dead letter at once. A failure, such as that of an
// expression, would be retried for 35 seconds.
func withoutType(id string, size int) string {
	return strings.Replace(bulkyEvent(id, size, 3), `"type"`, `"tipe"`, 1)
}
