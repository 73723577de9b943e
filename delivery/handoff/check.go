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

// Check checks that deliveries of a subscription can succeed: Temporal responds, the namespace and the search attributes exist, a
// worker polls the task queue, and no name is reserved for Holdfast. A sample event shows what the workflow ID looks like; it may
// be nil. The last finding is the equivalent command. The error means that the profile can't be used.
func (s *Sender) Check(ctx context.Context, t delivery.Target, sample *delivery.Message) ([]delivery.Finding, error) {
	to, err := s.profiles.of(t.Destination.Temporal.Profile)
	if err != nil {
		return nil, err
	}
	c := &check{link: to, target: t}
	if c.checkNamespace(ctx) {
		if refused := s.guard(ctx, to, s.sampleRequest(ctx, t, sample)); refused != nil {
			c.add(refused.Code, false, refused.Error, "")
		}
		c.checkQueue(ctx)
		c.checkAttributes(ctx)
	}
	c.add("command", true, "equivalent command; input.json is the input of the expressions", command(t))
	return c.findings, nil
}

// sampleRequest returns the request of a sample event. Without a sample, or if its expressions fail, it has only the constant
// fields.
func (s *Sender) sampleRequest(ctx context.Context, t delivery.Target, sample *delivery.Message) *request {
	if sample != nil {
		j := delivery.Job{Key: delivery.Key{EventID: sample.Receipt.ID, SubscriptionID: t.Subscription.ID}}
		if o, err := s.requestOf(ctx, t, j, *sample); err == nil {
			return o
		}
	}
	return fixedRequest(t)
}

type check struct {
	*link

	target   delivery.Target
	findings []delivery.Finding
}

func (c *check) add(about string, ok bool, text, command string) {
	c.findings = append(c.findings, delivery.Finding{About: about, OK: ok, Text: text, Command: command})
}

func (c *check) checkNamespace(ctx context.Context) bool {
	_, err := c.service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.namespace})
	var missing *serviceerror.NamespaceNotFound
	switch {
	case err == nil:
		c.add("namespace", true, fmt.Sprintf("connected to Temporal; namespace %s exists", c.namespace), "")
		return true
	case errors.As(err, &missing):
		c.add("namespace", false, fmt.Sprintf("Temporal has no namespace %s: change the profile", c.namespace),
			"temporal operator namespace list"+profileFlag(c.target))
	default:
		c.add("namespace", false, "Temporal doesn't respond: "+serviceerror.ToStatus(err).Code().String()+
			"; check the address, API key and certificates of the profile", "temporal operator cluster health"+profileFlag(c.target))
	}
	return false
}

// checkQueue looks for pollers. Temporal accepts a misspelled queue or one without workers, and the workflow never runs.
func (c *check) checkQueue(ctx context.Context) {
	if c.target.Subscription.Signal != nil {
		return // a signal doesn't name a task queue
	}
	name := c.target.Destination.Temporal.TaskQueue
	queue, err := c.service.DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: c.namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: name, Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
		TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
	})
	shows := "temporal task-queue describe --task-queue " + quote(name) + profileFlag(c.target)
	switch pollers := len(queue.GetPollers()); {
	case err != nil:
		c.add("task_queue", false, "Temporal doesn't say: "+serviceerror.ToStatus(err).Code().String(), shows)
	case pollers == 0:
		c.add("task_queue", false, fmt.Sprintf("no worker polls the task queue %s: workflows start but don't run", name), shows)
	default:
		c.add("task_queue", true, fmt.Sprintf("%d pollers on the task queue %s", pollers, name), "")
	}
}

// checkAttributes checks that the namespace has the search attributes: without one of them, every start fails.
func (c *check) checkAttributes(ctx context.Context) {
	wanted := attributesOf(c.target.Subscription)
	if len(wanted) == 0 {
		return
	}
	known, err := c.operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.namespace})
	if isDenied(err) {
		c.queryAttributes(ctx, slices.Sorted(maps.Keys(wanted)))
		return
	}
	if err != nil {
		c.add("search_attribute", false, "Temporal doesn't say: "+serviceerror.ToStatus(err).Code().String(),
			"temporal operator search-attribute list"+profileFlag(c.target))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		kind, ok := known.GetCustomAttributes()[name]
		if !ok {
			c.add("search_attribute", false, fmt.Sprintf("the namespace has no search attribute %s: every start fails", name),
				"temporal operator search-attribute create --type Keyword --name "+quote(name)+profileFlag(c.target))
			continue
		}
		c.add("search_attribute", true, fmt.Sprintf("%s is of type %s", name, kind), "")
	}
}

