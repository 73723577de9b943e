package stores

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// busyTemporal times out at first, but has created the schedule by its last answer.
type busyTemporal struct {
	client.Client
	client.ScheduleHandle

	answers []error
	asked   func()
	updated int
}

func (b *busyTemporal) ScheduleClient() client.ScheduleClient { return schedulesOf{b} }

type schedulesOf struct{ *busyTemporal }

func (s schedulesOf) Create(context.Context, client.ScheduleOptions) (client.ScheduleHandle, error) {
	if s.asked != nil {
		s.asked()
	}
	if len(s.answers) == 0 {
		return nil, temporal.ErrScheduleAlreadyRunning
	}
	err := s.answers[0]
	s.answers = s.answers[1:]
	return nil, err
}

func (schedulesOf) List(context.Context, client.ScheduleListOptions) (client.ScheduleListIterator, error) {
	return nil, errors.ErrUnsupported
}

func (s schedulesOf) GetHandle(context.Context, string) client.ScheduleHandle { return s.busyTemporal }

// Update is called for an existing schedule.
func (b *busyTemporal) Update(context.Context, client.ScheduleUpdateOptions) error {
	b.updated++
	return nil
}

var wanted = ScheduleOf("any", "Any", time.Minute)

// Calls to a busy Temporal are repeated, and it isn't an error if an earlier call has taken effect.
func TestSchedulesAreMadeOnABusyTemporal(t *testing.T) {
	t.Parallel()
	busy := &busyTemporal{answers: []error{context.DeadlineExceeded, serviceerror.NewDeadlineExceeded("late")}}
	require.NoError(t, EnsureSchedules(t.Context(), busy, wanted))
	require.Empty(t, busy.answers)
	require.Equal(t, 1, busy.updated)
}

// Errors other than timeouts fail immediately, and retries end with the caller's deadline.
func TestSchedulesThatCannotBeMade(t *testing.T) {
	t.Parallel()
	refused := serviceerror.NewPermissionDenied("no", "")
	busy := &busyTemporal{answers: []error{refused, nil}}
	require.ErrorIs(t, EnsureSchedules(t.Context(), busy, wanted), refused)
	require.Len(t, busy.answers, 1)

	ctx, cancel := context.WithCancel(t.Context())
	busy = &busyTemporal{answers: make([]error, 1000), asked: cancel}
	for i := range busy.answers {
		busy.answers[i] = context.DeadlineExceeded
	}
	require.ErrorContains(t, EnsureSchedules(ctx, busy, wanted), "make schedule any")
	require.Len(t, busy.answers, 999)
}
