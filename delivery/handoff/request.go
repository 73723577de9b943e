package handoff

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	commonpb "go.temporal.io/api/common/v1"
	sdkpb "go.temporal.io/api/sdk/v1"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/providers/jq"
)

// maxWorkflowID is Temporal's limit in bytes. codeInvalidID is the code of an event whose expression yields no usable ID.
const (
	maxWorkflowID = 1000
	codeInvalidID = "invalid_workflow_id"
)

// request holds the evaluated expressions of a subscription.
type request struct {
	requestID  string
	taskQueue  string
	workflowID string

	// start is nil for a plain signal.
	start            *delivery.Start
	input            []*commonpb.Payload
	searchAttributes map[string]*commonpb.Payload
	summary          *commonpb.Payload
	fairnessKey      string

	// signalName is empty for a plain start.
	signalName  string
	signalInput []*commonpb.Payload
	ifClosed    string

	eventID             string
	possibleDuplicateOf string
	trace               *commonpb.Payload
	// shown lists text from the event that a server error could repeat.
	shown []string
}

// requestID is the same for every attempt of a delivery. It includes the subscription, since two subscriptions may signal one
// workflow.
func requestID(j delivery.Job) string {
	return delivery.IDOf(j.EventID, j.Generation) + "/" + strconv.FormatInt(j.SubscriptionID, 10)
}

// fixedRequest returns the fields that are the same for every event. workflowID is only the constant prefix.
func fixedRequest(t delivery.Target) *request {
	o := &request{taskQueue: t.Destination.Temporal.TaskQueue}
	var id delivery.JQ
	switch sub := t.Subscription; {
	case sub.Start != nil:
		o.start, id = sub.Start, sub.Start.WorkflowID
	case sub.Signal != nil:
		id = sub.Signal.WorkflowID
	case sub.SignalWithStart != nil:
		o.start, id = &sub.SignalWithStart.Start, sub.SignalWithStart.WorkflowID
	}
	o.workflowID = jq.LiteralPrefix(string(id))
	return o
}

// evaluation builds a request.
type evaluation struct {
	*inputs

	first   func(field string, source delivery.JQ) (any, error)
	name    func(field string, source delivery.JQ) (any, error)
	request *request
}

// requestOf evaluates the subscription for an event. The error is an *event.Error without content of the event.
func (s *Sender) requestOf(
	ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message,
) (*request, error) {
	in := m.Input()
	e := &evaluation{
		inputs: &inputs{eventID: j.EventID, reference: s.eventsURL + j.EventID, message: m, remaining: maxInputs},
		first: func(field string, source delivery.JQ) (any, error) {
			if source == "" {
				return nil, nil
			}
			return s.expressions.First(ctx, field, source, in)
		},
		name: func(field string, source delivery.JQ) (any, error) { return s.expressions.Name(ctx, field, source, in) },
		request: &request{
			requestID: requestID(j), taskQueue: t.Destination.Temporal.TaskQueue, eventID: j.EventID, trace: traceOf(ctx),
			possibleDuplicateOf: m.PossibleDuplicateOf,
		},
	}
	sub := t.Subscription
	switch {
	case sub.Start != nil:
		return e.request, e.start("start", *sub.Start)
	case sub.Signal != nil:
		if err := e.workflowID("signal", sub.Signal.WorkflowID); err != nil {
			return nil, err
		}
		return e.request, e.signal("signal", sub.Signal.SignalName, sub.Signal.SignalInput)
	case sub.SignalWithStart != nil:
		with := sub.SignalWithStart
		e.request.ifClosed = with.IfClosed
		if err := e.start("signal_with_start", with.Start); err != nil {
			return nil, err
		}
		return e.request, e.signal("signal_with_start", with.SignalName, with.SignalInput)
	}
	return nil, event.Rejectf("no_form", "the subscription has neither start nor signal")
}

func (e *evaluation) start(in string, s delivery.Start) (err error) {
	o := e.request
	o.start = &s
	if err := e.workflowID(in, s.WorkflowID); err != nil {
		return err
	}
	if o.input, err = e.all(in+".input", s.Input); err != nil {
		return err
	}
	if err := e.attributes(in, s.SearchAttributes); err != nil {
		return err
	}
	fairness, err := e.first(in+".fairness_key", s.FairnessKey)
	if err != nil {
		return err
	}
	o.fairnessKey, _ = jq.Text(fairness)
	summary, err := e.first(in+".summary", s.Summary)
	if err != nil {
		return err
	}
	if text, ok := jq.Text(summary); ok {
		o.summary = summaryPayload(text)
	}
	return nil
}