// queryAttributes checks search attributes with a query, because some servers, such as Temporal Cloud, don't list them to
// clients. It can't check their types.
func (c *check) queryAttributes(ctx context.Context, names []string) {
	for _, name := range names {
		_, err := c.service.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: c.namespace, Query: "`" + name + "` IS NOT NULL",
		})
		var invalid *serviceerror.InvalidArgument
		switch {
		case err == nil:
			c.add("search_attribute", true, fmt.Sprintf("the namespace has %s; this client can't read its type", name), "")
		case errors.As(err, &invalid):
			c.add("search_attribute", false, fmt.Sprintf("the namespace has no search attribute %s: every start fails", name),
				"tcld namespace search-attributes add --namespace "+quote(c.namespace)+" --search-attribute "+quote(name+"=Keyword"))
		default:
			c.add("search_attribute", false, fmt.Sprintf("Temporal doesn't say whether %s exists: %s", name,
				serviceerror.ToStatus(err).Code()), "")
		}
	}
}

// isDenied reports whether Temporal responds but doesn't allow the call.
func isDenied(err error) bool {
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

// command returns the equivalent command line of the temporal CLI.
func command(t delivery.Target) string {
	var words []string
	add := func(flag, value string) { words = append(words, "--"+flag+" "+value) }
	sub := t.Subscription
	switch {
	case sub.Start != nil:
		words = append(words, "temporal workflow start")
		addStart(add, t, *sub.Start)
		add("id-conflict-policy", "Fail")
		add("id-reuse-policy", "RejectDuplicate")
		if sub.Start.IfExists == "dead_letter" {
			words = append(words, "--fail-existing")
		}
	case sub.Signal != nil:
		words = append(words, "temporal workflow signal")
		add("workflow-id", textFrom(sub.Signal.WorkflowID))
		add("name", quote(sub.Signal.SignalName))
		addAll(add, "input", sub.Signal.SignalInput)
	case sub.SignalWithStart != nil:
		with := sub.SignalWithStart
		words = append(words, "temporal workflow signal-with-start")
		addStart(add, t, with.Start)
		add("signal-name", quote(with.SignalName))
		addAll(add, "signal-input", with.SignalInput)
		if with.IfClosed != "" && with.IfClosed != "start" {
			add("id-reuse-policy", "RejectDuplicate")
		}
	}
	return strings.Join(words, " ") + profileFlag(t)
}

func addStart(add func(flag, value string), t delivery.Target, s delivery.Start) {
	add("task-queue", quote(t.Destination.Temporal.TaskQueue))
	add("type", quote(s.Type))
	add("workflow-id", textFrom(s.WorkflowID))
	addAll(add, "input", s.Input)
	for _, name := range slices.Sorted(maps.Keys(s.SearchAttributes)) {
		add("search-attribute", quote(name+"=")+jsonFrom(s.SearchAttributes[name]))
	}
	if s.Summary != "" {
		add("static-summary", textFrom(s.Summary))
	}
	if s.PriorityKey != 0 {
		add("priority-key", fmt.Sprint(s.PriorityKey))
	}
	if s.FairnessKey != "" {
		add("fairness-key", textFrom(s.FairnessKey))
	}
}

func addAll(add func(flag, value string), flag string, sources []delivery.JQ) {
	for _, source := range sources {
		if source == delivery.BodyEnvelope {
			add(flag, `"$(cat envelope.json)"`)
			continue
		}
		add(flag, jsonFrom(source))
	}
}

// textFrom and jsonFrom return a shell word that evaluates an expression.
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

// quote returns text as one shell word.
func quote(text string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_.:/=", c)
	}
	if text != "" && !strings.ContainsFunc(text, func(c rune) bool { return !plain(c) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
