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

// Reserved lists the names that deliveries must not use in Holdfast's own namespace. Otherwise a user who can edit subscriptions
// could start or signal Holdfast's own workflows.
type Reserved struct {
	TaskQueues    []string
	WorkflowTypes []string
	// IDPrefixes lists the ID prefixes of Holdfast's own workflows, except for events.
	IDPrefixes []string
	// Providers returns the names in the catalogue: the workflow ID of an event is PROVIDER:KEY.
	Providers func() []string
}

// systemPrefix begins the names that Temporal itself uses, for instance for schedules.
const systemPrefix = "temporal-sys-"

// Conflicts lists the reserved names that a destination and its subscription use for every event. It returns nil for a
// destination with a profile, because only Temporal has the namespace's ID.
func (r Reserved) Conflicts(t delivery.Target) []string {
	if t.Destination.Temporal == nil || t.Destination.Temporal.Profile != "" {
		return nil
	}
	return r.conflicts(fixedRequest(t))
}

// conflicts lists the reserved names of a request, and what to use instead.
func (r Reserved) conflicts(o *request) (all []string) {
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

// prefixOf returns the reserved prefix of a workflow ID; "" if it has none.
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

// guard rejects a request with a reserved name if the link leads to Holdfast's own namespace; nil means accepted.
func (s *Sender) guard(ctx context.Context, to *link, o *request) *delivery.Result {
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

// compareEvery is how long a comparison stays valid.
const compareEvery = time.Minute

// comparison records whether a link leads to Holdfast's own namespace.
type comparison struct {
	own bool
	at  time.Time
}

// isOwn compares namespace IDs, because a profile may have another name for Holdfast's own namespace. If a server is unreachable,
// the last comparison applies.
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
		return "", fmt.Errorf("can't read the ID of namespace %s, which is required because the delivery uses a name reserved in "+
			"Holdfast's own namespace: %s", t.namespace, serviceerror.ToStatus(err).Code())
	}
	return described.GetNamespaceInfo().GetId(), nil
}
