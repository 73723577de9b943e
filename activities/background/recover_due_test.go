package background

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"holdfast/event/operation"
)

// withoutCredential has lists, and credentials for none.
type withoutCredential struct{ lists }

func (withoutCredential) Available() []string { return nil }

// asleep is a Temporal that can't be reached.
type asleep struct{ *recoveryIn }

var errAsleep = errors.New("no connection to Temporal")

func (asleep) Wake(context.Context, operation.Kind, string) error { return errAsleep }

// Without a credential the schedule starts nothing, whatever it knows of lists. If Temporal can't be reached, the recovery is
// stored, and a sweep starts it.
func TestTheScheduleStartsNothing(t *testing.T) {
	t.Parallel()
	run := func(all *Activities) (started []string, err error) {
		env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
		env.RegisterActivity(all.RecoverDue)
		encoded, err := env.ExecuteActivity(all.RecoverDue)
		if err == nil {
			err = encoded.Get(&started)
		}
		return started, err
	}
	s := &recoveryIn{marks: []operation.RecoveryMark{{Provider: "acme"}}}
	started, err := run(&Activities{Recoveries: s, Lists: withoutCredential{lists{s}}, Starter: s})
	require.NoError(t, err)
	require.Empty(t, started)
	require.Empty(t, s.scheduled)

	_, err = run(&Activities{Recoveries: s, Lists: lists{s}, Starter: asleep{s}})
	require.ErrorContains(t, err, errAsleep.Error())
	require.Len(t, s.scheduled, 1)
	require.Empty(t, s.woken)
}
