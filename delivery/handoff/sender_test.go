package handoff

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast/delivery"
)

func starting() delivery.Subscription {
	return delivery.Subscription{Start: &delivery.Start{
		WorkflowID: ".body.order", Type: "Settle", Input: []delivery.JQ{"{order: .body.order, amount: .body.amount}", "envelope", ".body.paid"},
	}}
}

func signaling() delivery.Subscription {
	return delivery.Subscription{Signal: &delivery.Signal{
		WorkflowID: ".body.order", SignalName: "payment", SignalInput: []delivery.JQ{"{order: .body.order}"},
	}}
}

func both(ifClosed string) delivery.Subscription {
	return delivery.Subscription{SignalWithStart: &delivery.SignalWithStart{
		Start:      delivery.Start{WorkflowID: ".body.order", Type: "Settle", Input: []delivery.JQ{"{order: .body.order}"}},
		SignalName: "payment", SignalInput: []delivery.JQ{"{order: .body.order}"}, IfClosed: ifClosed,
	}}
}

func requireResult(t *testing.T, r delivery.Result, kind delivery.Kind, code string) {
	t.Helper()
	require.Equal(t, code, r.Code, r.Error)
	require.Equal(t, kind, r.Kind, r.Error)
	require.False(t, r.At.IsZero())
}

// An event starts a workflow: id, type, queue and input are those of the subscription, numbers stay as they are written, and every
// object names the event.
func TestStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, body := newOrder()
	j := newJob(t)
	r := b.send(starting(), j, body)
	requireResult(t, r, delivery.OK, codeStarted)
	require.NotEmpty(t, runIDOf(t, r))

	started := b.started(id)
	require.Equal(t, "Settle", started.GetWorkflowType().GetName())
	require.Equal(t, "orders", started.GetTaskQueue().GetName())
	require.Equal(t, "holdfast", started.GetIdentity())
	in := started.GetInput().GetPayloads()
	require.Len(t, in, 3)
	require.JSONEq(t, `{"order": "`+id+`", "amount": 12345678901234567890, "event_id": "`+j.EventID+`"}`, string(in[0].GetData()))
	require.Contains(t, string(in[0].GetData()), "12345678901234567890")
	require.Equal(t, 1, strings.Count(string(in[1].GetData()), `"event_id":`))
	require.True(t, json.Valid(in[1].GetData()))
	require.Contains(t, string(in[1].GetData()), `"payment.paid"`)
	require.Equal(t, "true", string(in[2].GetData()))
	for _, p := range in {
		require.Equal(t, "json/plain", string(p.GetMetadata()["encoding"]))
	}
	require.JSONEq(t, `"`+j.EventID+`"`, string(started.GetMemo().GetFields()["event_id"].GetData()))
}

// A start whose answer was lost is the same start, also once its workflow has ended; another event with that workflow finds it.
func TestStartIsOncePerWorkflow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, body := newOrder()
	j, other := newJob(t), newJob(t)
	run := runIDOf(t, b.send(starting(), j, body))

	r := b.send(starting(), again(j), body)
	requireResult(t, r, delivery.OK, codeStarted)
	require.Equal(t, run, runIDOf(t, r))
	r = b.send(starting(), other, body)
	requireResult(t, r, delivery.OK, codeExisting)
	require.Equal(t, run, runIDOf(t, r))

	require.NoError(t, b.client.TerminateWorkflow(t.Context(), id, "", ""))
	r = b.send(starting(), again(j), body)
	requireResult(t, r, delivery.OK, codeStarted)
	require.Equal(t, run, runIDOf(t, r))
	requireResult(t, b.send(starting(), other, body), delivery.OK, codeExisting)

	strict := starting()
	strict.Start.IfExists = "dead_letter"
	requireResult(t, b.send(strict, other, body), delivery.Final, codeExisting)
	requireResult(t, b.send(strict, again(j), body), delivery.OK, codeStarted)

	raised := j // resent on request: another delivery for its destination
	raised.Generation = 1
	requireResult(t, b.send(starting(), raised, body), delivery.OK, codeExisting)
}

