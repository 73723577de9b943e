package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A clock was read at some moment between two of ours: only what lies outside of them is skew.
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
