package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A subscription starts Holdfast's own workflows in Holdfast's namespace, through a profile for it:
//   - a check reports that this isn't allowed
//   - each delivery fails at its first attempt, and nothing is started
//   - a workflow of the user's own in the same namespace is started
func TestNoSubscriptionStartsAWorkflowOfHoldfasts(t *testing.T) {
	t.Parallel()
	profiles := filepath.Join(t.TempDir(), "temporal.toml")
	i := newInstallation(t, "TEMPORAL_CONFIG_FILE="+profiles)
	text := fmt.Sprintf("[profile.mine]\naddress = %q\nnamespace = %q\n", i.temporal(), i.namespace)
	require.NoError(t, os.WriteFile(profiles, []byte(text), 0o600))
	n := i.start(t, "serve")
	create := func(name string, args ...string) {
		out, err := i.run(t, append([]string{"subscription", "create", name, "--profile", "mine", "--providers", "stripe"}, args...)...)
		require.NoError(t, err, out)
	}
	create("forged", "--task-queue", "operations", "--start", "PurgeExpired", "--workflow-id", `"x-" + .event.id`)
	create("taken", "--task-queue", "own", "--start", "Settle", "--workflow-id", `"stripe:x-" + .event.id`)
	create("fine", "--task-queue", "own", "--start", "Settle", "--workflow-id", `"fine-" + .event.id`)
	for name, reason := range map[string]string{"forged": `task queue "operations" is reserved`, "taken": `begin with "stripe:" are reserved`} {
		out, _ := i.run(t, "subscription", "check", name)
		require.Contains(t, out, reason)
	}
	out, _ := i.run(t, "subscription", "check", "fine")
	require.NotContains(t, out, "reserved")

	sent := n.send(t, someEvent())
	require.Equal(t, "accepted", sent.state(), string(sent.body))
	i.awaitCount(t, time.Minute, 2, openDeadLetters+" AND step = 'deliver' AND error_code = 'reserved' AND event_id = $1",
		sent.Events[0].EventID)
	eventually(t, time.Minute, "the user's own workflow is started", func() error {
		return atLeast(i.runsOf(t, "WorkflowId = 'fine-"+sent.Events[0].EventID+"'"), 1)
	})
	require.Zero(t, i.runsOf(t, "WorkflowId = 'x-"+sent.Events[0].EventID+"' OR WorkflowId = 'stripe:x-"+sent.Events[0].EventID+"'"))
}
