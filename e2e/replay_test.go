package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/launch"
	"holdfast/persistence"
	"holdfast/workflows/runs"
)

// replayed is how many dead letters are replayed at once; HOLDFAST_TEST_REPLAYED changes it. Five thousand take two minutes on
// two idle cores, almost all of it in Temporal.
func replayed(t *testing.T) int {
	t.Helper()
	text := os.Getenv("HOLDFAST_TEST_REPLAYED")
	if text == "" {
		return 200
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

var replayID = regexp.MustCompile(`replay (\d{8}-\d{6}-\w{4})`)

// startReplay starts a replay from the command line and returns its ID.
func (i *installation) startReplay(t *testing.T, args ...string) string {
	t.Helper()
	out, err := i.run(t, append([]string{"dlq", "replay", "--yes", "--detach"}, args...)...)
	require.NoError(t, err, out)
	found := replayID.FindStringSubmatch(out)
	require.Len(t, found, 2, out)
	return found[1]
}

// All dead letters are replayed twice at the same time, and the only worker is killed in the middle:
//   - each is processed, by one run
//   - the two replays have shared them, and report that
func TestTwoReplaysAtOnceAndAKill(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := replayed(t)
	i.bury(t, n)
	worker := i.start(t, "worker", "HOLDFAST_WORKER_SLOTS_REPLAY=16")
	ids := make([]string, 2)
	var starting sync.WaitGroup
	began := time.Now()
	for k := range ids {
		starting.Go(func() { ids[k] = i.startReplay(t, "--rate", "50/s", "--provider", "stripe") })
	}
	starting.Wait()
	eventually(t, 3*time.Minute, "a third is processed", func() error { return atLeast(i.count(t, processedEvents), n/3) })
	worker.kill()
	require.Less(t, i.count(t, processedEvents), n, "the kill came too late to show anything")
	i.start(t, "worker", "HOLDFAST_WORKER_SLOTS_REPLAY=16")

	i.awaitCount(t, 8*time.Minute, n, processedEvents)
	t.Logf("%d dead letters in %s", n, time.Since(began).Round(time.Second))
	one := i.awaitReplay(t, time.Minute, ids[0], operation.Completed)
	two := i.awaitReplay(t, time.Minute, ids[1], operation.Completed)
	require.EqualValues(t, n, one.Done+two.Done)
	require.Zero(t, one.Failed+two.Failed)
	require.Equal(t, n, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'resolved' AND failures = 1"))
	require.Equal(t, n, i.count(t, "SELECT count(*) FROM event_entities"))
	eventually(t, 30*time.Second, "the runs are on record", func() error {
		return atLeast(i.runsOf(t, "WorkflowType = 'ProcessEvent' AND ExecutionStatus = 'Completed'"), n)
	})
	require.Equal(t, n, i.runsOf(t, "WorkflowType = 'ProcessEvent'"), "one run each")
}

// A manual replay:
//   - the dry run shows the plan and starts nothing; without --yes and a terminal nothing is started
//   - without a filter --all is required
//   - paused it starts nothing, resumed it continues, canceled it ends and leaves the rest
//   - each of these is audited, and an ended one doesn't change
func TestAReplayIsControlled(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.bury(t, 60)
	out, err := i.run(t, "dlq", "replay", "--provider", "stripe", "--class", "failed", "--since", "1h", "--dry-run")
	require.NoError(t, err, out)
	require.Regexp(t, `dead letters\s+60`, out)
	require.Contains(t, out, "failed 60")
	out, err = i.run(t, "dlq", "replay", "--provider", "stripe", "--source", "shop-a", "--dry-run")
	require.NoError(t, err, out)
	require.Contains(t, out, "no waiting dead letter matches: provider stripe, source shop-a")
	for _, list := range []string{"event list", "dlq list", "dlq replay"} {
		out, err = i.run(t, append(strings.Fields(list), "--source", "shop-a")...)
		require.Error(t, err, list)
		require.Contains(t, out, "needs provider", list)
	}
	out, err = i.run(t, "dlq", "replay", "--yes")
	require.Error(t, err)
	require.Contains(t, out, "--all", "everything has to be asked for")
	out, err = i.run(t, "dlq", "replay", "--all", "--provider", "stripe", "--yes")
	require.Error(t, err)
	require.Contains(t, out, "not both")
	out, err = i.run(t, "dlq", "replay", "--all")
	require.Error(t, err)
	require.Contains(t, out, "--yes")
	require.Zero(t, i.count(t, "SELECT count(*) FROM replays"))
	out, err = i.run(t, "dlq", "replay", "--code", "no_such_code", "--yes")
	require.NoError(t, err, out)
	require.Zero(t, i.count(t, "SELECT count(*) FROM replays"))

	i.start(t, "worker")
	id := i.startReplay(t, "--all", "--rate", "4/s")
	eventually(t, time.Minute, "it has begun", func() error { return atLeast(i.count(t, processedEvents), 1) })
	out, err = i.run(t, "replay", "pause", id, "--reason", "traffic", "--json")
	require.NoError(t, err, out)
	var paused operation.Replay
	require.NoError(t, json.Unmarshal([]byte(out), &paused), out)
	require.Equal(t, operation.Paused, paused.State)
	r := i.awaitReplay(t, time.Minute, id, operation.Paused)
	time.Sleep(2 * time.Second) // at 4/s, eight more would be done
	require.Equal(t, r.Done, i.shownReplay(t, id).Done)
	require.Less(t, r.Done, int64(60))

	out, err = i.run(t, "replay", "resume", id)
	require.NoError(t, err, out)
	eventually(t, time.Minute, "it goes on", func() error { return atLeast(int(i.shownReplay(t, id).Done), int(r.Done)+2) })
	out, err = i.run(t, "replay", "cancel", id)
	require.NoError(t, err, out)
	r = i.awaitReplay(t, time.Minute, id, operation.Canceled)
	require.Less(t, r.Done, int64(60))
	i.awaitStatus(t, "replay/"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 60-int(r.Done), i.count(t, openDeadLetters))
	out, err = i.run(t, "replay", "resume", id)
	require.Error(t, err)
	require.Contains(t, out, "canceled")
	require.Equal(t, 4, i.count(t, "SELECT count(*) FROM audit_log WHERE object = $1 AND actor LIKE 'cli:%'", "replay:"+id))
	i.replay(t, "replay_canceled", "replay/"+id)

	out, err = i.run(t, "dlq", "replay", "--all", "--yes", "--rate", "100/s") // watched to its end
	require.NoError(t, err, out)
	require.Contains(t, out, "100%")
	i.awaitCount(t, time.Minute, 60, processedEvents)
	id = replayID.FindStringSubmatch(out)[1]
	i.awaitStatus(t, "replay/"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.replay(t, "replay_completed", "replay/"+id)
	out, err = i.run(t, "replay", "list")
	require.NoError(t, err, out)
	require.Contains(t, out, id)
}

// A replay of dead letters while live events come in:
//   - replayed events have their own workers, and a live event is processed as fast as usual
func TestAReplayLeavesLiveTrafficAlone(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.bury(t, 400)
	n := i.start(t, "serve", "HOLDFAST_WORKER_SLOTS_REPLAY=2")
	measure := func() (took []time.Duration) {
		for range 15 {
			id := uniqueID("evt")
			start := time.Now()
			require.Equal(t, 202, n.send(t, customerUpdated(id, uniqueID("cus"), "Ada", start)).status)
			eventually(t, 30*time.Second, "the live event is processed", func() error {
				return atLeast(i.count(t, processedEvents+" AND key = $1", id), 1)
			})
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		return took
	}
	alone := measure()
	id := i.startReplay(t, "--all", "--rate", "50/s")
	eventually(t, time.Minute, "it has begun", func() error { return atLeast(int(i.shownReplay(t, id).Done), 1) })
	during := measure()
	require.NotZero(t, i.count(t, openDeadLetters), "the replay was over too soon to show anything")
	t.Logf("live events alone: median %s, worst %s; during a replay: median %s, worst %s",
		alone[7], alone[14], during[7], during[14])
	require.Less(t, during[7], 5*time.Second)
	i.awaitReplay(t, 2*time.Minute, id, operation.Completed)
}

// Fifty concurrent replays of one dead letter:
//   - one starts a run, 49 are refused
func TestFiftyReplaysAreOneRun(t *testing.T) {
	t.Parallel()
	i, workflowID := poisoned(t)
	store, err := persistence.Open(t.Context(), persistence.Config{URL: i.database, MaxConns: 10})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	service := &launch.SingleReplays{DeadLetters: store.ReplayView(), Runs: runs.NewStarter(i.dial(t), converter.GetDefaultDataConverter())}
	id := int64(i.count(t, "SELECT id FROM dead_letters"))

	var started, refused atomic.Int64
	var replays sync.WaitGroup
	for range 50 {
		replays.Go(func() {
			_, err := service.Replay(context.Background(), id, oversight.Actor{Name: "test"})
			var state *event.StateError
			switch {
			case err == nil:
				started.Add(1)
			case errors.As(err, &state):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	replays.Wait()
	require.EqualValues(t, 1, started.Load())
	require.EqualValues(t, 49, refused.Load())
	i.assertRescued(t, workflowID)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM audit_log"))
	eventually(t, 30*time.Second, "the runs are on record", func() error {
		return atLeast(i.runsOf(t, "WorkflowType = 'ProcessEvent' AND ExecutionStatus = 'Completed'"), 1)
	})
	require.Equal(t, 2, i.runsOf(t, "WorkflowType = 'ProcessEvent'"), "the one that failed, and one replay")
}
