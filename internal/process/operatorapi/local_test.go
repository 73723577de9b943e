package operatorapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/internal/config"
	"holdfast/internal/devstack/stacktest"
	"holdfast/internal/process/operatorapi"
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

// local opens an API in this process, without Temporal.
func local(t *testing.T, database string) *operatorapi.Local {
	t.Helper()
	cfg, err := config.LoadFrom([]string{"DATABASE_URL=" + database, "TEMPORAL_ADDRESS=127.0.0.1:1"})
	require.NoError(t, err)
	l, err := operatorapi.OpenLocal(t.Context(), cfg, "cli:ada")
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

func request(t *testing.T, l *operatorapi.Local, method, path, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://any"+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+l.Token)
	r.Header.Set("Content-Type", "application/json")
	response, err := l.Client.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func read[T any](t *testing.T, l *operatorapi.Local, path string) (status int, answer T) {
	t.Helper()
	response := request(t, l, http.MethodGet, path, "")
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	return response.StatusCode, answer
}

type refusal struct{ Error struct{ Code, Detail string } }

// No check is skipped for a caller in the same process, and an outage is reported by the request that needs the store.
func TestTheLocalAPIChecksEveryRequest(t *testing.T) {
	t.Parallel()
	l := local(t, "postgres://nobody@127.0.0.1:1/none")
	status, refused := read[refusal](t, l, "/events?since=yesterday")
	require.Equal(t, 400, status)
	require.Contains(t, refused.Error.Detail, "use a duration")
	status, refused = read[refusal](t, l, "/events")
	require.Equal(t, 503, status)
	require.Contains(t, refused.Error.Detail, "connection_failed", "the cause is for whoever may read the database's secret")
	l.Token = "another"
	status, refused = read[refusal](t, l, "/events?since=yesterday")
	require.Equal(t, 401, status)
	require.Equal(t, "unauthenticated", refused.Error.Code)
}

// A change has the caller's name and the role admin in the audit log.
func TestTheLocalCallerIsAudited(t *testing.T) {
	t.Parallel()
	database := cluster.Database(t)
	store := open(t, database)
	dead, died := keyed("evt_1")
	require.NoError(t, store.DeadLetters.RecordDeadLetter(t.Context(), event.DeadLetter{
		Receipt: dead, Body: []byte("{"), Run: died, Failure: event.Failure{
			Step: event.StepParse, Class: event.ClassRejected, Code: "malformed_json", Message: "not JSON", Attempts: 1, At: time.Now(),
		},
	}))
	l := local(t, database)
	require.Equal(t, 200, request(t, l, http.MethodPost, "/dead-letters/1/discard", `{"reason":"a test"}`).StatusCode)
	_, log := read[struct {
		Items []struct{ Actor, Role, Action, Reason string }
	}](t, l, "/audit")
	require.Equal(t, []struct{ Actor, Role, Action, Reason string }{{"cli:ada", "admin", "dead_letter.discard", "a test"}}, log.Items)
}

// The change feed is streamed: a change arrives while the response is open, and the caller ends the response.
func TestTheLocalAPIStreams(t *testing.T) {
	t.Parallel()
	database := cluster.Database(t)
	store, l := open(t, database), local(t, database)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://any/changes?after=now", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+l.Token)
	r.Header.Set("Accept", "text/event-stream")
	response, err := l.Client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, 200, response.StatusCode)
	processed, ran := keyed("evt_1")
	_, err = store.Writer.Write(t.Context(), event.WholeEvent, processed, []byte("{}"), event.Parsed{
		Type: "order", OccurredAt: time.Now(), Outcome: event.OutcomeProcessed,
	}, ran)
	require.NoError(t, err)
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), processed.ID) {
	}
	require.Contains(t, lines.Text(), processed.ID)
	cancel()
	for lines.Scan() {
	}
	require.ErrorIs(t, lines.Err(), context.Canceled)
}

// A number may be a dead letter's number and another event's key. An expunge must not guess which of them is meant.
func TestANumberThatNamesTwoEventsNamesBoth(t *testing.T) {
	t.Parallel()
	database := cluster.Database(t)
	store, l := open(t, database), local(t, database)
	process := func(key string) event.Receipt {
		r, ran := keyed(key)
		_, err := store.Writer.Write(t.Context(), event.WholeEvent, r, []byte("{}"), event.Parsed{
			Type: "order", OccurredAt: time.Now(), Outcome: event.OutcomeProcessed,
		}, ran)
		require.NoError(t, err)
		return r
	}
	find := func(text string) []string {
		_, found := read[struct {
			EventIDs []string `json:"event_ids"`
		}](t, l, "/find/"+text)
		return found.EventIDs
	}
	dead, died := keyed("evt_1")
	failed := event.Failure{
		Step: event.StepParse, Class: event.ClassRejected, Code: "malformed_json", Message: "not JSON", Attempts: 1, At: time.Now(),
	}
	letter := event.DeadLetter{Receipt: dead, Body: []byte("{"), Run: died, Failure: failed}
	require.NoError(t, store.DeadLetters.RecordDeadLetter(t.Context(), letter))
	letters, err := store.DeadLetters.DeadLetters(t.Context(), event.DeadLetterQuery{Limit: 1})
	require.NoError(t, err)
	number := strconv.FormatInt(letters[0].ID, 10)
	require.Equal(t, []string{dead.ID}, find(number))
	require.ElementsMatch(t, []string{dead.ID, process(number).ID}, find(number))
	status, refused := read[refusal](t, l, "/find/"+number+"000")
	require.Equal(t, 404, status)
	require.Contains(t, refused.Error.Detail, "no event matches")
	require.Contains(t, refused.Error.Detail, "Temporal didn't respond")
	require.Equal(t, []string{process(number + "000").ID}, find(number+"000"), "a key that is a number")
	for _, form := range []string{"urn:uuid:" + dead.ID, "%7B" + dead.ID + "%7D"} { // other forms of a UUID are no IDs
		status, refused = read[refusal](t, l, "/find/"+form)
		require.Equal(t, 404, status, "%s: %s", form, refused.Error.Detail)
	}
}

func open(t *testing.T, database string) *persistence.Store {
	t.Helper()
	store, err := persistence.Open(t.Context(), persistence.Config{URL: database, MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return store
}

func keyed(key string) (event.Receipt, event.Run) {
	r := event.Receipt{
		ID: uuid.Must(uuid.NewV7()).String(), Provider: "acme", Key: key, KeyFrom: event.KeyFromEvent, Type: "order",
		ReceivedAt: time.Now(), RequestID: uuid.NewString(),
	}
	return r, event.Run{WorkflowID: event.WorkflowID(r.Provider, r.Key), RunID: uuid.NewString()}
}
