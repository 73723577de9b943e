package handoff

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"holdfast/delivery"
)

// Check looks whether a subscription can reach somebody: that Temporal answers and has the namespace, that a worker polls the
// task queue, that the search attributes are registered, and that nothing is used that belongs to Holdfast. A sample of an event
// shows what the workflow ID looks like; nil where there is none. Its last finding is the command that does the same. The error
// says that the profile cannot be used at all.
func (s *Sender) Check(ctx context.Context, t delivery.Target, sample *delivery.Message) ([]delivery.Finding, error) {
	to, err := s.profiles.of(t.Destination.Temporal.Profile)
	if err != nil {
		return nil, err
	}
	c := &check{link: to, target: t}
	if c.lookAtNamespace(ctx) {
		if refused := s.guard(ctx, to, s.sampleOrder(ctx, t, sample)); refused != nil {
			c.found(refused.Code, false, refused.Error, "")
		}
		c.lookAtQueue(ctx)
		c.lookAtAttributes(ctx)
	}
	c.found("command", true, "does the same, with what the expressions see in input.json", command(t))
	return c.findings, nil
}

// sampleOrder is the order of a sample. Without one, or where the expressions fail on it, it has what the subscription fixes.
func (s *Sender) sampleOrder(ctx context.Context, t delivery.Target, sample *delivery.Message) *order {
	if sample != nil {
		j := delivery.Job{Key: delivery.Key{EventID: sample.Receipt.ID, SubscriptionID: t.Subscription.ID}}
		if o, err := s.orderOf(ctx, t, j, *sample); err == nil {
			return o
		}
	}
	return fixedOrder(t)
}

type check struct {
	*link

	target   delivery.Target
	findings []delivery.Finding
}

func (c *check) found(about string, ok bool, text, command string) {
	c.findings = append(c.findings, delivery.Finding{About: about, OK: ok, Text: text, Command: command})
}

func (c *check) lookAtNamespace(ctx context.Context) bool {
	_, err := c.service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.namespace})
	var missing *serviceerror.NamespaceNotFound
	switch {
	case err == nil:
		c.found("namespace", true, fmt.Sprintf("Temporal answers, and has the namespace %s", c.namespace), "")
		return true
	case errors.As(err, &missing):
		c.found("namespace", false, fmt.Sprintf("Temporal has no namespace %s: name another in the profile", c.namespace),
			"temporal operator namespace list"+profileFlag(c.target))
	default:
		c.found("namespace", false, "Temporal does not answer: "+serviceerror.ToStatus(err).Code().String()+
			"; look at address, API key and certificates of the profile", "temporal operator cluster health"+profileFlag(c.target))
	}
	return false
}

// lookAtQueue looks for pollers. A misspelt queue, or no worker at all, is accepted by Temporal, and waits for ever.
func (c *check) lookAtQueue(ctx context.Context) {
	if c.target.Subscription.Signal != nil {
		return // it goes to whatever queue its workflow has
	}
	name := c.target.Destination.Temporal.TaskQueue
	queue, err := c.service.DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: c.namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: name, Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
		TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
	})
	shows := "temporal task-queue describe --task-queue " + quote(name) + profileFlag(c.target)
	switch pollers := len(queue.GetPollers()); {
	case err != nil:
		c.found("task_queue", false, "Temporal does not tell: "+serviceerror.ToStatus(err).Code().String(), shows)
	case pollers == 0:
		c.found("task_queue", false, fmt.Sprintf("no worker polls the task queue %s: what is started waits for one", name), shows)
	default:
		c.found("task_queue", true, fmt.Sprintf("%d pollers on the task queue %s", pollers, name), "")
	}
}

// lookAtAttributes looks whether the namespace has the search attributes: without one of them every start is refused.
func (c *check) lookAtAttributes(ctx context.Context) {
	wanted := attributesOf(c.target.Subscription)
	if len(wanted) == 0 {
		return
	}
	known, err := c.operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.namespace})
	if isRefused(err) {
		c.queryAttributes(ctx, slices.Sorted(maps.Keys(wanted)))
		return
	}
	if err != nil {
		c.found("search_attribute", false, "Temporal does not tell: "+serviceerror.ToStatus(err).Code().String(),
			"temporal operator search-attribute list"+profileFlag(c.target))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		kind, ok := known.GetCustomAttributes()[name]
		if !ok {
			c.found("search_attribute", false, fmt.Sprintf("the namespace has no search attribute %s: Temporal refuses every start", name),
				"temporal operator search-attribute create --type Keyword --name "+quote(name)+profileFlag(c.target))
			continue
		}
		c.found("search_attribute", true, fmt.Sprintf("%s is of type %s", name, kind), "")
	}
}

