package activities

import (
	"errors"

	"holdfast/event"
)

// verdictOf takes a verdict out of an error: a run that meets one has come to its end, and has not failed.
func verdictOf(err error) (*event.Verdict, error) {
	var verdict *event.VerdictError
	if errors.As(err, &verdict) {
		return &verdict.Verdict, nil
	}
	return nil, err
}
