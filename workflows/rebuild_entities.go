package workflows

import (
	"go.temporal.io/sdk/workflow"

	"holdfast/event"
)

// RebuildEntities reads the events of one rebuild again, page by page. Its row in rebuilds is what it obeys.
func RebuildEntities(ctx workflow.Context, id string) (event.Rebuild, error) {
	r, err := workThrough(ctx, operation{
		workflow: TypeRebuildEntities, signal: SignalRebuildChanged, page: operate.RebuildPage, cancel: operate.CancelRebuild,
	}, id, restOfRebuild)
	if err != nil {
		return event.Rebuild{}, err
	}
	return r, nil
}

func restOfRebuild(r event.Rebuild) rest {
	switch {
	case r.State.Ended():
		return rest{ended: true}
	case r.State == event.RedrivePaused:
		return rest{pause: pausedLook}
	default:
		return rest{}
	}
}
