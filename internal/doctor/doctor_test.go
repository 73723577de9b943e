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
	for theirs, want := range map[time.Duration]Verdict{
		0: verdictOK, 4 * time.Second: verdictOK, 5 * time.Second: verdictOK, 6 * time.Second: verdictWarn,
		-2 * time.Second: verdictWarn, -time.Minute: verdictFail, time.Minute: verdictFail,
	} {
		d := &doctor{}
		d.examineClock("clock", begin.Add(theirs), begin, end)
		require.Equal(t, want, d.findings[0].Verdict, theirs)
		require.Equal(t, want != verdictFail, newReport(d.findings).OK, theirs)
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
		last   told
		want   Verdict
	}{
		"nothing waits":                       {0, nil, told{Failures: 3, Error: "refused"}, verdictOK},
		"the round comes":                     {3, &justNow, told{}, verdictOK},
		"a channel was configured":            {3, &yesterday, told{}, verdictWarn},
		"the last round told, more has come":  {3, &justNow, told{Failures: 9, Told: 1}, verdictOK},
		"no channel took it":                  {3, &justNow, told{Failures: 3, Error: "refused"}, verdictFail},
		"no channel has taken it for a while": {3, &yesterday, told{Failures: 3, Error: "refused"}, verdictFail},
	} {
		d := &doctor{}
		d.judgeUntold(persistence.Facts{Now: now, Untold: c.untold, UntoldSince: c.since}, c.last)
		require.Equal(t, c.want, d.findings[0].Verdict, name)
	}
}