// queryAttributes looks by a query whether the namespace has search attributes, where Temporal lists them to no client, as
// Temporal Cloud does. Their types stay unknown.
func (c *check) queryAttributes(ctx context.Context, names []string) {
	for _, name := range names {
		_, err := c.service.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: c.namespace, Query: "`" + name + "` IS NOT NULL",
		})
		var invalid *serviceerror.InvalidArgument
		switch {
		case err == nil:
			c.found("search_attribute", true, fmt.Sprintf("the namespace has %s; Temporal doesn't tell this client its type", name), "")
		case errors.As(err, &invalid):
			c.found("search_attribute", false, fmt.Sprintf("the namespace has no search attribute %s: Temporal refuses every start", name),
				"tcld namespace search-attributes add --namespace "+quote(c.namespace)+" --search-attribute "+quote(name+"=Keyword"))
		default:
			c.found("search_attribute", false, fmt.Sprintf("Temporal does not tell whether it has %s: %s", name,
				serviceerror.ToStatus(err).Code()), "")
		}
	}
}

// isRefused says that Temporal answers, and does not let this client make the call.
func isRefused(err error) bool {
	var denied *serviceerror.PermissionDenied
	var unknown *serviceerror.Unimplemented
	return errors.As(err, &denied) || errors.As(err, &unknown)
}

func attributesOf(s delivery.Subscription) map[string]delivery.JQ {
	switch {
	case s.Start != nil:
		return s.Start.SearchAttributes
	case s.SignalWithStart != nil:
		return s.SignalWithStart.SearchAttributes
	}
	return nil
}

// command is what the temporal program would be called with.
func command(t delivery.Target) string {
	var words []string
	say := func(flag, value string) { words = append(words, "--"+flag+" "+value) }
	sub := t.Subscription
	switch {
	case sub.Start != nil:
		words = append(words, "temporal workflow start")
		sayStart(say, t, *sub.Start)
		say("id-conflict-policy", "Fail")
		say("id-reuse-policy", "RejectDuplicate")
		if sub.Start.IfExists == "dead_letter" {
			words = append(words, "--fail-existing")
		}
	case sub.Signal != nil:
		words = append(words, "temporal workflow signal")
		say("workflow-id", textFrom(sub.Signal.WorkflowID))
		say("name", quote(sub.Signal.SignalName))
		sayAll(say, "input", sub.Signal.SignalInput)
	case sub.SignalWithStart != nil:
		with := sub.SignalWithStart
		words = append(words, "temporal workflow signal-with-start")
		sayStart(say, t, with.Start)
		say("signal-name", quote(with.SignalName))
		sayAll(say, "signal-input", with.SignalInput)
		if with.IfClosed != "" && with.IfClosed != "start" {
			say("id-reuse-policy", "RejectDuplicate")
		}
	}
	return strings.Join(words, " ") + profileFlag(t)
}

func sayStart(say func(flag, value string), t delivery.Target, s delivery.Start) {
	say("task-queue", quote(t.Destination.Temporal.TaskQueue))
	say("type", quote(s.Type))
	say("workflow-id", textFrom(s.WorkflowID))
	sayAll(say, "input", s.Input)
	for _, name := range slices.Sorted(maps.Keys(s.SearchAttributes)) {
		say("search-attribute", quote(name+"=")+jsonFrom(s.SearchAttributes[name]))
	}
	if s.Summary != "" {
		say("static-summary", textFrom(s.Summary))
	}
	if s.PriorityKey != 0 {
		say("priority-key", fmt.Sprint(s.PriorityKey))
	}
	if s.FairnessKey != "" {
		say("fairness-key", textFrom(s.FairnessKey))
	}
}

func sayAll(say func(flag, value string), flag string, sources []delivery.JQ) {
	for _, source := range sources {
		if source == delivery.BodyEnvelope {
			say(flag, `"$(cat envelope.json)"`)
			continue
		}
		say(flag, jsonFrom(source))
	}
}

// textFrom and jsonFrom are words of a shell that evaluate an expression.
func textFrom(source delivery.JQ) string {
	return `"$(jq -r ` + quote(string(source)) + ` input.json)"`
}
func jsonFrom(source delivery.JQ) string {
	return `"$(jq -c ` + quote(string(source)) + ` input.json)"`
}

func profileFlag(t delivery.Target) string {
	if t.Destination.Temporal.Profile == "" {
		return ""
	}
	return " --profile " + quote(t.Destination.Temporal.Profile)
}

// quote makes one word of a shell.
func quote(text string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_.:/=", c)
	}
	if text != "" && !strings.ContainsFunc(text, func(c rune) bool { return !plain(c) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
