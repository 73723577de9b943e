package runs

import (
	"context"
	"fmt"

	deploymentpb "go.temporal.io/api/deployment/v1"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/workflows"
)

// Queues reads the state of task queues from Temporal.
type Queues struct {
	Client    client.Client
	Namespace string
}

// Read returns the state of every queue, in the order of workflows.AllQueues.
func (q Queues) Read(ctx context.Context) ([]oversight.QueueStats, error) {
	names := workflows.AllQueues()
	stats := make([]oversight.QueueStats, len(names))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(func() (err error) {
			stats[i], err = q.describe(ctx, name)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return stats, nil
}

func (q Queues) describe(ctx context.Context, name string) (oversight.QueueStats, error) {
	stats := oversight.QueueStats{Queue: name}
	var err error
	if stats.WorkflowPollers, err = q.add(ctx, &stats, enumspb.TASK_QUEUE_TYPE_WORKFLOW); err != nil {
		return stats, err
	}
	stats.ActivityPollers, err = q.add(ctx, &stats, enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	return stats, err
}

// add adds the tasks of one type to stats and returns the number of pollers that get new tasks.
func (q Queues) add(ctx context.Context, stats *oversight.QueueStats, kind enumspb.TaskQueueType) (pollers int, err error) {
	response, err := q.Client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace:     q.Namespace,
		TaskQueue:     &taskqueuepb.TaskQueue{Name: stats.Queue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
		TaskQueueType: kind,
		ReportStats:   true,
	})
	if err != nil {
		return 0, fmt.Errorf("describe task queue %s: %w", stats.Queue, err)
	}
	s := response.GetStats()
	stats.Backlog += s.GetApproximateBacklogCount()
	stats.Age = max(stats.Age, event.Duration(s.GetApproximateBacklogAge().AsDuration()))
	stats.Added += float64(s.GetTasksAddRate())
	stats.Dispatched += float64(s.GetTasksDispatchRate())
	for _, p := range response.GetPollers() {
		if getsWork(p.GetDeploymentOptions(), response.GetVersioningInfo()) {
			pollers++
		}
	}
	return pollers, nil
}

// getsWork reports whether a worker gets new tasks: it has the current or ramping build, or no version. Others only finish their
// runs.
func getsWork(worker *deploymentpb.WorkerDeploymentOptions, routes *taskqueuepb.TaskQueueVersioningInfo) bool {
	var name, build string // "" means no version
	if worker.GetWorkerVersioningMode() == enumspb.WORKER_VERSIONING_MODE_VERSIONED {
		name, build = worker.GetDeploymentName(), worker.GetBuildId()
	}
	isOwn := func(v *deploymentpb.WorkerDeploymentVersion) bool {
		return v.GetDeploymentName() == name && v.GetBuildId() == build
	}
	return isOwn(routes.GetCurrentDeploymentVersion()) ||
		routes.GetRampingVersionPercentage() > 0 && isOwn(routes.GetRampingDeploymentVersion())
}
