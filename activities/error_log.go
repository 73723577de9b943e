package activities

import (
	"context"
	"strconv"
	"strings"

	"go.temporal.io/sdk/activity"

	"holdfast/event"
	"holdfast/event/oversight"
)

// ErrorSink takes entries for the error log. Record neither blocks nor fails.
type ErrorSink interface {
	Record(e oversight.ErrorEntry)
}

// alertAttempt is the attempt from which a failure to record a dead letter alerts operators: by then the cause is unlikely to
// pass, and the event has no other way out.
const alertAttempt = 3

func phaseOf(activityName string) event.Phase {
	switch activityName {
	case "ParseEvent", "ParseLargeEvent":
		return event.PhaseParse
	case "FetchState", "FetchLargeState":
		return event.PhaseFetch
	case "PersistEvent", "PersistLargeEvent", "ProcessInboxBatch":
		return event.PhasePersist
	case "UpsertEntities", "UpsertLargeEntities":
		return event.PhaseUpsert
	case "RecordDeadLetter", "RecordLargeDeadLetter":
		return event.PhaseDeadLetter
	}
	if strings.Contains(activityName, "Replay") {
		return event.PhaseReplay
	}
	return event.PhaseUpkeep
}

// errorEntry describes a failed execution. It reads only the receipt from the arguments.
func errorEntry(ctx context.Context, args []any, err error) oversight.ErrorEntry {
	info := activity.GetInfo(ctx)
	class, code := Classify(err)
	e := oversight.ErrorEntry{
		Phase:   phaseOf(info.ActivityType.Name),
		Class:   class,
		Code:    code,
		Message: err.Error(),
		Meta: map[string]string{
			"step":        info.ActivityType.Name,
			"lane":        laneOf(info),
			"attempt":     strconv.Itoa(int(info.Attempt)),
			"workflow_id": info.WorkflowExecution.ID,
			"run_id":      info.WorkflowExecution.RunID,
		},
	}
	for _, arg := range args {
		if r, ok := arg.(event.Receipt); ok {
			e.EventID, e.Provider, e.Meta["request_id"], e.Meta["source"] = r.ID, r.Provider, r.RequestID, r.Source
		}
	}
	e.Alert = e.Phase == event.PhaseDeadLetter && info.Attempt >= alertAttempt
	return e
}
