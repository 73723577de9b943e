package handoff

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"holdfast/delivery"
)

// Reserved lists what a hand-off may not use in Holdfast's own namespace. Otherwise a user who can change subscriptions could
// start or signal Holdfast's own workflows.
type Reserved struct {
	TaskQueues    []string
	WorkflowTypes []string
	// IDPrefixes are the beginnings of the IDs of Holdfast's own workflows, except those of events.
	IDPrefixes []string
	// Providers gives the names of the catalogue: the workflow of an event has the ID PROVIDER:KEY.
	Providers func() []string
}

// systemPrefix begins the names of what Temporal itself runs in a namespace, such as the workflows behind schedules.
const systemPrefix = "temporal-sys-"

// Conflicts says what a destination and its subscription use that is reserved, as far as it shows without an event. It says
// nothing of a destination with a profile: only Temporal can say whether that leads to Holdfast's own namespace.
func (r Reserved) Conflicts(t delivery.Target) []string {
	if t.Destination.Temporal == nil || t.Destination.Temporal.Profile != "" {
		return nil
	}
	return r.conflicts(fixedOrder(t))
}

// conflicts says what an order uses that is reserved, and what to use instead.
func (r Reserved) conflicts(o *order) (all []string) {
	if slices.Contains(r.TaskQueues, o.taskQueue) || strings.HasPrefix(o.taskQueue, systemPrefix) {
		all = append(all, fmt.Sprintf(
			"task queue %q is reserved in Holdfast's own namespace: use a queue that only your own workers poll", o.taskQueue))
	}
	if o.start != nil && (slices.Contains(r.WorkflowTypes, o.start.Type) || strings.HasPrefix(o.start.Type, systemPrefix)) {
		all = append(all, fmt.Sprintf(
			"workflow type %q is reserved in Holdfast's own namespace: give your workflow another name", o.start.Type))
	}
	if prefix := r.prefixOf(o.workflowID); prefix != "" {
		all = append(all, fmt.Sprintf("workflow IDs that begin with %q are reserved in Holdfast's own namespace: begin yours with "+
			"another word, such as \"order:\"", prefix))
	}
	return all
}

// prefixOf returns the reserved beginning of a workflow ID; "" if it has none.
func (r Reserved) prefixOf(id string) string {
	for _, prefix := range append(slices.Clone(r.IDPrefixes), systemPrefix) {
		if strings.HasPrefix(id, prefix) {
			return prefix
		}
	}
	provider, _, ok := strings.Cut(id, ":")
	if ok && r.Providers != nil && slices.Contains(r.Providers(), provider) {
		return provider + ":"
	}
	return ""
}

// guard refuses an order that uses a reserved name if the link leads to Holdfast's own namespace; nil lets it through. Other
// orders don't need to know which namespace that is.
func (s *Sender) guard(ctx context.Context, to *link, o *order) *delivery.Result {
	conflicts := s.reserved.conflicts(o)
	if len(conflicts) == 0 {
		return nil
	}
	own, err := s.isOwn(ctx, to)
	if err != nil {
		return &delivery.Result{Kind: delivery.Ours, Code: "unknown_namespace", Error: err.Error()}
	}
	if !own {
		return nil
	}
	return &delivery.Result{Kind: delivery.Final, Code: "reserved", Error: strings.Join(conflicts, "; ")}
}

// compareEvery is how long a comparison of namespaces holds.
const compareEvery = time.Minute

// comparison says whether a link leads to Holdfast's own namespace.
type comparison struct {
	own bool
	at  time.Time
}

// isOwn reports whether a link leads to Holdfast's own namespace, whatever its profile calls it: it compares the namespaces' IDs.
// While one of them can't be asked, what was found before holds.
func (s *Sender) isOwn(ctx context.Context, to *link) (bool, error) {
	if to.profile == "" {
		return true, nil
	}
	before := to.compared.Load()
	if before != nil && time.Since(before.at) < compareEvery {
		return before.own, nil
	}
	now, err := s.compare(ctx, to)
	switch {
	case err == nil:
		to.compared.Store(now)
		return now.own, nil
	case before != nil:
		return before.own, nil
	}
	return false, err
}

func (s *Sender) compare(ctx context.Context, to *link) (*comparison, error) {
	own, err := s.profiles.of("")
	if err != nil {
		return nil, err
	}
	ours, err := own.namespaceID(ctx)
	if err != nil {
		return nil, err
	}
	theirs, err := to.namespaceID(ctx)
	if err != nil {
		return nil, err
	}
	return &comparison{own: ours == theirs, at: time.Now()}, nil
}

func (t *link) namespaceID(ctx context.Context) (string, error) {
	described, err := t.service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: t.namespace})
	if err != nil {
		return "", fmt.Errorf("namespace %s does not give its ID, and the delivery uses a name that is reserved in Holdfast's own "+
			"namespace: %s", t.namespace, serviceerror.ToStatus(err).Code())
	}
	return described.GetNamespaceInfo().GetId(), nil
}
