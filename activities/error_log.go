package activities

import (
	"context"
	"strconv"
	"strings"

	"go.temporal.io/sdk/activity"

	"holdfast/event"
	"holdfast/event/oversight"
)

// ErrorSink takes entries for the error log. Record neither waits nor fails.
type ErrorSink interface {
	Record(e oversight.ErrorEntry)
}

// alertAttempt is the attempt from which on a dead letter that cannot be recorded is told to somebody: there is nothing
// behind it, and by then the cause is no passing one.
const alertAttempt = 3

// phaseOf is the phase that an activity belongs to, by its name.
func phaseOf(activityName string) event.Phase {
	switch activityName {
	case "ParseEvent", "ParseLargeEvent":
		return event.PhaseParse
	case "PersistEvent", "PersistLargeEvent", "ProcessInboxBatch":
		return event.PhasePersist
	case "UpsertEntities", "UpsertLargeEntities":
		return event.PhaseUpsert
	case "RecordDeadLetter", "RecordLargeDeadLetter":
		return event.PhaseDeadLetter
	}
	if strings.Contains(activityName, "Redrive") {
		return event.PhaseRedrive
	}
	return event.PhaseUpkeep
}

// errorEntry describes a failed execution. Of its arguments it reads the event's receipt and nothing else.
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
