package payloadcodec_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/worker"

	"holdfast/internal/payloadcodec"
	"holdfast/workflows"
)

const histories = "../../workflows/testdata/histories/*.json"

// Every recorded history replays with the worker's converters, both in clear as recorded and encrypted. A worker that lacks the
// key neither fails nor finishes a run: it fails the task, which is retried elsewhere.
func TestHistoriesReplayEncrypted(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(histories)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	c := codec(newKey(t, "k"))
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			require.NoError(t, replay(t, c, readHistory(t, file)))
			encrypted := readHistory(t, file)
			if encryptHistory(t, c, encrypted) == 0 {
				return // a run without input, like that of a schedule
			}
			require.NoError(t, replay(t, c, encrypted))
			require.ErrorContains(t, replay(t, codec(newKey(t, "other")), encrypted), `"k"`)
			require.ErrorContains(t, replay(t, codec(), encrypted), `"k"`)
		})
	}
}

func readHistory(t *testing.T, file string) *historypb.History {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	history := &historypb.History{}
	require.NoError(t, temporalproto.CustomJSONUnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, history))
	return history
}

// encryptHistory encrypts all payloads of a history and counts them. It skips version markers, which the SDK writes with its own
// converter.
func encryptHistory(t *testing.T, c *payloadcodec.Codec, history *historypb.History) (n int) {
	t.Helper()
	for _, e := range history.GetEvents() {
		if e.GetMarkerRecordedEventAttributes().GetMarkerName() == "Version" {
			continue
		}
		require.NoError(t, proxy.VisitPayloads(context.Background(), e, proxy.VisitPayloadsOptions{
			SkipSearchAttributes: true,
			Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
				n += len(payloads)
				return c.Encode(payloads)
			},
		}))
	}
	return n
}

func replay(t *testing.T, c *payloadcodec.Codec, history *historypb.History) error {
	t.Helper()
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: c.DataConverter(), FailureConverter: c.FailureConverter(),
	})
	require.NoError(t, err)
	workflows.Register(replayer)
	return replayer.ReplayWorkflowHistory(nil, history)
}
