package cli

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"holdfast/event"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
	"holdfast/persistence"
)

var cluster *stacktest.Cluster

func TestMain(m *testing.M) {
	os.Exit(stacktest.Main(m, func() (err error) {
		if cluster, err = stacktest.StartCluster(); err != nil {
			return err
		}
		return cluster.Template(func(url string) error { return migrations.Up(context.Background(), url) })
	}))
}

// A number may be a dead letter's number and another event's key. An expunge must not guess which of them is meant.
func TestANumberThatNamesTwoEventsNamesBoth(t *testing.T) {
	t.Parallel()
	store, err := persistence.Open(t.Context(), persistence.Config{URL: cluster.Database(t), MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	temporal, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	tools := &Tools{Store: store, Temporal: temporal}

	dead, died := keyed("evt_1")
	failed := event.Failure{
		Step: event.StepParse, Class: event.ClassRejected, Code: "malformed_json", Message: "not JSON", Attempts: 1, At: time.Now(),
	}
	letter := event.DeadLetter{Receipt: dead, Body: []byte("{"), Run: died, Failure: failed}
	require.NoError(t, store.DeadLetters.RecordDeadLetter(t.Context(), letter))
	letters, err := store.DeadLetters.DeadLetters(t.Context(), event.DeadLetterQuery{Limit: 1})
	require.NoError(t, err)
	number := strconv.FormatInt(letters[0].ID, 10)
	found, err := tools.FindEvent(t.Context(), number)
	require.NoError(t, err)
	require.Equal(t, dead.ID, found)

	other, ran := keyed(number)
	_, err = store.Writer.Process(t.Context(), other, []byte("{}"), event.Parsed{
		Type: "order", OccurredAt: time.Now(), Outcome: event.OutcomeProcessed,
	}, ran)
	require.NoError(t, err)
	all, err := tools.FindEvents(t.Context(), number)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{dead.ID, other.ID}, all)
	_, err = tools.FindEvent(t.Context(), number)
	require.ErrorContains(t, err, "names 2 events")
	_, err = tools.FindEvent(t.Context(), number+"000")
	require.ErrorIs(t, err, event.ErrNotFound)
	alone, ran := keyed(number + "000")
	_, err = store.Writer.Process(t.Context(), alone, []byte("{}"), event.Parsed{
		Type: "order", OccurredAt: time.Now(), Outcome: event.OutcomeProcessed,
	}, ran)
	require.NoError(t, err)
	found, err = tools.FindEvent(t.Context(), number+"000")
	require.NoError(t, err, "a key that is a number")
	require.Equal(t, alone.ID, found)
	meant, err := tools.FindDeadLetter(t.Context(), number)
	require.NoError(t, err, "where a dead letter is wanted, a number is its own")
	require.Equal(t, letters[0].ID, meant)
}

func keyed(key string) (event.Receipt, event.Run) {
	r := event.Receipt{
		ID: uuid.Must(uuid.NewV7()).String(), Provider: "acme", Key: key, KeyFrom: event.KeyFromEvent, Type: "order",
		ReceivedAt: time.Now(), RequestID: uuid.NewString(),
	}
	return r, event.Run{WorkflowID: event.WorkflowID(r.Provider, r.Key), RunID: uuid.NewString()}
}
