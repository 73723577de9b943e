package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// commandsOfTheAPI has a line for every command that goes through the operator API, with the route that needs the highest role. There
// is no Temporal. Some lines name nothing that exists: they fail, and the role is checked before.
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
	{line: "inbox show 01a2120a-3e32-7dfe-8bbc-a4d8f2ee658a", route: "GET /inbox/:id", fails: true},
	{line: "entity list", route: "GET /entities"},
	{line: "entity show stripe customer cus_1", route: "GET /entities/:provider/:kind/:external_id"},
	{line: "entity rebuild --provider stripe --yes --detach", route: "POST /rebuilds", once: true},
	{line: "dlq list", route: "GET /dead-letters"},
	{line: "dlq causes", route: "GET /dead-letters/causes"},
	{line: "dlq show 1", route: "GET /dead-letters/:id"},
	{line: "dlq replay --all --dry-run", route: "POST /replays/plan"},
	{line: "dlq edit 99 --file BODY", route: "POST /dead-letters/:id/edit", fails: true},
	{line: "dlq discard 1 --reason test", route: "POST /dead-letters/:id/discard", once: true},
	{line: "dlq reopen 1", route: "POST /dead-letters/:id/reopen", once: true},
	{line: "dlq delete 99 --reason test", route: "DELETE /dead-letters/:id", fails: true},
	{line: "dlq cleanup --older-than 1d", route: "POST /dead-letters/cleanup"},
	{line: "conflict list", route: "GET /conflicts"},
	{line: "error list", route: "GET /errors"},
	{line: "error show 99", route: "GET /errors/:id", fails: true},
	{line: "stats", route: "GET /stats"},
	{line: "report", route: "GET /report"},
	{line: "replay list", route: "GET /replays"},
	{line: "replay show one", route: "GET /replays/:id"},
	{line: "replay watch none", route: "GET /replays/:id", fails: true},
	{line: "replay pause none", route: "POST /replays/:id/pause", fails: true},
	{line: "replay resume none", route: "POST /replays/:id/resume", fails: true},
	{line: "replay cancel none", route: "POST /replays/:id/cancel", fails: true},
	{line: "rebuild list", route: "GET /rebuilds"},
	{line: "rebuild show none", route: "GET /rebuilds/:id", fails: true},
	{line: "rebuild diff none", route: "GET /rebuilds/:id/diff", fails: true},
	{line: "rebuild watch none", route: "GET /rebuilds/:id", fails: true},
	{line: "rebuild pause none", route: "POST /rebuilds/:id/pause", fails: true},
	{line: "rebuild resume none", route: "POST /rebuilds/:id/resume", fails: true},
	{line: "rebuild cancel none", route: "POST /rebuilds/:id/cancel", fails: true},
	{line: "recover none --since 1h --yes", route: "POST /recoveries", fails: true},
	{line: "recover list", route: "GET /recoveries"},
	{line: "recover show none", route: "GET /recoveries/:id", fails: true},
	{line: "recover watch none", route: "GET /recoveries/:id", fails: true},
	{line: "recover pause none", route: "POST /recoveries/:id/pause", fails: true},
	{line: "recover resume none", route: "POST /recoveries/:id/resume", fails: true},
	{line: "recover cancel none", route: "POST /recoveries/:id/cancel", fails: true},
	{line: "resend list", route: "GET /resends"},
	{line: "resend plan crm --since 1h", route: "POST /resends/plan"},
	{line: "resend start crm --since 1h --rate 5000/s --yes", route: "POST /resends/plan"},
	{line: "resend show none", route: "GET /resends/:id", fails: true},
	{line: "resend watch none", route: "GET /resends/:id", fails: true},
	{line: "resend pause none", route: "POST /resends/:id/pause", fails: true},
	{line: "resend resume none", route: "POST /resends/:id/resume", fails: true},
	{line: "resend cancel none", route: "POST /resends/:id/cancel", fails: true},
	{line: "import KEYS --dry-run", route: "POST /imports/plan"},
	{line: "import KEYS --yes --detach", route: "POST /imports", once: true},
	{line: "import list", route: "GET /imports", once: true},
	{line: "import show none", route: "GET /imports/:id", fails: true},
	{line: "import watch none", route: "GET /imports/:id", fails: true},
	{line: "import pause none", route: "POST /imports/:id/pause", fails: true},
	{line: "import resume none", route: "POST /imports/:id/resume", fails: true},
	{line: "import cancel none", route: "POST /imports/:id/cancel", fails: true},
	{line: "compare EVENTS", route: "POST /compare"},
	{line: "compare KEYS", route: "POST /compare", fails: true},
	{line: "subscription list", route: "GET /subscriptions"},
	{line: "subscription show crm", route: "GET /subscriptions/:name"},
	{line: "subscription create NEW --url http://127.0.0.1:9/hooks", route: "POST /subscriptions"},
	{line: "subscription apply -f SUBSCRIPTIONS", route: "POST /subscriptions/apply", once: true},
	{line: "subscription check crm", route: "POST /subscriptions/:name/check", once: true},
	{line: "subscription test crm", route: "POST /subscriptions/:name/test", fails: true},
	{line: "subscription pause crm", route: "POST /subscriptions/:name/pause", once: true},
	{line: "subscription resume crm", route: "POST /subscriptions/:name/resume", once: true},
	{line: "subscription disable crm", route: "POST /subscriptions/:name/disable", once: true},
	{line: "subscription rotate-secret crm", route: "POST /subscriptions/:name/rotate-secret", once: true},
	{line: "subscription delete none", route: "DELETE /subscriptions/:name", fails: true},
	{line: "destination list", route: "GET /destinations", once: true},
	{line: "destination show crm", route: "GET /destinations/:name", once: true},
	{line: "destination pause crm", route: "POST /destinations/:name/pause", once: true},
	{line: "destination resume crm", route: "POST /destinations/:name/resume", once: true},
	{line: "destination disable crm", route: "POST /destinations/:name/disable", once: true},
	{line: "destination rotate-secret crm", route: "POST /destinations/:name/rotate-secret", once: true},
	{line: "destination delete none", route: "DELETE /destinations/:name", fails: true},
	{line: "delivery list --all", route: "GET /deliveries"},
	{line: "delivery show evt_1 crm", route: "GET /deliveries/:id/:subscription", once: true},
	{line: "delivery resend evt_1 none", route: "POST /deliveries/:id/:subscription/resend", fails: true},
	{line: "delivery cancel evt_1 none", route: "POST /deliveries/:id/:subscription/cancel", fails: true},
	{line: "audit list", route: "GET /audit"},
	{line: "purge", route: "POST /purge"},
	{line: "purge --expunge evt_1 --dry-run", route: "POST /events/:id/expunge"},
	{line: "reconcile --since 1h --dry-run", route: "POST /reconcile", fails: true},
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
	"holdfast provider new":      "a definition needs no server",
	"holdfast provider refusals": "only the running process knows them: see refusals_test.go of its package",
	"holdfast listen":            "it runs until it is stopped, on a running process: see listen_test.go of its package",
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
		"SUBSCRIPTIONS", write("subscriptions.yaml", "destinations:\n  crm:\n    http: {url: \"http://127.0.0.1:9/hooks\"}\n"),
	)
}
