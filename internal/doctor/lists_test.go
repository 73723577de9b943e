package doctor

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// A list warns for a day about events that never arrived, also if the provider may still deliver them. A time of which nothing
// can be known is a failure for as long as it is read, and a paused recovery comes with how to resume it.
func TestTheDoctorDescribesAList(t *testing.T) {
	t.Parallel()
	gap := func(id string, ago time.Duration, change func(*operation.Recovery)) operation.Recovery {
		r := operation.Recovery{
			Base:   operation.Base{ID: id, State: operation.Completed, StartedAt: time.Now().Add(-ago)},
			Missed: 2, Retrying: 2, Recovered: 2, FirstMissed: time.Now(), LastMissed: time.Now(),
		}
		if change != nil {
			change(&r)
		}
		return r
	}
	unknown := func(r *operation.Recovery) {
		r.Missed, r.Cut, r.Until = 0, operation.CutReach, time.Now()
		r.Since, r.WantedSince = r.Until.AddDate(0, 0, -30), r.Until.AddDate(0, 0, -35)
	}
	var many []operation.Recovery
	for n := range 5 {
		many = append(many, gap(fmt.Sprint("r", n), time.Hour, nil))
	}
	blocked := &operation.Recovery{Base: operation.Base{ID: "two"}, Problem: "the credential is refused"}
	for name, c := range map[string]struct {
		gaps         []operation.Recovery
		blocked      *operation.Recovery
		want         oversight.CheckResult // "" for nothing to say
		says, advice string
	}{
		"nothing":            {nil, nil, "", "", ""},
		"missed today":       {many[:1], nil, resultWarn, "acme one: 2 events", "recover show r0"},
		"missed yesterday":   {[]operation.Recovery{gap("r", 25*time.Hour, nil)}, nil, "", "", ""},
		"unknown, last week": {[]operation.Recovery{gap("r", 150*time.Hour, unknown)}, nil, resultFail, "can't be known", "no list has it"},
		"both":               {[]operation.Recovery{many[0], gap("r", time.Hour, unknown)}, nil, resultFail, "2 recovered. nothing", "no list has it"},
		"paused":             {nil, blocked, resultWarn, "paused: the credential is refused", "recover resume two"},
		"paused, unknown":    {[]operation.Recovery{gap("r", time.Hour, unknown)}, blocked, resultFail, "known. a recovery", "recover resume two"},
		"many":               {many, nil, resultWarn, "and 2 more: holdfast recover list", "recover show r0"},
	} {
		d := &doctor{}
		isComplete := d.examineList(operation.ListHealth{
			RecoveryMark: operation.RecoveryMark{Provider: "acme", Target: "one"}, Gaps: c.gaps, Blocked: c.blocked,
		})
		require.Equal(t, c.want == "", isComplete, name)
		if isComplete {
			require.Empty(t, d.findings, name)
			continue
		}
		require.Len(t, d.findings, 1, name)
		require.Equal(t, c.want, d.findings[0].Result, name)
		require.Equal(t, "recovery of acme one", d.findings[0].Check, name)
		require.Contains(t, d.findings[0].Detail, c.says, name)
		require.Contains(t, d.findings[0].Advice, c.advice, name)
	}
}
