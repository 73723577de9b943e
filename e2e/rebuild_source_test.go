package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
)

// withoutContext is Stripe's definition as it was before it read the account of an organization's events.
const withoutContext = `
name: stripe
extends: stripe
source: .body.account
entities:
  - {kind_from: .body.data.object.object, scope: source, id: .body.data.object.id, op: snapshot, state: .body.data.object}
  - {kind: account, scope: provider, id: .body.account, op: patch}
`

// Two accounts of an organization have a plan of one ID, stored as one entity before context was read:
//   - a dry run counts their events, the common entity that loses them, and those that they move to; it changes nothing
//   - the rebuild moves them, and leaves an entity of the installation's own account and all keys alone
//   - a second one finds nothing
func TestARebuildMovesEntitiesToTheirAccount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "stripe.yaml")
	require.NoError(t, os.WriteFile(file, []byte(withoutContext), 0o600))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve")
	send := func(id, context, plan string, amount int) {
		body := fmt.Appendf(nil, `{"id":%q,"created":%d,"type":"plan.created"%s,"data":{"object":{"id":%q,"object":"plan","amount":%d}}}`,
			id, time.Now().Unix(), context, plan, amount)
		a, err := n.post("/webhooks/stripe", body, "Stripe-Signature", sign(body, secret, time.Now()))
		require.NoError(t, err)
		require.Less(t, a.status, 300, a.body)
	}
	send("evt_1", `,"context":"org_1/acct_1"`, "monthly", 1)
	send("evt_2", `,"context":"org_1/acct_2"`, "monthly", 2)
	send("evt_3", "", "yearly", 3)
	i.awaitCount(t, time.Minute, 3, processedEvents)
	keys := i.count(t, "SELECT count(*) FROM idempotency_keys")
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM entities WHERE kind = 'plan'"))

	require.NoError(t, os.Remove(file))
	n.reload(t, "providers.reloaded")
	dry, err := i.rebuild(t, "--provider", "stripe", "--dry-run")
	require.NoError(t, err)
	require.Equal(t, []int64{3, 2, 0, 5}, []int64{dry.Read, dry.Changed, dry.Unreadable, dry.Entities},
		"the common plan, two plans and two accounts")
	require.Equal(t, fold.EntityDiff{
		EntityRef: event.EntityRef{Provider: "stripe", Kind: "plan", ExternalID: "monthly"},
		Fields: []fold.FieldDiff{
			{Path: "/amount", Old: json.RawMessage("2")}, {Path: "/id", Old: json.RawMessage(`"monthly"`)},
			{Path: "/object", Old: json.RawMessage(`"plan"`)},
		},
	}, dry.Diff[4], "the common plan disappears")
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM entities WHERE kind = 'plan'"), "a dry run changes nothing")

	done, err := i.rebuild(t, "--provider", "stripe", "--yes")
	require.NoError(t, err)
	require.Equal(t, operation.Completed, done.State)
	require.Equal(t, []int64{3, 2, 0, 5}, []int64{done.Read, done.Changed, done.Unreadable, done.Entities})
	require.JSONEq(t, `{"id":"monthly","object":"plan","amount":1}`, i.entity(t, "stripe", "plan", "acct_1:monthly"))
	require.JSONEq(t, `{"id":"monthly","object":"plan","amount":2}`, i.entity(t, "stripe", "plan", "acct_2:monthly"))
	require.JSONEq(t, `{"id":"yearly","object":"plan","amount":3}`, i.entity(t, "stripe", "plan", "yearly"))
	require.Equal(t, keys, i.count(t, "SELECT count(*) FROM idempotency_keys"))
	require.Equal(t, 3, i.count(t, "SELECT count(*) FROM entities WHERE kind = 'plan'"), "the common plan is gone")

	again, err := i.rebuild(t, "--provider", "stripe", "--yes")
	require.NoError(t, err)
	require.Equal(t, []int64{3, 0, 0, 0}, []int64{again.Read, again.Changed, again.Unreadable, again.Entities})
}
