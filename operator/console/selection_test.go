package console

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator/console/frame"
)

func TestASelectionIsReadStrictly(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"do=replay&id=1&id=12": ``,
		"do=discard":           ``,
		"do=replay&id=0":       `bad_field`,
		"do=replay&id=x":       `bad_field`,
		"do=delete&id=1":       `bad_field`,
		"id=1":                 `bad_field`,
		"do=replay&list=%25zz": `bad_field`,
		"do=replay" + strings.Repeat("&id=1", maxSelected+1):  `bad_field`,
		"do=replay&list=" + url.QueryEscape("a=1\r\nEvil: 1"): ``,
	} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		s, err := selectionOf(values)
		if want == "" {
			require.NoError(t, err, query)
			require.NotContains(t, s.back(), "\n")
			continue
		}
		require.EqualError(t, err, want, query)
	}
}

// Replaying all matches is offered only if a replay covers exactly what the list shows.
func TestAListIsAReplayWhereBothMeanTheSame(t *testing.T) {
	t.Parallel()
	open := event.DeadLetterQuery{Provider: "acme", Type: "t", Rule: "type", State: event.DeadLetterOpen, Since: time.Unix(1, 0)}
	f, ok := replayOf(open)
	require.True(t, ok)
	require.Equal(t, operation.ReplayFilter{
		Provider: "acme", Type: "t", Rule: "type", State: event.DeadLetterOpen, Since: time.Unix(1, 0),
	}, f)
	require.Equal(t, "provider=acme&rule=type&since=1970-01-01T00%3A00%3A01Z&state=open&type=t", filterValues(f).Encode())
	for _, q := range []event.DeadLetterQuery{
		{}, {State: event.DeadLetterResolved}, {State: event.DeadLetterOpen, EventID: "x"}, {State: event.DeadLetterOpen, WorkflowID: "x"},
	} {
		_, ok := replayOf(q)
		require.False(t, ok, "%+v", q)
	}
}

func TestOperationsSayHowFarTheyAre(t *testing.T) {
	t.Parallel()
	running := ofReplay(operation.Replay{Base: operation.Base{State: operation.Running}, Total: 1000, Done: 100, Failed: 50, InFlight: 20, Skipped: 50})
	require.Equal(t, 20, running.Percent)
	require.Contains(t, running.Counts, frame.Fact{"Pending", "780"})
	require.True(t, running.CanChange())
	canceled := ofReplay(operation.Replay{Base: operation.Base{State: operation.Canceled}, Total: 10, InFlight: 1})
	require.False(t, canceled.IsOpen())
	require.True(t, canceled.CanChange(), "its runs go on")
	ended := ofReplay(operation.Replay{Base: operation.Base{State: operation.Completed}, Total: 0})
	require.Equal(t, 100, ended.Percent)
	require.False(t, ended.CanChange())
}

func TestAPieceOfAStateKeepsItsDigits(t *testing.T) {
	t.Parallel()
	require.Equal(t, "12345678901234567890.10", value(json.RawMessage("12345678901234567890.10")))
	require.Len(t, []rune(value(json.RawMessage(strings.Repeat("ä", 1000)))), 201)
}
