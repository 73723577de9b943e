package handoff

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/itchyny/gojq"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/internal/devstack/stacktest"
)

var server *stacktest.Temporal

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "jq" {
		os.Exit(actAsJQ(os.Args[1], os.Args[2], os.Args[3]))
	}
	stacktest.ExitIfShort()
	os.Exit(stacktest.Main(m, func() (err error) {
		server, err = stacktest.StartTemporal(stacktest.TemporalOptions{Own: true, SearchAttributes: map[string]string{
			"Customer": "Keyword", "Amount": "Int", "Due": "Datetime", "Paid": "Bool", "Tags": "KeywordList", "Ratio": "Double",
		}})
		return err
	}))
}

// actAsJQ is what this program is under that name, so that commands with it can be tried on any machine: jq -r|-c EXPRESSION FILE.
func actAsJQ(flag, source, file string) int {
	query, err := gojq.Parse(source)
	if err != nil {
		return 3
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return 2
	}
	var input any
	if err := json.Unmarshal(data, &input); err != nil {
		return 2
	}
	value, _ := query.Run(input).Next()
	if text, ok := value.(string); ok && flag == "-r" {
		fmt.Fprintln(os.Stdout, text)
		return 0
	}
	out, err := gojq.Marshal(value)
	if err != nil {
		return 5
	}
	fmt.Fprintln(os.Stdout, string(out))
	return 0
}

// bench is a sender with a client that sees what it does.
type bench struct {
	*Sender

	t      *testing.T
	client client.Client
}

func newBench(t *testing.T) *bench {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: server.Address(), Namespace: server.Namespace(), Logger: discard,
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{PlainHeaders()}}, // as for Holdfast's own client
	})
	require.NoError(t, err)
	s := NewSender(Options{Client: c, Namespace: server.Namespace()})
	t.Cleanup(c.Close)
	t.Cleanup(s.Close)
	return &bench{Sender: s, t: t, client: c}
}

// send makes one attempt within 10 s.
func (b *bench) send(sub delivery.Subscription, j delivery.Job, body string) delivery.Result {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	return b.Send(ctx, targetOf(sub), j, messageOf(j, body))
}

func targetOf(sub delivery.Subscription) delivery.Target {
	return delivery.Target{
		Destination:  delivery.Destination{Name: "orders", Temporal: &delivery.Temporal{TaskQueue: "orders"}},
		Subscription: sub,
	}
}

// newJob is the first attempt of a delivery.
func newJob(t *testing.T) delivery.Job {
	t.Helper()
	id, err := uuid.NewV7()
	require.NoError(t, err)
	return delivery.Job{Key: delivery.Key{EventID: id.String(), SubscriptionID: 1}}
}

// again is the attempt after one whose answer was lost.
func again(j delivery.Job) delivery.Job {
	j.Tries = 1
	return j
}

func messageOf(j delivery.Job, body string) delivery.Message {
	return delivery.Message{
		Receipt: event.Receipt{ID: j.EventID, Provider: "stripe", Key: "evt_1", ReceivedAt: time.Unix(1_800_000_000, 0).UTC()},
		Type:    "payment.paid", Body: []byte(body), OccurredAt: time.Unix(1_800_000_000, 0).UTC(),
	}
}

// order is a body with a unique workflow ID.
func newOrder() (id, body string) {
	id = "order-" + uuid.NewString()
	return id, `{"order": "` + id + `", "amount": 12345678901234567890, "ratio": 0.5, "due": "2026-11-22T10:00:00Z", "tags": ["a", "b"], "paid": true}`
}

// history are the events of a run; runID "" is the latest.
func (b *bench) history(id, runID string) []*historypb.HistoryEvent {
	b.t.Helper()
	var all []*historypb.HistoryEvent
	iterator := b.client.GetWorkflowHistory(b.t.Context(), id, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for iterator.HasNext() {
		e, err := iterator.Next()
		require.NoError(b.t, err)
		all = append(all, e)
	}
	return all
}

func (b *bench) started(id string) *historypb.WorkflowExecutionStartedEventAttributes {
	b.t.Helper()
	return b.history(id, "")[0].GetWorkflowExecutionStartedEventAttributes()
}

// signals are the inputs of the signals that a run has, as JSON.
func (b *bench) signals(id, runID string) (all []string) {
	b.t.Helper()
	for _, e := range b.history(id, runID) {
		if s := e.GetWorkflowExecutionSignaledEventAttributes(); s != nil {
			all = append(all, string(s.GetInput().GetPayloads()[0].GetData()))
		}
	}
	return all
}

// latest is the latest run of a workflow.
func (b *bench) latest(id string) string {
	b.t.Helper()
	described, err := b.client.DescribeWorkflowExecution(b.t.Context(), id, "")
	require.NoError(b.t, err)
	return described.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

// runIDOf is the run that an attempt has reached.
func runIDOf(t *testing.T, r delivery.Result) string {
	t.Helper()
	var answer struct {
		RunID string `json:"run_id"`
	}
	require.NoError(t, json.Unmarshal(r.Answer, &answer), "%s %s", r.Code, r.Error)
	return answer.RunID
}
