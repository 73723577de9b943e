package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
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

// installed is the database of a command, with an event that was processed but not delivered yet, and one that has failed.
type installed struct{ processed, dead event.Receipt }

func receiptOf(provider, key string) event.Receipt {
	return event.Receipt{
		ID: uuid.Must(uuid.NewV7()).String(), Provider: provider, Key: key, KeyFrom: event.KeyFromEvent, Type: "customer.updated",
		ReceivedAt: time.Now().UTC(), RequestID: "req_" + key, Fingerprint: "sha256:1",
	}
}

func install(t *testing.T) (in installed) {
	t.Helper()
	url := cluster.Database(t)
	t.Setenv("DATABASE_URL", url)
	t.Setenv("HOLDFAST_DEV_DIR", filepath.Join(t.TempDir(), "none"))
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	must(t, "subscription create crm --url http://127.0.0.1:9/hooks")
	ctx := t.Context()
	store, err := persistence.Open(ctx, persistence.Config{URL: url, MaxConns: 5})
	require.NoError(t, err)
	defer store.Close()
	in = installed{receiptOf("stripe", "evt_1"), receiptOf("stripe", "evt_2")}
	run := event.Run{WorkflowID: "stripe:evt_1", RunID: uuid.NewString()}
	parsed := event.Parsed{
		Type: "customer.updated", OccurredAt: in.processed.ReceivedAt, Outcome: event.OutcomeProcessed,
		Changes: []event.Change{{Kind: "customer", ExternalID: "cus_1", Op: event.OpSnapshot, State: json.RawMessage(`{"name":"Ada"}`)}},
	}
	_, err = store.Writer.Write(ctx, event.WholeEvent, in.processed, []byte(`{"id":"evt_1"}`), parsed, run)
	require.NoError(t, err)
	require.NoError(t, store.DeadLetters.RecordDeadLetter(ctx, event.DeadLetter{
		Receipt: in.dead, Body: []byte("{"), Run: event.Run{WorkflowID: "stripe:evt_2", RunID: uuid.NewString()},
		Failure: event.Failure{
			Step: event.StepParse, Class: event.ClassRejected, Code: "bad_state", Attempts: 1, At: time.Now(),
			Message: "bad_state: the state of an entity is not an object: evaluate entities[0].state",
		},
	}))
	require.NoError(t, store.Duplicates.RecordConflict(ctx, *receiptOf("stripe", "evt_1").ConflictWith(in.processed.ID, "sha256:2")))
	_, err = store.Replays.Create(ctx, operation.Replay{Base: operation.Base{ID: "one", Rate: 5}}, oversight.Actor{Name: "ada"})
	require.NoError(t, err)
	return in
}

// must runs a command line that must succeed.
func must(t *testing.T, line string) string {
	t.Helper()
	out, err := run(t, "", strings.Fields(line)...)
	require.NoError(t, err, line)
	return out
}

// A command's JSON equals the operator API's response, if it has a route for it.
func TestJSONMatchesTheAPI(t *testing.T) {
	in := install(t)
	document, err := openapi3.NewLoader().LoadFromFile("../../operator/openapi.json")
	require.NoError(t, err)
	for line, path := range map[string]string{
		"event list":                          "/events",
		"event list --limit 1":                "/events",
		"event show stripe:evt_1":             "/events/{id}",
		"event show " + in.dead.ID:            "/events/{id}",
		"event attempts evt_1":                "/events/{id}/attempts",
		"entity list":                         "/entities",
		"entity show stripe customer cus_1":   "/entities/{provider}/{kind}/{external_id}",
		"dlq list":                            "/dead-letters",
		"dlq causes":                          "/dead-letters/causes",
		"dlq show 1":                          "/dead-letters/{id}",
		"error list":                          "/errors",
		"conflict list":                       "/conflicts",
		"audit list":                          "/audit",
		"replay list":                         "/replays",
		"replay show one":                     "/replays/{id}",
		"rebuild list":                        "/rebuilds",
		"resend list":                         "/resends",
		"delivery list":                       "/deliveries",
		"delivery show evt_1 crm":             "/deliveries/{id}/{subscription}",
		"destination list":                    "/destinations",
		"destination show crm":                "/destinations/{name}",
		"subscription list":                   "/subscriptions",
		"subscription show crm":               "/subscriptions/{name}",
		"destination pause crm":               "/destinations/{name}",
		"subscription resume crm":             "/destinations/{name}",
		"destination rotate-secret crm":       "/destinations/{name}",
		"dlq discard 1 --reason test":         "/dead-letters/{id}/discard",
		"dlq list --state all --event evt_1 ": "/dead-letters",
		"dlq replay --all --dry-run":          "/replays/plan",
		"resend plan crm --since 1h":          "/resends/plan",
		"stats":                               "/stats",
	} {
		var answer any
		require.NoError(t, json.Unmarshal([]byte(must(t, line+" --json")), &answer), line)
		if object, ok := answer.(map[string]any); ok && strings.HasPrefix(line, "entity show") {
			require.NotEmpty(t, object["timeline"], "it has a route of its own")
			delete(object, "timeline")
		}
		operation := document.Paths.Find(path).Get
		if operation == nil {
			operation = document.Paths.Find(path).Post
		}
		schema := operation.Responses.Status(200).Value.Content["application/json"].Schema.Value
		require.NoError(t, schema.VisitJSON(answer), line)
	}
}

