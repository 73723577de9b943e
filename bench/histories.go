package main

import (
	"context"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/event"
)

const (
	// startsLookedAt are as many runs, drawn from all of full load, as are asked whether their first task came with the start.
	startsLookedAt = 1000
	// ordinaryEvents have a body of so many bytes.
	ordinaryEvents = 20
	ordinaryBody   = 420
)

// eagerStarts looks at events that came since a moment of full load. A task that comes with the answer to the start spares
// Temporal and the worker a dispatch.
func (s *suite) eagerStarts(ctx context.Context, since time.Time) error {
	eager, all := 0, 0
	err := s.eachRun(ctx, since, startsLookedAt, func(c client.Client, run event.Run) error {
		page, err := c.WorkflowService().GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: s.lab.Temporal.Namespace(), MaximumPageSize: 1,
			Execution: &commonpb.WorkflowExecution{WorkflowId: run.WorkflowID, RunId: run.RunID},
		})
		if err != nil {
			return err
		}
		all++
		for _, first := range page.GetHistory().GetEvents()[:1] {
			if first.GetWorkflowExecutionStartedEventAttributes().GetEagerExecutionAccepted() {
				eager++
			}
		}
		return nil
	})
	s.value("starts whose first task came eagerly", "", figures.AtLeast(0.98), float64(eager)/float64(max(all, 1)))
	return err
}

// ordinaryHistory sends some events that nothing is special about, and reads how large Temporal says that their histories are.
func (s *suite) ordinaryHistory(ctx context.Context, node *lab.Node) error {
	begun := time.Now()
	d := load(node, stripe)
	d.Count, d.Connections, d.BodySize = ordinaryEvents, 1, ordinaryBody
	if _, err := s.drive(ctx, d); err != nil {
		return err
	}
	var events, sizes []float64
	err := s.eachRun(ctx, begun, ordinaryEvents, func(c client.Client, run event.Run) error {
		described, err := c.DescribeWorkflowExecution(ctx, run.WorkflowID, run.RunID)
		info := described.GetWorkflowExecutionInfo()
		events, sizes = append(events, float64(info.GetHistoryLength())), append(sizes, float64(info.GetHistorySizeBytes()))
		return err
	})
	s.samples("history of an ordinary event", "B", figures.AtMost(2000), sizes)
	s.samples("events of that history", "", nil, events)
	return err
}

// eachRun calls f with runs of events that came since a moment.
func (s *suite) eachRun(ctx context.Context, since time.Time, most int, f func(client.Client, event.Run) error) error {
	all, err := s.lab.Runs(ctx, lab.ProductDatabase, since, most)
	if err != nil {
		return err
	}
	c, err := s.lab.Client(ctx, lab.ProductDatabase)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, run := range all {
		if err := f(c, run); err != nil {
			return err
		}
	}
	return nil
}
