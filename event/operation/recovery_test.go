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
		accept               bool
		since                time.Time
		cut                  operation.RecoveryCut
	}{
		"as asked":                         {ago(48), ago(100), time.Time{}, false, ago(48), ""},
		"from the watermark":               {time.Time{}, ago(100), ago(10), false, ago(11), ""},
		"the first one":                    {time.Time{}, ago(2), time.Time{}, false, ago(2), ""},
		"before it was on":                 {ago(48), ago(2), time.Time{}, false, ago(2), operation.CutSwitchedOn},
		"before it was on, accepted":       {ago(48), ago(2), time.Time{}, true, ago(48), ""},
		"beyond the list":                  {ago(800), ago(2), time.Time{}, true, edge, operation.CutReach},
		"down for longer than the list":    {time.Time{}, ago(2000), ago(840), false, edge, operation.CutReach},
		"the dedupe window was longer now": {time.Time{}, ago(5), ago(10), false, ago(5), operation.CutSwitchedOn},
	} {
		r := operation.Recovery{AskedSince: c.asked, AcceptDuplicates: c.accept}
		since, until, cut := r.Window(list, operation.RecoveryMark{SwitchedOn: c.on, Watermark: c.watermark}, now)
		require.Equal(t, c.since, since, name)
		require.Equal(t, now.Add(-5*time.Minute), until, name)
		require.Equal(t, c.cut, cut, name)
	}
	since, until, _ := operation.Recovery{}.Window(list, operation.RecoveryMark{SwitchedOn: now}, now)
	require.False(t, since.Before(until), "there is nothing to read yet")
}

func TestPluralsOfKinds(t *testing.T) {
	t.Parallel()
	require.Equal(t, "recoveries", operation.KindRecovery.Plural())
	require.Equal(t, "redrives", operation.KindRedrive.Plural())
}
