package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"holdfast/workflows"
)

// The database or the namespace belongs to a build from before the first release:
//   - migrate, serve and doctor refuse it, each in a sentence that says what to do
func TestAnEarlierBuildIsRefused(t *testing.T) {
	t.Parallel()
	const next = "archive its events with that build, use a new database and a new namespace, and import the archive"
	for name, prepare := range map[string]func(*installation){
		"migrations": func(i *installation) {
			earlier, err := os.ReadFile(filepath.Join(root, "migrations", "testdata", "earlier_build.sql"))
			require.NoError(t, err)
			i.exec(t, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
			i.exec(t, string(earlier))
		},
		"namespace": func(i *installation) { // as migrate of that build has done
			_, err := i.dial(t).ScheduleClient().Create(t.Context(), sdk.ScheduleOptions{
				ID: "holdfast-redrive-due", Spec: sdk.ScheduleSpec{Intervals: []sdk.ScheduleIntervalSpec{{Every: time.Hour}}},
				Action: &sdk.ScheduleWorkflowAction{
					ID: "holdfast-redrive-due", Workflow: "RedriveDue", TaskQueue: workflows.QueueOperations,
				},
				Paused: true,
			})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newInstallation(t)
			prepare(i)
			for _, command := range []string{"migrate", "serve"} {
				out, err := i.runWith(t, []string{"HOLDFAST_INGRESS_ADDR=127.0.0.1:0", "HOLDFAST_OPERATOR_ADDR=127.0.0.2:0"}, command)
				require.Error(t, err, command)
				require.Contains(t, out, next, command)
			}
			f, err := i.doctor(t)
			require.Error(t, err)
			require.Equal(t, "fail", f.of(name))
			require.NoError(t, i.examine(t, name, "fail", next))
		})
	}
}
