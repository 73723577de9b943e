package process

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/internal/telemetry"
)

// The figures of a provider are of all its lists. They count what the last day's recoveries have missed, also what the provider
// may still deliver: a recovery reads events within minutes, so an alarm for the others only would hardly ever come.
func TestFiguresOfLists(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ago := func(hours int) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }
	missed := func(n int64, hours int) operation.Recovery {
		return operation.Recovery{Base: operation.Base{StartedAt: ago(hours)}, Missed: n, Retrying: n}
	}
	unknown := missed(0, 100)
	unknown.Cut, unknown.WantedSince, unknown.Since = operation.CutReach, ago(50), ago(45)

	own := operation.ListHealth{
		RecoveryMark: operation.RecoveryMark{SwitchedOn: ago(99), Watermark: ago(1)},
		Gaps:         []operation.Recovery{missed(3, 1), missed(4, 23), missed(8, 25), unknown},
	}
	f := figuresOf(own, telemetry.ListFigures{}, now)
	require.Equal(t, telemetry.ListFigures{Missed: 7, Unknown: 5 * time.Hour, Behind: time.Hour}, f)

	target := operation.ListHealth{
		RecoveryMark: operation.RecoveryMark{Target: "one", SwitchedOn: ago(6)}, Gaps: []operation.Recovery{missed(1, 2), unknown},
	}
	require.Equal(t, telemetry.ListFigures{Missed: 8, Unknown: 10 * time.Hour, Behind: 6 * time.Hour}, figuresOf(target, f, now))
	other := figuresOf(own, figuresOf(target, telemetry.ListFigures{}, now), now)
	require.Equal(t, 6*time.Hour, other.Behind, "the one furthest behind")
}