func TestAnEventIsFoundByAnyOfItsNames(t *testing.T) {
	in := install(t)
	for _, name := range []string{in.processed.ID, "stripe:evt_1", "evt_1", "req_evt_1"} {
		require.Contains(t, must(t, "event show "+name), in.processed.ID, name)
	}
	for _, name := range []string{in.dead.ID, "stripe:evt_2", "1", "req_evt_2"} {
		require.Contains(t, must(t, "event show "+name), in.dead.ID, name)
		require.Contains(t, must(t, "dlq show "+name), in.dead.ID, name)
		require.Contains(t, must(t, "dlq list --event "+name), "stripe:evt_2", name)
	}
	for _, name := range []string{in.processed.ID, "stripe:evt_1", "evt_1"} {
		require.Contains(t, must(t, "delivery show "+name+" crm"), in.processed.ID, name)
		require.Contains(t, must(t, "delivery list --event "+name), in.processed.ID, name)
		require.Equal(t, "none\n", must(t, "dlq list --state all --event "+name))
	}
	for line, why := range map[string]string{
		"event show nothing":                "no event matches \"nothing\": use its ID",
		"event show " + uuid.NewString():    "It may have been a dropped duplicate",
		"dlq show evt_1":                    "has no dead letter",
		"replay pause none":                 "no replay \"none\": see `holdfast replay list`",
		"replay show none":                  "no replay \"none\"",
		"rebuild pause none":                "no rebuild \"none\"",
		"resend pause none":                 "no resend \"none\"",
		"resend watch none":                 "no resend \"none\"",
		"destination show none":             "there is no destination \"none\"",
		"entity show stripe customer cus_2": "see `holdfast entity list --provider stripe --kind customer`",
		"error show 7":                      "no error 7",
	} {
		_, err := run(t, "", strings.Fields(line)...)
		require.ErrorContains(t, err, why, line)
	}
}

// Each page names the next one, and the last page none.
func TestPagesFollowEachOther(t *testing.T) {
	install(t)
	var first, second struct {
		Items []struct{ ID int64 }
		Next  string
	}
	require.NoError(t, json.Unmarshal([]byte(must(t, "audit list --limit 1 --json")), &first))
	require.Len(t, first.Items, 1)
	require.NotEmpty(t, first.Next)
	require.NoError(t, json.Unmarshal([]byte(must(t, "audit list --limit 500 --json --cursor "+first.Next)), &second))
	require.NotEmpty(t, second.Items)
	require.Less(t, second.Items[0].ID, first.Items[0].ID)
	require.Empty(t, second.Next)
}

// A table fits 80 columns and never cuts what users copy; without a terminal, or with --wide, it has all columns.
func TestTablesFitTheScreen(t *testing.T) {
	in := install(t)
	wide := must(t, "event list")
	require.Contains(t, wide, "stripe:evt_1")
	require.Contains(t, wide, in.processed.ReceivedAt.Format(time.DateOnly))
	t.Setenv("COLUMNS", "80")
	require.Equal(t, wide, must(t, "event list --wide"))
	for _, line := range []string{
		"event list", "dlq list", "dlq causes", "error list", "entity list", "audit list", "conflict list", "replay list",
		"delivery list", "destination list", "subscription list", "provider list", "event show evt_1", "inbox list",
	} {
		for shown := range strings.Lines(must(t, line)) {
			require.LessOrEqual(t, len([]rune(strings.TrimRight(shown, "\n"))), 80, "%s: %s", line, shown)
		}
	}
	require.Regexp(t, `(?m)^`+in.processed.ID+` +processed +stripe +customer.updated +\d+s$`, must(t, "event list"))
}

