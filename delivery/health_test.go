package delivery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// One word sums up a destination, and the next step fits it: an open breaker is not ready, and waiting needs no command.
func TestTheHealthOfADestinationAndItsNextStep(t *testing.T) {
	t.Parallel()
	since := time.Now()
	ready := delivery.Condition{State: delivery.DestinationReady, Breaker: delivery.BreakerClosed}
	with := func(change func(*delivery.Condition)) delivery.Condition {
		c := ready
		change(&c)
		return c
	}
	disabled := func(reason string) delivery.Condition {
		return with(func(c *delivery.Condition) { c.State, c.Reason = delivery.DestinationDisabled, reason })
	}
	for _, want := range []struct {
		is           delivery.Condition
		health, next string
	}{
		{ready, "ready", ""},
		{with(func(c *delivery.Condition) { c.State = delivery.DestinationPaused }), "paused", "destination resume crm"},
		{disabled("INC-42"), "disabled", "destination resume crm"},
		{disabled(delivery.GoneReason + "410"), "gone", "destination delete crm"},
		{with(func(c *delivery.Condition) { c.Breaker = delivery.BreakerOpen }), "failing", "destination resume crm"},
		{with(func(c *delivery.Condition) { c.Breaker, c.FailingSince = delivery.BreakerHalfOpen, &since }), "recovering", "Wait"},
		{with(func(c *delivery.Condition) { c.FailingSince = &since }), "failing", "Check the endpoint"},
		{with(func(c *delivery.Condition) { c.FailingSince, c.Retrying, c.NextAt = &since, 1, &since }), "failing",
			"destination resume crm` to try at once"},
		{with(func(c *delivery.Condition) { c.FailingSince, c.Retrying = &since, 1 }), "failing", // its key is paused
			"the next event is sent as usual"},
		{with(func(c *delivery.Condition) { c.FailingSince, c.Failure = &since, "tls_files: the key is encrypted" }), "failing",
			"Nothing can be sent as configured"},
	} {
		require.Equal(t, want.health, string(want.is.Health()))
		next := want.is.NextStep(delivery.Commands("crm"))
		require.Contains(t, next, want.next)
		require.Equal(t, want.next == "", next == "")
	}
}
