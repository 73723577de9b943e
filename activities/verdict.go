package activities

import (
	"errors"

	"holdfast/event"
)

// verdictOf extracts an operator's decision from an error: it ends a run without failing it.
func verdictOf(err error) (*event.Verdict, error) {
	var verdict *event.VerdictError
	if errors.As(err, &verdict) {
		return &verdict.Verdict, nil
	}
	return nil, err
}
