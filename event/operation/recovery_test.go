package operation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
)

// A recovery goes back as far as asked, or to its watermark. It goes back neither before recovery was switched on, unless an
// operator accepts duplicates, nor further than the list, and says so.
func TestTheWindowOfARecovery(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	ago := func(hours int) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }
	list := operation.EventList{Reach: 30 * 24 * time.Hour, Overlap: time.Hour, Settle: 5 * time.Minute}
	edge := ago(30 * 24).Add(time.Minute)
	for name, c := range map[string]struct {
		asked, on, watermark time.Time
		accept, whole        bool
		since                time.Time
		cut                  operation.RecoveryCut
	}{
		"as asked":                         {ago(48), ago(100), time.Time{}, false, false, ago(48), ""},
		"from the watermark":               {time.Time{}, ago(100), ago(10), false, false, ago(11), ""},
		"the first one":                    {time.Time{}, ago(2), time.Time{}, false, false, ago(2), ""},
		"before it was on":                 {ago(48), ago(2), time.Time{}, false, false, ago(2), operation.CutSwitchedOn},
		"before it was on, accepted":       {ago(48), ago(2), time.Time{}, true, false, ago(48), ""},
		"beyond the list":                  {ago(800), ago(2), time.Time{}, true, false, edge, operation.CutReach},
		"down for longer than the list":    {time.Time{}, ago(2000), ago(840), false, false, edge, operation.CutReach},
		"the dedupe window was longer now": {time.Time{}, ago(5), ago(10), false, false, ago(5), operation.CutSwitchedOn},

		"everything in the list":                  {time.Time{}, ago(2000), ago(10), false, true, edge, ""},
		"everything since it is on":               {time.Time{}, ago(100), ago(10), false, true, ago(100), ""},
		"everything, and down for longer than it": {time.Time{}, ago(2000), ago(840), false, true, edge, operation.CutReach},
	} {
		r := operation.Recovery{AskedSince: c.asked, AcceptDuplicates: c.accept, Whole: c.whole}
		w := r.Window(list, operation.RecoveryMark{SwitchedOn: c.on, Watermark: c.watermark}, now)
		require.Equal(t, c.since, w.Since, name)
		require.Equal(t, now.Add(-5*time.Minute), w.Until, name)
		require.Equal(t, c.cut, w.Cut, name)
		if c.cut != "" {
			require.True(t, w.Wanted.Equal(c.asked) || w.Wanted.Equal(c.watermark), name)
		}
	}
	require.True(t, operation.Recovery{}.Window(list, operation.RecoveryMark{SwitchedOn: now}, now).IsEmpty(), "nothing to read yet")
}

// Once a day a scheduled recovery reads everything in the list.
func TestARecoveryIsWholeOnceADay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for ago, whole := range map[time.Duration]bool{time.Hour: false, 23 * time.Hour: false, 24 * time.Hour: true, 9000 * time.Hour: true} {
		r := operation.RecoveryMark{Provider: "acme", Target: "one", WalkedAt: now.Add(-ago)}.Due(now)
		require.Equal(t, whole, r.Whole, ago)
		require.Equal(t, []string{"acme", "one"}, []string{r.Provider, r.Target})
		require.NoError(t, operation.KindRecovery.CheckRate(r.Rate))
	}
	require.True(t, operation.RecoveryMark{}.Due(now).Whole, "the first one")
}

func TestPluralsOfKinds(t *testing.T) {
	t.Parallel()
	require.Equal(t, "recoveries", operation.KindRecovery.Plural())
	require.Equal(t, "replays", operation.KindReplay.Plural())
}
