package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
)

// What the doctor and an alert both watch has the same bounds in both.
func TestTheAlertsHaveTheDoctorsBounds(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", "holdfast.rules.yaml"))
	require.NoError(t, err)
	for alert, bounds := range map[string][]string{
		"HoldfastInboxWaits": {
			fmt.Sprintf(`holdfast_inbox_oldest_seconds{lane="overflow"}) > %v`, waitingWarn.Seconds()),
			fmt.Sprintf(`holdfast_inbox_oldest_seconds{lane="bulk"}) > %v`, bulkWarn.Seconds()),
		},
		"HoldfastSourceQueueGrows": {fmt.Sprintf(`(holdfast_source_queue_waiting) > %v`, waitingMessages)},
		"HoldfastInboxStuck":       {fmt.Sprintf(`holdfast_inbox_oldest_seconds{lane!="copy"}) > %v`, waitingFail.Seconds())},
	} {
		rule := regexp.MustCompile(`(?s)- alert: ` + alert + `\n.*?annotations:`).FindString(string(rules))
		require.NotEmpty(t, rule, alert)
		for _, bound := range bounds {
			require.Regexp(t, regexp.QuoteMeta(bound)+`\s`, rule, alert)
		}
	}
}

// Events that wait in a lane other than overflow are reported, too.
func TestEachLaneOfTheInboxIsExamined(t *testing.T) {
	t.Parallel()
	d := &doctor{}
	now := time.Now()
	depths := event.InboxDepth{
		event.LaneBulk:  {Depth: 3, Oldest: now.Add(-bulkWarn - time.Minute)},
		event.LaneLarge: {Depth: 1, Oldest: now.Add(-waitingFail - time.Minute)},
	}
	d.examineLane(depths, event.LaneBulk, bulkWarn)
	d.examineLane(depths, event.LaneLarge, waitingFail)
	require.Len(t, d.findings, 2)
	require.Equal(t, []oversight.CheckResult{resultWarn, resultFail}, []oversight.CheckResult{d.findings[0].Result, d.findings[1].Result})
	require.Contains(t, d.findings[0].Detail, "3 events wait in the lane bulk")

	d = &doctor{}
	d.examineLane(event.InboxDepth{event.LaneBulk: {Depth: 3, Oldest: now.Add(-time.Minute)}}, event.LaneBulk, bulkWarn)
	require.Empty(t, d.findings)
}
