// Package visibility checks the events of a ledger in Temporal. It reads the visibility store, which lags behind by some
// hundred milliseconds, so it is meant for an idle system.
package visibility

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"holdfast/internal/ledger"
	"holdfast/workflows"
)

// Client is the part of a client.Client that Check uses.
type Client interface {
	ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (
		*workflowservice.ListWorkflowExecutionsResponse, error)
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (
		*workflowservice.DescribeWorkflowExecutionResponse, error)
}

// Store is the part of a *persistence.LedgerCheck that Check uses.
type Store interface {
	// Batched returns the workflow IDs, of the given ones, whose events a batch's workflow has processed.
	Batched(ctx context.Context, workflowIDs []string) ([]string, error)
	// NotDead returns the workflow IDs, of the given ones, that have no dead letter, not even a closed one.
	NotDead(ctx context.Context, workflowIDs []string) ([]string, error)
}

const (
	pageSize = 1000
	// clockSkew is how far the clocks of a sender and of Temporal may differ.
	clockSkew = time.Hour
	// maxDescribed bounds the reads of single workflows.
	maxDescribed = 1000
	maxExamples  = 10
)

type runs struct{ running, closed, failed map[string]bool }

// Check returns the findings for ledger.Running, ledger.NoWorkflow and ledger.Undead. Closed workflows are available for the
// retention of their namespace.
func Check(ctx context.Context, c Client, s Store, l ledger.Ledger) ([]ledger.Finding, error) {
	if len(l.Entries) == 0 {
		return nil, nil
	}
	seen, err := list(ctx, c, l)
	if err != nil {
		return nil, err
	}
	missing, err := without(ctx, c, s, acknowledged(l), seen)
	if err != nil {
		return nil, err
	}
	undead, err := s.NotDead(ctx, names(seen.failed))
	if err != nil {
		return nil, err
	}
	return []ledger.Finding{
		finding(ledger.Running, names(seen.running)), finding(ledger.NoWorkflow, missing), finding(ledger.Undead, undead),
	}, nil
}

// list reads all runs since the ledger began, and keeps those of its events.
func list(ctx context.Context, c Client, l ledger.Ledger) (runs, error) {
	seen := runs{running: map[string]bool{}, closed: map[string]bool{}, failed: map[string]bool{}}
	mine := make(map[string]bool, len(l.Entries))
	from := l.Entries[0].At
	for _, e := range l.Entries {
		mine[e.WorkflowID()] = true
		if e.At.Before(from) {
			from = e.At
		}
	}
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: pageSize, Query: fmt.Sprintf(
		"WorkflowType = '%s' AND StartTime >= '%s'", workflows.TypeProcessEvent, from.Add(-clockSkew).UTC().Format(time.RFC3339))}
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			return seen, fmt.Errorf("list workflows of ledger: %w", err)
		}
		for _, run := range page.GetExecutions() {
			if mine[run.GetExecution().GetWorkflowId()] {
				seen.add(run)
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return seen, nil
		}
	}
}

func (r runs) add(run *workflow.WorkflowExecutionInfo) {
	id := run.GetExecution().GetWorkflowId()
	switch run.GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		r.running[id] = true
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT,
		enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		r.closed[id], r.failed[id] = true, true
	default:
		r.closed[id] = true
	}
}

func acknowledged(l ledger.Ledger) map[string]bool {
	ids := map[string]bool{}
	for _, e := range l.Entries {
		if e.Outcome() == ledger.OutcomeOK {
			ids[e.WorkflowID()] = true
		}
	}
	return ids
}

// without returns the acknowledged events that have no workflow. A workflow missing from the list may have been started before
// the ledger began, or may not have reached the visibility store yet.
func without(ctx context.Context, c Client, s Store, acknowledged map[string]bool, seen runs) ([]string, error) {
	var missing []string
	for id := range acknowledged {
		if !seen.closed[id] && !seen.running[id] {
			missing = append(missing, id)
		}
	}
	batched, err := s.Batched(ctx, missing)
	if err != nil {
		return nil, err
	}
	slices.Sort(batched)
	missing = slices.DeleteFunc(missing, func(id string) bool {
		_, found := slices.BinarySearch(batched, id)
		return found
	})
	slices.Sort(missing)
	if len(missing) > maxDescribed {
		return missing, nil
	}
	var none []string
	for _, id := range missing {
		_, err := c.DescribeWorkflowExecution(ctx, id, "")
		var notFound *serviceerror.NotFound
		if errors.As(err, &notFound) {
			none = append(none, id)
		} else if err != nil {
			return nil, fmt.Errorf("describe workflow %s: %w", id, err)
		}
	}
	return none, nil
}

func names(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for id := range set {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

func finding(i ledger.Invariant, broken []string) ledger.Finding {
	slices.Sort(broken)
	return ledger.Finding{Invariant: i, Count: len(broken), Examples: broken[:min(len(broken), maxExamples)]}
}
