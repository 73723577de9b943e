package event_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

func TestChangesAreOrderedByVersionThenTimeThenEvent(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one, two, negative := int64(1), int64(2), int64(-1)
	ascending := []event.Order{
		{OccurredAt: at, EventID: "b"},
		{OccurredAt: at.Add(time.Microsecond), EventID: "a"},
		{Version: &negative, OccurredAt: at, EventID: "z"},
		{Version: &one, OccurredAt: at.Add(time.Hour), EventID: "z"},
		{Version: &two, OccurredAt: at, EventID: "a"},
		{Version: &two, OccurredAt: at, EventID: "b"},
	}
	for i, a := range ascending {
		for j, b := range ascending {
			switch {
			case i < j:
				require.Negative(t, a.Compare(b), "%d before %d", i, j)
			case i > j:
				require.Positive(t, a.Compare(b), "%d after %d", i, j)
			default:
				require.Zero(t, a.Compare(b))
			}
		}
	}
}

func TestTimesAreComparedInMicroseconds(t *testing.T) {
	t.Parallel()
	at := time.Date(1969, 7, 20, 20, 17, 40, 1000, time.FixedZone("", 3600))
	a := event.Order{OccurredAt: at.Add(999 * time.Nanosecond), EventID: "a"}
	b := event.Order{OccurredAt: at.UTC(), EventID: "b"}
	require.Negative(t, a.Compare(b), "the same microsecond: the event decides")

	p := event.Parsed{OccurredAt: at.Add(999 * time.Nanosecond)}
	order := event.OrderOf(event.Receipt{ID: "a"}, p, event.Change{})
	require.Equal(t, event.Order{OccurredAt: at.UTC(), EventID: "a"}, order)
}
