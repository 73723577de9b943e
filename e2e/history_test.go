package e2e

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"holdfast/event"
	"holdfast/workflows"
)

// record adds new histories to those that workflows/histories replays: go test ./e2e -run Histor -record v3
var record = flag.String("record", "", "record histories into workflows/testdata/histories under this prefix")

// Each path of a run leaves a history that the current code replays:
//   - the fast lane alone
//   - the durable lane, after the fast one had timed out
//   - a dead letter
//   - the redelivery of a dead event
func TestHistoriesReplay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "homemade.yaml")
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("json")), 0o644))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve")

	happy := uniqueID("evt")
	n.send(t, customerUpdated(happy, uniqueID("cus"), "Ada", time.Now()))
	i.awaitStatus(t, "stripe:"+happy, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.replay(t, "fast_lane", "stripe:"+happy)

	slow := uniqueID("evt")
	release := i.lock(t, "entities")
	n.send(t, customerUpdated(slow, uniqueID("cus"), "Ada", time.Now()))
	eventually(t, 30*time.Second, "the durable lane is used", func() error { return i.usesDurableLane(t, "stripe:"+slow) })
	release()
	i.awaitStatus(t, "stripe:"+slow, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.replay(t, "durable_lane", "stripe:"+slow)

	dead := uniqueID("msg")
	n.sendStandard(t, "/webhooks/homemade", dead, []byte(poison))
	i.awaitStatus(t, "homemade:"+dead, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	i.replay(t, "dead_letter", "homemade:"+dead)

	require.NoError(t, os.WriteFile(file, []byte(definitionOf("text")), 0o644))
	n.terminate(t)
	i.start(t, "serve").sendStandard(t, "/webhooks/homemade", dead, []byte(poison))
	i.awaitStatus(t, "homemade:"+dead, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.replay(t, "redelivery", "homemade:"+dead)
}

func (i *installation) usesDurableLane(t *testing.T, workflowID string) error {
	for _, e := range i.history(t, workflowID) {
		if e.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			return nil
		}
	}
	return fmt.Errorf("%s has scheduled no activity", workflowID)
}

// replay asserts that the latest run of a workflow replays, and adds its history to the corpus with -record.
func (i *installation) replay(t *testing.T, name, workflowID string) {
	t.Helper()
	i.replayRun(t, name, event.Run{WorkflowID: workflowID})
}

// replayRun is replay for one run; the latest if it has no ID.
func (i *installation) replayRun(t *testing.T, name string, run event.Run) {
	t.Helper()
	history := &historypb.History{Events: i.historyOf(t, run)}
	replayer := worker.NewWorkflowReplayer()
	workflows.Register(replayer)
	require.NoError(t, replayer.ReplayWorkflowHistory(nil, history), name)
	if *record == "" {
		return
	}
	text, err := protojson.MarshalOptions{Indent: "  "}.Marshal(history)
	require.NoError(t, err)
	text = bytes.ReplaceAll(text, []byte(i.namespace), []byte("default"))
	path := filepath.Join(root, "workflows", "testdata", "histories", *record+"_"+name+".json")
	if len(text) > readable {
		text, path = compressed(t, text), path+".gz"
	}
	require.NoFileExists(t, path, "the corpus only grows")
	require.NoError(t, os.WriteFile(path, text, 0o644))
}

// readable is the maximum length in bytes of a history that is stored as text: thousands of events aren't readable anyway.
const readable = 256 << 10

func compressed(t *testing.T, text []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	require.NoError(t, err)
	_, err = w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return packed.Bytes()
}
