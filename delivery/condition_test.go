package delivery_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// Histories recorded before two fields were renamed hold a Condition with their old names.
func TestAConditionOfAnOldHistoryIsRead(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, text := range []string{
		`{"state":"ready","trouble_since":"2026-11-21T12:00:00Z","trouble":"503","waiting":7}`,
		`{"state":"ready","failing_since":"2026-11-21T12:00:00Z","failure":"503","waiting":7}`,
	} {
		var c delivery.Condition
		require.NoError(t, json.Unmarshal([]byte(text), &c))
		require.Equal(t, delivery.Condition{State: delivery.DestinationReady, FailingSince: &since, Failure: "503", Waiting: 7}, c)
	}
}
