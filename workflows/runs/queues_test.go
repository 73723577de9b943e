package runs

import (
	"testing"

	"github.com/stretchr/testify/require"
	deploymentpb "go.temporal.io/api/deployment/v1"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
)

// Only pollers that new tasks go to count as those of a queue: what others poll for is what they have begun.
func TestNewWorkGoesToTheCurrentAndTheRampingBuild(t *testing.T) {
	t.Parallel()
	version := func(build string) *deploymentpb.WorkerDeploymentVersion {
		return &deploymentpb.WorkerDeploymentVersion{DeploymentName: "holdfast", BuildId: build}
	}
	worker := func(build string) *deploymentpb.WorkerDeploymentOptions {
		return &deploymentpb.WorkerDeploymentOptions{
			DeploymentName: "holdfast", BuildId: build, WorkerVersioningMode: enumspb.WORKER_VERSIONING_MODE_VERSIONED,
		}
	}
	unversioned := &deploymentpb.WorkerDeploymentOptions{
		BuildId: "its checksum", WorkerVersioningMode: enumspb.WORKER_VERSIONING_MODE_UNVERSIONED,
	}
	first := &taskqueuepb.TaskQueueVersioningInfo{CurrentDeploymentVersion: version("v1")}
	canary := &taskqueuepb.TaskQueueVersioningInfo{
		CurrentDeploymentVersion: version("v1"), RampingDeploymentVersion: version("v2"), RampingVersionPercentage: 10,
	}
	idle := &taskqueuepb.TaskQueueVersioningInfo{
		CurrentDeploymentVersion: version("v1"), RampingDeploymentVersion: version("v2"),
	}
	for _, c := range []struct {
		name   string
		worker *deploymentpb.WorkerDeploymentOptions
		routes *taskqueuepb.TaskQueueVersioningInfo
		want   bool
	}{
		{"no versions at all", nil, nil, true},
		{"without a version, and none is current", unversioned, nil, true},
		{"a build, and none is current", worker("v1"), nil, false},
		{"the current build", worker("v1"), first, true},
		{"another build", worker("v2"), first, false},
		{"without a version, and a build is current", unversioned, first, false},
		{"a canary", worker("v2"), canary, true},
		{"the current build beside a canary", worker("v1"), canary, true},
		{"a canary of nothing", worker("v2"), idle, false},
	} {
		require.Equal(t, c.want, getsWork(c.worker, c.routes), c.name)
	}
}
