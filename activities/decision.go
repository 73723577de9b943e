package activities

import (
	"errors"

	"holdfast/event"
)

// decisionOf extracts an operator's decision from an error: it ends a run without failing it.
func decisionOf(err error) (*event.Decision, error) {
	var decision *event.DecisionError
	if errors.As(err, &decision) {
		return &decision.Decision, nil
	}
	return nil, err
}
