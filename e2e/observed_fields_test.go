package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/workflows"
)

const orderDefinition = `
name: homemade
extends: standard-webhooks
type: .body.type
occurred_at: []
entities:
  - {kind: customer, id: .body.order.customer, op: patch}
`

// A sender renames a field that a rule needs:
//   - the event is processed, without a dead letter and without an entity
//   - the next observation alerts operators, once: in the error log, the doctor, and the command that prints types
//   - a value is in none of them
func TestARenamedFieldAlertsBeforeADeadLetter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "homemade.yaml"), []byte(orderDefinition), 0o644))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve")
	send := func(field string) {
		t.Helper()
		body := fmt.Sprintf(`{"type": "order.paid", "order": {"id": %q, %q: "c_secret"}}`, uniqueID("o"), field)
		require.Equal(t, 202, n.sendStandard(t, "/webhooks/homemade", uniqueID("msg"), []byte(body)).status)
	}
	for range 20 {
		send("customer")
	}
	i.awaitCount(t, time.Minute, 20, processedEvents)
	observe := func(events int) {
		t.Helper()
		i.runTool(t, "temporal", "schedule", "trigger", "--schedule-id", workflows.ScheduleObserve)
		i.awaitCount(t, 2*time.Minute, 1,
			"SELECT count(*) FROM observed_fields WHERE provider = 'homemade' AND (shape ->> 'events')::int = $1", events)
	}
	observe(20)
	const alerts = "SELECT count(*) FROM error_log WHERE error_code = 'mapped_sometimes_missing'"
	require.Zero(t, i.count(t, alerts))

	for range 2 {
		send("buyer")
	}
	i.awaitCount(t, time.Minute, 22, processedEvents)
	observe(22)
	i.awaitCount(t, time.Minute, 1, alerts)
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
	i.replay(t, "observe_fields", i.latestOf(t, workflows.TypeObserveFields, "Completed"))

	log, err := i.run(t, "error", "list", "--code", "mapped_sometimes_missing", "--json")
	require.NoError(t, err, log)
	require.Contains(t, log, "order.paid: order.customer, which entities[0].id needs: missing in some events since")
	checked, _ := i.run(t, "doctor")
	require.Contains(t, checked, "homemade order.paid: order.customer (for entities[0].id), missing in some events")
	shown, err := i.run(t, "types", "homemade")
	require.NoError(t, err, shown)
	text := strings.Join(strings.Fields(shown), " ")
	for _, line := range []string{
		"order.paid: fields of the latest 22 events", "order.customer string 90%", "entities[0].id",
		"order.buyer string 9%", "new field",
		"missing in some events",
	} {
		require.Contains(t, text, line)
	}
	require.NotContains(t, log+checked+shown, "c_secret")
	typed, err := i.run(t, "types", "homemade", "--go")
	require.NoError(t, err, typed)
	require.Contains(t, typed, "type OrderPaid struct {")
}
