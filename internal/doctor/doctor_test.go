package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/persistence"
)

// A clock was read between two readings of ours: only a time outside of them is skew.
func TestSkewOfAClock(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1_760_000_000, 0)
	end := begin.Add(4 * time.Second)
	for theirs, want := range map[time.Duration]Result{
		0: resultOK, 4 * time.Second: resultOK, 5 * time.Second: resultOK, 6 * time.Second: resultWarn,
		-2 * time.Second: resultWarn, -time.Minute: resultFail, time.Minute: resultFail,
	} {
		d := &doctor{}
		d.examineClock("clock", begin.Add(theirs), begin, end)
		require.Equal(t, want, d.findings[0].Result, theirs)
		require.Equal(t, want != resultFail, newReport(d.findings).OK, theirs)
	}
}

// Unsent notifications are a failure of the channels only after these were tried: if the first channel has just been configured,
// older failures wait for the next round.
func TestUntoldFailures(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_760_000_000, 0)
	yesterday, justNow := now.Add(-24*time.Hour), now.Add(-time.Second)
	for name, c := range map[string]struct {
		untold int64
		since  *time.Time
		last   notifyResult
		want   Result
	}{
		"nothing waits":                       {0, nil, notifyResult{Failures: 3, Error: "refused"}, resultOK},
		"the round comes":                     {3, &justNow, notifyResult{}, resultOK},
		"a channel was configured":            {3, &yesterday, notifyResult{}, resultWarn},
		"the last round told, more has come":  {3, &justNow, notifyResult{Failures: 9, Told: 1}, resultOK},
		"no channel took it":                  {3, &justNow, notifyResult{Failures: 3, Error: "refused"}, resultFail},
		"no channel has taken it for a while": {3, &yesterday, notifyResult{Failures: 3, Error: "refused"}, resultFail},
	} {
		d := &doctor{}
		d.reportNotifications(persistence.Facts{Now: now, Untold: c.untold, UntoldSince: c.since}, c.last)
		require.Equal(t, c.want, d.findings[0].Result, name)
	}
}
