package operator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// The audit log can be filtered by the actions of every kind of operation.
func TestEveryOperationHasAuditActions(t *testing.T) {
	t.Parallel()
	for _, kind := range operation.Kinds() {
		for _, verb := range []string{"start", "pause", "resume", "cancel"} {
			require.Contains(t, oversight.AuditActions(), oversight.AuditAction(string(kind)+"."+verb))
		}
	}
}