// A workflow that has gone on as a new run before the attempt after a lost answer is still the delivery's own.
func TestStartOfAWorkflowThatWentOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, body := newOrder()
	w := worker.New(b.client, id, worker.Options{})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, more bool) error {
		if more {
			return workflow.NewContinueAsNewError(ctx, "GoesOn", false)
		}
		return nil
	}, workflow.RegisterOptions{Name: "GoesOn"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	strict := delivery.Subscription{Start: &delivery.Start{
		WorkflowID: ".body.order", Type: "GoesOn", Input: []delivery.JQ{"true"}, IfExists: "dead_letter",
	}}
	target := targetOf(strict)
	target.Destination.Temporal = &delivery.Temporal{TaskQueue: id}
	j := newJob(t)
	require.Equal(t, codeStarted, b.Send(t.Context(), target, j, messageOf(j, body)).Code)
	require.NoError(t, b.client.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil))

	other, repeated := newJob(t), again(j)
	requireResult(t, b.Send(t.Context(), target, repeated, messageOf(j, body)), delivery.OK, codeStarted)
	requireResult(t, b.Send(t.Context(), target, again(other), messageOf(other, body)), delivery.Final, codeExisting)
	sibling := repeated // of the same event, for another subscription
	sibling.SubscriptionID = 2
	requireResult(t, b.Send(t.Context(), target, sibling, messageOf(j, body)), delivery.Final, codeExisting)
}

// Two subscriptions may signal one workflow for one event: neither is taken for a repetition of the other.
func TestSignalIsOncePerDelivery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, body := newOrder()
	requireResult(t, b.send(signaling(), newJob(t), body), delivery.Missing, "workflow_not_found")
	requireResult(t, b.send(starting(), newJob(t), body), delivery.OK, codeStarted)

	j := newJob(t)
	requireResult(t, b.send(signaling(), j, body), delivery.OK, codeSignaled)
	requireResult(t, b.send(signaling(), again(j), body), delivery.OK, codeSignaled)
	require.Equal(t, []string{`{"event_id":"` + j.EventID + `","order":"` + id + `"}`}, b.signals(id, ""))
	second := j
	second.SubscriptionID = 2
	requireResult(t, b.send(signaling(), second, body), delivery.OK, codeSignaled)
	require.Len(t, b.signals(id, ""), 2)
	second.Generation = 1
	requireResult(t, b.send(signaling(), second, body), delivery.OK, codeSignaled)
	require.Len(t, b.signals(id, ""), 3)

	require.NoError(t, b.client.TerminateWorkflow(t.Context(), id, "", ""))
	requireResult(t, b.send(signaling(), newJob(t), body), delivery.Missing, "workflow_not_found")
}

// A signal finds its workflow running, or starts it; a lost answer changes nothing of either.
func TestSignalWithStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, body := newOrder()
	first, second := newJob(t), newJob(t)
	r := b.send(both(""), first, body)
	requireResult(t, r, delivery.OK, codeStarted)
	requireResult(t, b.send(both(""), again(first), body), delivery.OK, codeSignaled)
	require.Len(t, b.signals(id, ""), 1)

	requireResult(t, b.send(both(""), second, body), delivery.OK, codeSignaled)
	requireResult(t, b.send(both(""), again(second), body), delivery.OK, codeSignaled)
	require.Len(t, b.signals(id, ""), 2)

	// The workflow has ended before the attempt after a lost answer: the delivery that started it starts no second one.
	require.NoError(t, b.client.TerminateWorkflow(t.Context(), id, "", ""))
	for _, ifClosed := range []string{"", "start", "skip", "dead_letter"} {
		require.Equal(t, delivery.OK, b.send(both(ifClosed), again(first), body).Kind)
		require.Len(t, b.signals(id, ""), 2, ifClosed)
	}
	require.Equal(t, runIDOf(t, r), b.latest(id))
	requireResult(t, b.send(both(""), again(second), body), delivery.OK, codeSignaled)
	require.Equal(t, runIDOf(t, r), b.latest(id))
}

func TestSignalWithStartOfAClosedRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, body := newOrder()
	first := runIDOf(t, b.send(both(""), newJob(t), body))
	require.NoError(t, b.client.TerminateWorkflow(t.Context(), id, "", ""))

	j := newJob(t)
	for _, job := range []delivery.Job{j, again(j)} {
		requireResult(t, b.send(both("skip"), job, body), delivery.OK, codeClosed)
		requireResult(t, b.send(both("dead_letter"), job, body), delivery.Final, "workflow_closed")
	}
	require.Len(t, b.signals(id, ""), 1)
	for _, job := range []delivery.Job{newJob(t), again(newJob(t))} { // the second's first attempt never arrived
		r := b.send(both("start"), job, body)
		requireResult(t, r, delivery.OK, codeStarted)
		require.NotEqual(t, first, runIDOf(t, r))
		require.Len(t, b.signals(id, ""), 1)
		first = runIDOf(t, r)
		require.NoError(t, b.client.TerminateWorkflow(t.Context(), id, "", ""))
	}
}

// What the server takes as a search attribute is decided by how it is registered, so that text can be a time.
func TestWorkflowsHaveASummary(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, body := newOrder()
	sub := starting()
	sub.Start.SearchAttributes = map[string]delivery.JQ{
		"Customer": ".body.order", "Amount": "42", "Due": ".body.due", "Paid": ".body.paid", "Tags": ".body.tags",
		"Ratio": ".body.ratio",
	}
	sub.Start.Summary, sub.Start.PriorityKey, sub.Start.FairnessKey = `"Order " + .body.order + ("é" * 300)`, 2, `"acme"`
	requireResult(t, b.send(sub, newJob(t), body), delivery.OK, codeStarted)

	started := b.started(id)
	require.EqualValues(t, 2, started.GetPriority().GetPriorityKey())
	require.Equal(t, "acme", started.GetPriority().GetFairnessKey())
	require.Len(t, started.GetSearchAttributes().GetIndexedFields(), 6)
	described, err := b.client.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	summary, err := described.GetStaticSummary()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(summary, "Order "+id+"é"), summary)
	require.Equal(t, 6, described.TypedSearchAttributes.Size())

	sub.Start.SearchAttributes = map[string]delivery.JQ{"Customer": "null"}
	_, body = newOrder()
	requireResult(t, b.send(sub, newJob(t), body), delivery.OK, codeStarted)
}

// What an event does not give is final, and named without anything of the event.
func TestBuildFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range map[string]struct {
		change func(*delivery.Start)
		code   string
		says   string
	}{
		"no workflow id": {func(s *delivery.Start) { s.WorkflowID = ".body.nothing" }, "invalid_workflow_id", "start.workflow_id"},
		"a list for one": {func(s *delivery.Start) { s.WorkflowID = ".body.tags" }, "invalid_workflow_id", "start.workflow_id"},
		"an empty one":   {func(s *delivery.Start) { s.WorkflowID = `""` }, "invalid_workflow_id", "start.workflow_id"},
		"one too long":   {func(s *delivery.Start) { s.WorkflowID = `"secret" * 200` }, "invalid_workflow_id", "1200 bytes"},
		"one with null in it": {
			func(s *delivery.Start) { s.WorkflowID = `"order:" + .body.nothing` }, "invalid_workflow_id", "start.workflow_id adds null",
		},
		"one with NUL":       {func(s *delivery.Start) { s.WorkflowID = `"a\u0000b"` }, "invalid_workflow_id", "NUL"},
		"an id that fails":   {func(s *delivery.Start) { s.WorkflowID = ".body.order.x" }, "input_error", "start.workflow_id"},
		"an input that does": {func(s *delivery.Start) { s.Input = []delivery.JQ{`error("secret")`} }, "input_error", "start.input[0]"},
		"an input too dear":  {func(s *delivery.Start) { s.Input = []delivery.JQ{"[range(1e9)] | length"} }, "input_error", "jq_too_costly"},
		"an unknown attribute": {
			func(s *delivery.Start) { s.SearchAttributes = map[string]delivery.JQ{"Nobody": ".body.order"} }, "invalid_argument", "Nobody",
		},
		"an attribute of another type": {
			func(s *delivery.Start) { s.SearchAttributes = map[string]delivery.JQ{"Amount": `"secret"`} }, "invalid_argument", "Amount",
		},
		"a fairness key too long": {func(s *delivery.Start) { s.FairnessKey = `"secret" * 20` }, "invalid_argument", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sub := starting()
			c.change(sub.Start)
			id, body := newOrder()
			r := b.send(sub, newJob(t), body)
			requireResult(t, r, delivery.Final, c.code)
			require.Contains(t, r.Error, c.says)
			require.NotContains(t, r.Error, "secret")
			require.NotContains(t, r.Error, id)
		})
	}
}