// If replaying can't fix a dead letter, `dlq show` says what can.
func TestADeadLetterNamesTheNextStep(t *testing.T) {
	install(t)
	out := must(t, "dlq show 1")
	require.Regexp(t, `(?m)^rule +entities\[0\]\.state$`, out)
	require.Contains(t, out, "A replay alone would fail again")
	require.Contains(t, out, "holdfast dlq edit 1 --file FILE")
	require.Contains(t, out, "holdfast dlq discard 1 --reason WHY")
	require.Contains(t, must(t, "dlq causes"), "entities[0].state")
	must(t, "dlq discard 1 --reason test")
	require.Contains(t, must(t, "dlq show 1"), "holdfast dlq reopen 1")
	require.Contains(t, must(t, "event show stripe:evt_2"), "(discarded)")
}

// A file without an importable line asks for no confirmation.
func TestThereIsNothingToImport(t *testing.T) {
	install(t)
	const expired = `{"record":"key","provider":"stripe","key":"evt_9",` +
		`"first_seen":"2019-12-01T00:00:00Z","expires_at":"2020-01-01T00:00:00Z"}`
	for text, said := range map[string]string{"": "nothing to import\n", expired: "nothing to import: 1 keys have expired\n"} {
		file := filepath.Join(t.TempDir(), "old.ndjson")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.Equal(t, said, must(t, "import "+file))
		var found struct{ Lines, Expired int64 }
		require.NoError(t, json.Unmarshal([]byte(must(t, "import --json "+file)), &found))
		require.EqualValues(t, strings.Count(said, "expired"), found.Expired)
	}
}

// If a server doesn't answer, the command says so and what to do: start it on a developer's machine, or else check the setting
// that names the address.
func TestWhereNothingAnswers(t *testing.T) {
	t.Setenv("HOLDFAST_DEV_DIR", t.TempDir())
	stack := "DATABASE_URL=postgres://nobody@127.0.0.1:1/none\nTEMPORAL_ADDRESS=127.0.0.1:1\nHOLDFAST_OPERATOR_ADDR=127.0.0.1:2\n"
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("HOLDFAST_DEV_DIR"), "env"), []byte(stack), 0o600))
	const flagged = " --url http://127.0.0.1:1 --secret "
	for line, want := range map[string]struct{ where, by string }{
		"event list":                           {"127.0.0.1:1", "DATABASE_URL"},
		"provider refusals":                    {"http://127.0.0.1:2", "HOLDFAST_OPERATOR_ADDR"},
		"health --operator http://127.0.0.1:1": {"http://127.0.0.1:1", "--operator"},
		"send rentprog car_update" + flagged + "s3cret-token": {"http://127.0.0.1:1", "--url"},
		"send stripe" + flagged + "whsec_" + "c2VjcmV0LTE=":   {"http://127.0.0.1:1", "--url"},
	} {
		t.Run(line, func(t *testing.T) {
			said := "The address comes from " + want.by
			beside := said
			if !strings.HasPrefix(want.by, "--") {
				beside = "`make run` starts it on this machine"
			}
			_, err := run(t, "", strings.Fields(line)...)
			require.ErrorContains(t, err, want.where)
			require.ErrorContains(t, err, "is it running? "+beside)
			require.NotContains(t, err.Error(), "s3cret-token")
			for variable := range strings.FieldsSeq(stack) {
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
			}
			_, err = run(t, "", strings.Fields(line)...)
			require.ErrorContains(t, err, want.where)
			require.ErrorContains(t, err, "is it running? "+said)
		})
	}
}

// Next to a dev stack `config` shows what the other commands use; environment variables take precedence.
func TestConfigShowsTheDevStack(t *testing.T) {
	t.Setenv("HOLDFAST_DEV_DIR", t.TempDir())
	t.Setenv("HOLDFAST_OPERATOR_ADDR", "127.0.0.1:3")
	stack := "TEMPORAL_ADDRESS=127.0.0.1:1\nHOLDFAST_OPERATOR_ADDR=127.0.0.1:2\n"
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("HOLDFAST_DEV_DIR"), "env"), []byte(stack), 0o600))
	out, err := run(t, "", "config")
	require.NoError(t, err)
	require.Contains(t, out, "TEMPORAL_ADDRESS=127.0.0.1:1\n")
	require.Contains(t, out, "HOLDFAST_OPERATOR_ADDR=127.0.0.1:3\n")
}

// Without any setting that names a database, the error tells developers, but not operators, about the dev stack.
func TestWithoutADatabase(t *testing.T) {
	t.Setenv("HOLDFAST_DEV_DIR", t.TempDir())
	const beside = "`make run` sets it for commands on the same machine"
	_, err := run(t, "", "event", "list")
	require.ErrorContains(t, err, beside)
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	_, err = run(t, "", "event", "list")
	require.ErrorContains(t, err, "DATABASE_URL")
	require.NotContains(t, err.Error(), beside)
}
