package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/internal/devstack/stacktest"
	"holdfast/persistence"
)

// commandsOfTheAPI has a line for every command that goes through the operator API, with the route that needs the highest role. The
// lines run in their order on fillForCommands.
var commandsOfTheAPI = []struct {
	line, route string
	// fails is true for a line that fails for everyone, and once for one that works the first time only.
	fails, once bool
}{
	{line: "event list", route: "GET /events"},
	{line: "event show stripe:evt_1", route: "GET /events/:id"},
	{line: "event body evt_1", route: "GET /events/:id/body"},
	{line: "event attempts evt_1", route: "GET /events/:id/attempts"},
	{line: "inbox list", route: "GET /inbox"},
	{line: "inbox show stripe:evt_3", route: "GET /inbox/:id"},
	{line: "entity list", route: "GET /entities"},
	{line: "entity show stripe customer cus_1", route: "GET /entities/:provider/:kind/:external_id"},
	{line: "dlq list", route: "GET /dead-letters"},
	{line: "dlq causes", route: "GET /dead-letters/causes"},
	{line: "dlq show 1", route: "GET /dead-letters/:id"},
	{line: "dlq replay --all --dry-run", route: "POST /replays/plan"},
	{line: "dlq discard 1 --reason test", route: "POST /dead-letters/:id/discard", once: true},
	{line: "dlq reopen 1", route: "POST /dead-letters/:id/reopen", once: true},
	{line: "dlq replay 1", route: "POST /dead-letters/:id/replay", once: true},
	{line: "dlq edit 2 --file BODY", route: "POST /dead-letters/:id/edit", once: true},
	{line: "dlq delete 2 --reason test", route: "DELETE /dead-letters/:id", once: true},
	{line: "dlq cleanup --older-than 1d", route: "POST /dead-letters/cleanup"},
	{line: "types stripe", route: "GET /observed-types/:provider"},
	{line: "conflict list", route: "GET /conflicts"},
	{line: "error list", route: "GET /errors"},
	{line: "error show 1", route: "GET /errors/:id"},
	{line: "stats", route: "GET /stats"},
	{line: "report", route: "GET /report"},
	{line: "replay list", route: "GET /replays"},
	{line: "replay show one", route: "GET /replays/:id"},
	{line: "replay pause one", route: "POST /replays/:id/pause", once: true},
	{line: "replay resume one", route: "POST /replays/:id/resume", once: true},
	{line: "replay cancel one", route: "POST /replays/:id/cancel", once: true},
	{line: "replay watch one", route: "GET /replays/:id"},
	{line: "rebuild list", route: "GET /rebuilds"},
	{line: "rebuild show one", route: "GET /rebuilds/:id"},
	{line: "rebuild diff one", route: "GET /rebuilds/:id/diff"},
	{line: "rebuild pause one", route: "POST /rebuilds/:id/pause", once: true},
	{line: "rebuild resume one", route: "POST /rebuilds/:id/resume", once: true},
	{line: "rebuild cancel one", route: "POST /rebuilds/:id/cancel", once: true},
	{line: "rebuild watch one", route: "GET /rebuilds/:id"},
	{line: "entity rebuild --provider stripe --yes --detach", route: "POST /rebuilds", once: true},
	{line: "recover list", route: "GET /recoveries"},
	{line: "recover show one", route: "GET /recoveries/:id"},
	{line: "recover pause one", route: "POST /recoveries/:id/pause", once: true},
	{line: "recover resume one", route: "POST /recoveries/:id/resume", once: true},
	{line: "recover cancel one", route: "POST /recoveries/:id/cancel", once: true},
	{line: "recover watch one", route: "GET /recoveries/:id"},
	{line: "recover stripe --since 1h --yes --detach", route: "POST /recoveries", once: true},
	{line: "resend list", route: "GET /resends"},
	{line: "resend plan crm --since 1h", route: "POST /resends/plan"},
	{line: "resend show one", route: "GET /resends/:id"},
	{line: "resend pause one", route: "POST /resends/:id/pause", once: true},
	{line: "resend resume one", route: "POST /resends/:id/resume", once: true},
	{line: "resend cancel one", route: "POST /resends/:id/cancel", once: true},
	{line: "resend watch one", route: "GET /resends/:id"},
	{line: "resend start answers --since 1h --yes --detach", route: "POST /resends", once: true},
	{line: "import KEYS --dry-run", route: "POST /imports/plan"},
	{line: "import KEYS --yes --detach", route: "POST /imports", once: true},
	{line: "import list", route: "GET /imports", once: true},
	{line: "import show one", route: "GET /imports/:id"},
	{line: "import pause one", route: "POST /imports/:id/pause", once: true},
	{line: "import resume one", route: "POST /imports/:id/resume", once: true},
	{line: "import cancel one", route: "POST /imports/:id/cancel", once: true},
	{line: "import watch one", route: "GET /imports/:id"},
	{line: "compare EVENTS", route: "POST /compare"},
	{line: "compare KEYS", route: "POST /compare", fails: true},
	{line: "subscription list", route: "GET /subscriptions"},
	{line: "subscription show crm", route: "GET /subscriptions/:name"},
	{line: "subscription order crm", route: "GET /subscriptions/:name/order"},
	{line: "subscription create NEW --url http://127.0.0.1:9/hooks", route: "POST /subscriptions"},
	{line: "subscription apply -f SUBSCRIPTIONS", route: "POST /subscriptions/apply", once: true},
	{line: "subscription check crm", route: "POST /subscriptions/:name/check", once: true},
	{line: "subscription test answers", route: "POST /subscriptions/:name/test"},
	{line: "subscription pause crm", route: "POST /subscriptions/:name/pause", once: true},
	{line: "subscription resume crm", route: "POST /subscriptions/:name/resume", once: true},
	{line: "subscription disable crm", route: "POST /subscriptions/:name/disable", once: true},
	{line: "subscription rotate-secret crm", route: "POST /subscriptions/:name/rotate-secret", once: true},
	{line: "subscription delete NEW", route: "DELETE /subscriptions/:name"},
	{line: "destination list", route: "GET /destinations", once: true},
	{line: "destination show crm", route: "GET /destinations/:name", once: true},
	{line: "destination pause crm", route: "POST /destinations/:name/pause", once: true},
	{line: "destination resume crm", route: "POST /destinations/:name/resume", once: true},
	{line: "destination disable crm", route: "POST /destinations/:name/disable", once: true},
	{line: "destination rotate-secret crm", route: "POST /destinations/:name/rotate-secret", once: true},
	{line: "destination delete spare", route: "DELETE /destinations/:name", once: true},
	{line: "delivery list --all", route: "GET /deliveries"},
	{line: "delivery show evt_1 crm", route: "GET /deliveries/:id/:subscription", once: true},
	{line: "delivery skip evt_1 crm", route: "POST /deliveries/:id/:subscription/skip", once: true, fails: true},
	{line: "delivery pause evt_1 crm", route: "POST /deliveries/:id/:subscription/pause", once: true, fails: true},
	{line: "delivery resume evt_1 crm", route: "POST /deliveries/:id/:subscription/resume", once: true, fails: true},
	{line: "delivery cancel evt_1 crm", route: "POST /deliveries/:id/:subscription/cancel", once: true},
	{line: "delivery resend evt_1 crm", route: "POST /deliveries/:id/:subscription/resend", once: true},
	{line: "event-type apply -f TYPES", route: "POST /event-types/apply", once: true},
	{line: "event-type list", route: "GET /event-types"},
	{line: "event-type show order.paid", route: "GET /event-types/:name"},
	{line: "event-type delete order.paid", route: "DELETE /event-types/:name", once: true},
	{line: "audit list", route: "GET /audit"},
	{line: "purge", route: "POST /purge"},
	{line: "purge --expunge evt_1 --dry-run", route: "POST /events/:id/expunge"},
	{line: "reconcile --since 1h --dry-run", route: "POST /reconcile"},
}