func (e *evaluation) signal(in, name string, input []delivery.JQ) (err error) {
	e.request.signalName = name
	e.request.signalInput, err = e.all(in+".signal_input", input)
	return err
}

// workflowID accepts a string or a number.
func (e *evaluation) workflowID(in string, source delivery.JQ) error {
	field := in + ".workflow_id"
	value, err := e.name(field, source)
	if event.CodeOf(err) == "jq_null" {
		return event.Rejectf(codeInvalidID, "%s adds null to a string: give a default (… // \"none\")", field)
	}
	if err != nil {
		return err
	}
	id, ok := jq.Text(value)
	switch {
	case !ok:
		return event.Rejectf(codeInvalidID, "%s must yield a string or a number", field)
	case len(id) > maxWorkflowID:
		return event.Rejectf(codeInvalidID, "%s yields %d bytes; Temporal's limit is %d", field, len(id), maxWorkflowID)
	case strings.ContainsRune(id, 0):
		return event.Rejectf(codeInvalidID, "%s yields a NUL, which Temporal can't store", field)
	}
	e.request.workflowID = id
	return nil
}

// attributes sends JSON without a type: Temporal converts it to the registered type. Null is omitted.
func (e *evaluation) attributes(in string, sources map[string]delivery.JQ) error {
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		field := in + ".search_attributes." + name
		value, err := e.first(field, sources[name])
		if err != nil {
			return err
		}
		if value == nil {
			continue
		}
		data, err := jq.Marshal(value, maxInput)
		if err != nil {
			return event.Rejectf("input_error", "%s yields a value that is too large", field)
		}
		if e.request.searchAttributes == nil {
			e.request.searchAttributes = map[string]*commonpb.Payload{}
		}
		e.request.searchAttributes[name] = plain(data)
		e.request.shown = append(e.request.shown, textsOf(value)...)
	}
	return nil
}

// textsOf returns the forms of a value that an error message could contain.
func textsOf(value any) []string {
	if list, ok := value.([]any); ok {
		var all []string
		for _, one := range list {
			all = append(all, textsOf(one)...)
		}
		return all
	}
	return []string{fmt.Sprint(value)}
}

// payloads returns what the codec encodes: not search attributes, which Temporal reads, and not the trace and the memo, which
// hold nothing of the event but its ID.
func (o *request) payloads() []*commonpb.Payload {
	all := slices.Concat(o.input, o.signalInput)
	if o.summary != nil {
		all = append(all, o.summary)
	}
	return all
}

// memo identifies the delivery. Unlike the request ID, it survives a continue-as-new.
func (o *request) memo() *commonpb.Memo {
	fields := map[string]*commonpb.Payload{memoEventID: jsonPayload(o.eventID), memoDelivery: jsonPayload(o.requestID)}
	if o.possibleDuplicateOf != "" {
		fields[memoDuplicate] = jsonPayload(o.possibleDuplicateOf)
	}
	return &commonpb.Memo{Fields: fields}
}

const (
	memoDuplicate = "possible_duplicate_of"
	memoEventID   = "event_id"
	memoDelivery  = "delivery"
)

func (o *request) attributes() *commonpb.SearchAttributes {
	if len(o.searchAttributes) == 0 {
		return nil
	}
	return &commonpb.SearchAttributes{IndexedFields: o.searchAttributes}
}

func (o *request) metadata() *sdkpb.UserMetadata {
	if o.summary == nil {
		return nil
	}
	return &sdkpb.UserMetadata{Summary: o.summary}
}

func (o *request) priority() *commonpb.Priority {
	if o.start.PriorityKey == 0 && o.fairnessKey == "" {
		return nil
	}
	return &commonpb.Priority{PriorityKey: int32(o.start.PriorityKey), FairnessKey: o.fairnessKey}
}

// header passes the trace to the SDKs' tracing interceptors.
func (o *request) header() *commonpb.Header {
	if o.trace == nil {
		return nil
	}
	return &commonpb.Header{Fields: map[string]*commonpb.Payload{"_tracer-data": o.trace}}
}

func traceOf(ctx context.Context) *commonpb.Payload {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return nil
	}
	return jsonPayload(carrier)
}
