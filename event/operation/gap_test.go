package operation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
)

// An operator reads what was missed, and when; whether it was refused here; and what has become of it.
func TestTheTextOfAGap(t *testing.T) {
	t.Parallel()
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 26, hour, minute, 3, 0, time.UTC) }
	number := func(n int64) *int64 { return &n }
	done := operation.Base{State: operation.Completed}
	for want, r := range map[string]operation.Recovery{
		"14 events from 2026-11-26 02:10 to 02:55 UTC never arrived; none was refused here; 14 recovered": {
			Base: done, Missed: 14, FirstMissed: at(2, 10), LastMissed: at(2, 55), Refused: number(0), Recovered: 14,
		},
		"1 event at 2026-11-26 02:10 UTC never arrived; 1 request of the provider was refused here from then on; 0 recovered, 1 arrived meanwhile": {
			Base: done, Missed: 1, FirstMissed: at(2, 10), LastMissed: at(2, 10), Refused: number(1), Arrived: 1,
		},
		"2 events from 2026-11-25 02:10 to 2026-11-26 02:10 UTC never arrived; being recovered": {
			Base: operation.Base{State: operation.Running}, Missed: 2, FirstMissed: at(-22, 10), LastMissed: at(2, 10),
		},
		"2 events from 2026-11-26 02:10 to 02:11 UTC never arrived; 3 requests of the provider were refused here from then on": {
			Base: done, DryRun: true, Missed: 2, FirstMissed: at(2, 10), LastMissed: at(2, 11), Refused: number(3),
		},
		"3 events at 2026-11-26 02:10 UTC never arrived; the provider was asked to send 2 again, 1 couldn't be started": {
			Base: done, Missed: 3, Redeliverable: 3, Asked: 2, Failed: 1, FirstMissed: at(2, 10), LastMissed: at(2, 10),
		},
		"3 events at 2026-11-26 02:10 UTC never arrived; 3 can only be sent again by the provider": {
			Base: done, Missed: 3, Redeliverable: 3, FirstMissed: at(2, 10), LastMissed: at(2, 10),
		},
		"nothing was read for 35 days, and the provider keeps 30 days: what happened from 2026-10-22 02:10 to 2026-10-27 02:10 UTC can't be known": {
			Base: done, Cut: operation.CutReach, WantedSince: at(2, 10).AddDate(0, 0, -35), Since: at(2, 10).AddDate(0, 0, -30),
			Until: at(2, 10),
		},
		"": {Base: done, Cut: operation.CutReach, AskedSince: at(1, 0)},
	} {
		require.Equal(t, want, r.GapText())
	}
}

// Only a recovery that goes on from the last one finds a time that no other one will read.
func TestTheLengthOfTheUnknown(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := operation.Recovery{Cut: operation.CutReach, WantedSince: now.Add(-5 * time.Hour), Since: now}
	require.Equal(t, 5*time.Hour, r.Unknown())
	for _, other := range []operation.Recovery{
		{Cut: operation.CutSwitchedOn, WantedSince: now.Add(-time.Hour), Since: now},
		{Cut: operation.CutReach, AskedSince: now.Add(-time.Hour), WantedSince: now.Add(-time.Hour), Since: now},
		{Cut: operation.CutReach, DryRun: true, WantedSince: now.Add(-time.Hour), Since: now},
	} {
		require.Zero(t, other.Unknown())
	}
}