// localCommands don't go through the operator API, or can't be compared: each has its reason.
var localCommands = map[string]string{
	"holdfast dev": "a role", "holdfast serve": "a role", "holdfast ingress": "a role", "holdfast worker": "a role",
	"holdfast operator": "a role",
	"holdfast migrate":  "there is no installation yet",
	"holdfast doctor":   "it examines an installation that doesn't start",
	"holdfast config":   "it reads this process's settings", "holdfast version": "it is about this program",
	"holdfast token new": "it makes a secret", "holdfast payload-key new": "it makes a secret",
	"holdfast send":          "it sends what a provider sends",
	"holdfast provider list": "a definition needs no server", "holdfast provider show": "a definition needs no server",
	"holdfast provider check": "a definition needs no server", "holdfast provider explain": "a definition needs no server",
	"holdfast provider connect":  "it waits for an event of a running process: see connect_test.go of its package",
	"holdfast provider new":      "a definition needs no server",
	"holdfast provider refusals": "only the running process knows them: see refusals_test.go of its package",
	"holdfast provider queues":   "it connects to the brokers, which a process with the API needn't reach",
	"holdfast listen":            "it runs until it is stopped, on a running process: see listen_test.go of its package",
	"holdfast mcp":               "it runs until its client ends it, on a running process: see agents_test.go of e2e",
	"holdfast health":            "a probe of a running process",
	"holdfast help":              "it is about this program",
}