// What is too large for a history goes as a reference, so that its event is still handed over.
func TestLargeInputsAreReferences(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.eventsURL = "https://holdfast.example.com/events/"
	id, body := newOrder()
	body = strings.TrimSuffix(body, "}") + `, "large": "` + strings.Repeat("x", maxInput) + `", "part": "` + strings.Repeat("y", 200<<10) + `"}`
	sub := starting()
	part := delivery.JQ("[.body.part]")
	sub.Start.Input = []delivery.JQ{".body", "envelope", ".body.order", part, part, part, part, part, part, part}
	j := newJob(t)
	requireResult(t, b.send(sub, j, body), delivery.OK, codeStarted)
	in := b.started(id).GetInput().GetPayloads()
	reference := `{"event_id": "` + j.EventID + `", "reference": "https://holdfast.example.com/events/` + j.EventID + `"}`
	for _, i := range []int{0, 1, 8, 9} { // 8 and 9 are more than all together may be
		require.JSONEq(t, reference, string(in[i].GetData()), i)
	}
	require.JSONEq(t, `"`+id+`"`, string(in[2].GetData()))
	require.Greater(t, len(in[7].GetData()), 200<<10)
}

// The trace of an event goes on into the workflow, where the tracing interceptor of any SDK finds it.
func TestTheTraceContinues(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, body := newOrder()
	j := newJob(t)
	span := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3}, SpanID: trace.SpanID{4, 5}, TraceFlags: trace.FlagsSampled,
	})
	ctx := trace.ContextWithSpanContext(t.Context(), span)
	requireResult(t, b.Send(ctx, targetOf(starting()), j, messageOf(j, body)), delivery.OK, codeStarted)
	header := b.started(id).GetHeader().GetFields()["_tracer-data"]
	var carried map[string]string
	require.NoError(t, json.Unmarshal(header.GetData(), &carried))
	require.Equal(t, "00-"+span.TraceID().String()+"-"+span.SpanID().String()+"-01", carried["traceparent"])
}

// Trouble of the destination is tried again, and says what it is.
func TestTroubleOfTheDestination(t *testing.T) {
	t.Parallel()
	c, err := client.NewLazyClient(client.Options{HostPort: server.Address(), Logger: discard})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	away, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1", Logger: discard})
	require.NoError(t, err)
	t.Cleanup(away.Close)
	_, body := newOrder()
	j := newJob(t)
	for code, o := range map[string]Options{
		"namespace_not_found": {Client: c, Namespace: "nobody"},
		"unavailable":         {Client: away, Namespace: "default"},
	} {
		for _, sub := range []delivery.Subscription{starting(), signaling(), both("")} {
			s := NewSender(o)
			requireResult(t, s.Send(t.Context(), targetOf(sub), j, messageOf(j, body)), delivery.Bad, code)
		}
	}

	requireResult(t, NewSender(Options{}).Send(t.Context(), targetOf(starting()), j, messageOf(j, body)), delivery.Blocked, "profile")
}

// A Temporal that takes connections and says nothing is given up at the deadline; a process that stops gives up at once.
func TestATemporalThatIsSilent(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	reached := make(chan struct{}, 10)
	go func() {
		for {
			if _, err := listener.Accept(); err != nil { // held, and never answered
				return
			}
			reached <- struct{}{}
		}
	}()
	c, err := client.NewLazyClient(client.Options{HostPort: listener.Addr().String(), Logger: discard})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s := NewSender(Options{Client: c, Namespace: "default"})
	_, body := newOrder()
	j := newJob(t)

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	requireResult(t, s.Send(ctx, targetOf(signaling()), j, messageOf(j, body)), delivery.Bad, "timeout")
	<-reached
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, stop)
	requireResult(t, s.Send(ctx, targetOf(signaling()), j, messageOf(j, body)), delivery.Ours, "stopped")
}
