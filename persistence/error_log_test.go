package persistence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
)

// Any entry is stored: bounded, clean, and found by every filter.
func TestErrorsAreLoggedAndFound(t *testing.T) {
	t.Parallel()
	db := open(t)
	id := receipt().ID
	require.NoError(t, db.Errors.LogErrors(t.Context(), nil))
	require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{
		{At: noon, Phase: event.PhaseParse, Provider: "acme", Class: event.ClassRejected, Code: "malformed_json", EventID: id,
			Message: "not JSON", Count: 1, Meta: map[string]string{"step": "ParseEvent"}},
		{At: noon.Add(time.Hour), Phase: "unheard of", Class: "unheard of", Code: "x\x00y",
			Message: strings.Repeat("m", 5000), Meta: map[string]string{"a": strings.Repeat("v", 5000)}},
	}))

	all, err := db.Errors.Errors(t.Context(), oversight.ErrorQuery{})
	require.NoError(t, err)
	require.Len(t, all, 2)
	odd, plain := all[0], all[1]
	require.Equal(t, event.PhaseUpkeep, odd.Phase)
	require.Equal(t, event.ClassFailed, odd.Class)
	require.Len(t, odd.Message, 1024)
	require.Len(t, odd.Meta["a"], 256)
	require.EqualValues(t, 1, odd.Count)
	require.Equal(t, oversight.ErrorEntry{
		ID: plain.ID, At: noon, Phase: event.PhaseParse, Provider: "acme", Class: event.ClassRejected, Code: "malformed_json",
		Message: "not JSON", EventID: id, Count: 1, Meta: map[string]string{"step": "ParseEvent"},
	}, plain)

	for _, q := range []oversight.ErrorQuery{
		{Phase: event.PhaseParse}, {Provider: "acme"}, {Class: event.ClassRejected}, {Code: "malformed_json"}, {EventID: id},
		{Until: noon.Add(time.Minute)}, {Before: odd.ID},
	} {
		page, err := db.Errors.Errors(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, []oversight.ErrorEntry{plain}, page, "%+v", q)
	}
	page, err := db.Errors.Errors(t.Context(), oversight.ErrorQuery{Since: noon.Add(time.Minute)})
	require.NoError(t, err)
	require.Len(t, page, 1)
}

// The errors of a source are those of its events: a row of a storm stands for many, of any source.
func TestErrorsOfASource(t *testing.T) {
	t.Parallel()
	db := open(t)
	entry := func(source, eventID string) oversight.ErrorEntry {
		return oversight.ErrorEntry{
			At: noon, Phase: event.PhaseParse, Provider: "acme", Class: event.ClassRejected, Code: "malformed_json", EventID: eventID,
			Meta: map[string]string{"source": source},
		}
	}
	want := entry(`a "shop"`, receipt().ID)
	require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{
		want, entry("another shop", receipt().ID), entry(`a "shop"`, ""), entry("", receipt().ID),
	}))
	page, err := db.Errors.Errors(t.Context(), oversight.ErrorQuery{Provider: "acme", Source: `a "shop"`})
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, want.EventID, page[0].EventID)
}

// Failed steps of the last minute count as often as their row says; requests that could not be received are no worker's failure.
func TestRecentFailuresOfWorkers(t *testing.T) {
	t.Parallel()
	db := open(t)
	entry := func(phase event.Phase, ago time.Duration, count int64) oversight.ErrorEntry {
		return oversight.ErrorEntry{
			At: time.Now().Add(-ago), Phase: phase, Provider: "stripe", Class: event.ClassFailed, Code: "x", Message: "x", Count: count,
		}
	}
	n, err := db.Errors.RecentFailures(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{
		entry(event.PhaseParse, 0, 1), entry(event.PhaseUpsert, 30*time.Second, 4), entry(event.PhasePersist, 2*time.Minute, 8),
		entry(event.PhaseReceive, 0, 16),
	}))
	n, err = db.Errors.RecentFailures(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, n)
}

// Of each queue the last problem is returned, if it is recent.
func TestProblemsOfQueues(t *testing.T) {
	t.Parallel()
	db := open(t)
	entry := func(queue, code string, ago time.Duration) oversight.ErrorEntry {
		return oversight.ErrorEntry{
			At: time.Now().Add(-ago), Phase: event.PhaseReceive, Provider: "orders", Class: event.ClassTransient, Code: code,
			Message: "why", Meta: map[string]string{"broker": "nats", "queue": queue},
		}
	}
	require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{
		entry("A", "queue_missing", time.Second), entry("A", "queue_refused", time.Minute), entry("B", "queue_missing", 2*time.Minute),
		entry("C", "queues", 0), entry("D", "queue_held", 0),
	}))
	problems, err := db.Errors.QueueProblems(t.Context())
	require.NoError(t, err)
	require.Equal(t, []oversight.QueueProblem{
		{Provider: "orders", Broker: "nats", Queue: "A", Code: "queue_missing", Message: "why"},
		{Provider: "orders", Broker: "nats", Queue: "D", Code: "queue_held", Message: "why"},
	}, problems)
}

// Refusals of the last day count by provider, other reasons and phases don't.
func TestRefusedRequestsByReason(t *testing.T) {
	t.Parallel()
	db := open(t)
	entry := func(provider string, phase event.Phase, code string, ago time.Duration, count int64) oversight.ErrorEntry {
		return oversight.ErrorEntry{
			At: time.Now().Add(-ago), Phase: phase, Provider: provider, Class: event.ClassRejected, Code: code, Message: "x", Count: count,
		}
	}
	require.NoError(t, db.Errors.LogErrors(t.Context(), []oversight.ErrorEntry{
		entry("retell", event.PhaseReceive, oversight.ReasonTooLarge, time.Hour, 2),
		entry("retell", event.PhaseReceive, oversight.ReasonTooLarge, time.Minute, 3),
		entry("retell", event.PhaseReceive, oversight.ReasonTooLarge, 25*time.Hour, 9),
		entry("retell", event.PhaseReceive, "unavailable", 0, 9), entry("retell", event.PhaseParse, oversight.ReasonTooLarge, 0, 9),
		entry("github", event.PhaseReceive, oversight.ReasonTooLarge, 0, 1),
	}))
	refused, err := db.Errors.Refused(t.Context(), oversight.ReasonTooLarge)
	require.NoError(t, err)
	require.Equal(t, []oversight.RefusedRequests{{Provider: "github", Count: 1}, {Provider: "retell", Count: 5}}, refused)
}