// Every command is in the table of those that go through the API, or in the list of local ones.
func TestEveryCommandIsTried(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, test := range commandsOfTheAPI {
		c, _, err := rootCommand().Find(strings.Fields(test.line))
		require.NoError(t, err, test.line)
		require.NotNil(t, c.Flags().Lookup("operator"), test.line)
		tried[c.CommandPath()] = true
	}
	eachCommand(func(c *cobra.Command) {
		if c.RunE == nil && c.Run == nil || c.HasParent() && c.Parent().Name() == "completion" || !c.HasParent() {
			return
		}
		_, isLocal := localCommands[c.CommandPath()]
		if c.HasSubCommands() && c.Flags().Lookup("operator") == nil && !isLocal {
			return // a group, which prints its help
		}
		require.NotEqual(t, isLocal, tried[c.CommandPath()], c.CommandPath())
		delete(tried, c.CommandPath())
	})
	require.Empty(t, tried)
}

// fillForCommands adds a Temporal without workers to an installation, and something for each command: an operation of each kind, an
// event in the inbox, a second dead letter, an error, and an endpoint that answers.
func fillForCommands(t *testing.T) {
	t.Helper()
	temporal, err := stacktest.StartTemporal(stacktest.TemporalOptions{})
	require.NoError(t, err)
	t.Setenv("TEMPORAL_ADDRESS", temporal.Address())
	t.Setenv("TEMPORAL_NAMESPACE", temporal.Namespace())
	t.Setenv("HOLDFAST_DELIVERIES_ALLOWED_NETWORKS", "127.0.0.1")
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(endpoint.Close)
	must(t, "subscription create answers --url "+endpoint.URL)
	ctx, by := t.Context(), oversight.Actor{Name: "ada"}
	store, err := persistence.Open(ctx, persistence.Config{URL: os.Getenv("DATABASE_URL"), MaxConns: 5})
	require.NoError(t, err)
	defer store.Close()
	base := operation.Base{ID: "one", Rate: 5}
	_, err = store.Rebuilds.Create(ctx, operation.Rebuild{Base: base, DryRun: true}, by)
	require.NoError(t, err)
	_, err = store.Resends.Create(ctx, operation.Resend{Base: base, SubscriptionID: 1, Subscription: "crm"}, by)
	require.NoError(t, err)
	_, err = store.Recoveries.Create(ctx, operation.Recovery{Base: base, Provider: "stripe"}, by)
	require.NoError(t, err)
	require.NoError(t, store.Imports.StageImport(ctx, "one", true, []operation.ImportItem{{
		Record: operation.ImportKey, Receipt: receiptOf("stripe", "evt_5"),
	}}))
	_, err = store.Imports.Create(ctx, operation.Import{Base: base, Name: "a file"}, by)
	require.NoError(t, err)
	_, err = store.Inbox.NewInboxWriter().Spool(ctx, event.LaneOverflow, receiptOf("stripe", "evt_3"), []byte("{}"), false)
	require.NoError(t, err)
	failure := event.Failure{Step: event.StepParse, Class: event.ClassRejected, Code: "malformed_json", Attempts: 1, At: time.Now()}
	require.NoError(t, store.DeadLetters.RecordDeadLetter(ctx, event.DeadLetter{
		Receipt: receiptOf("stripe", "evt_4"), Body: []byte("{"), Run: event.Run{WorkflowID: "stripe:evt_4", RunID: uuid.NewString()},
		Failure: failure,
	}))
	require.NoError(t, store.Errors.LogErrors(ctx, []oversight.ErrorEntry{{At: time.Now(), Phase: event.PhaseReceive, Class: event.ClassRejected, Code: "x"}}))
}

// filesOfCommands writes the files that lines name.
func filesOfCommands(t *testing.T) *strings.Replacer {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	return strings.NewReplacer(
		"BODY", write("body.json", "{}"),
		"KEYS", write("keys.csv", "record,provider,key,first_seen,expires_at\nkey,stripe,evt_9,1763620000,2990-01-01T00:00:00Z\n"+
			"key,stripe,evt_8,1763620000,2990-01-01T00:00:00Z\nkey,stripe,evt_7,1763620000,2990-01-01T00:00:00Z\n"),
		"EVENTS", write("events.ndjson", `{"record":"event","provider":"stripe","key":"evt_1","received_at":1763620000,"body":"{}"}`),
		"TYPES", write("event-types.yaml", "event_types:\n  order.paid: {versions: {1: {schema: {type: object}}}}\n"),
		"SUBSCRIPTIONS", write("subscriptions.yaml", "destinations:\n  spare:\n    http: {url: \"http://127.0.0.1:9/hooks\"}\n"),
	)
}
