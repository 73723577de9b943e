package activities

import (
	"errors"

	"holdfast/event"
)

// decisionOf extracts an operator's decision from an error: it ends a run without failing it.
func decisionOf(err error) (*event.Decision, error) {
	if decision, ok := errors.AsType[*event.DecisionError](err); ok {
		return &decision.Decision, nil
	}
	return nil, err
}
