package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// A member of a repository is added, removed, and added again, which GitHub reports with equal bodies and three delivery IDs:
//   - there are three events, and the third names the first as a possible duplicate
//   - a redelivery of each is a duplicate
func TestAMemberWhoIsAddedAgainIsAnotherEvent(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve", "GITHUB_WEBHOOK_SECRET="+secret)
	member := uniqueID("m")
	send := func(action, delivery string) answer {
		body := fmt.Sprintf(`{"action":%q,"member":{"login":%q,"id":7},"repository":{"id":186,"full_name":"acme/app"}}`, action, member)
		a, err := n.post("/webhooks/github", []byte(body), "X-Hub-Signature-256", "sha256="+hexMAC(secret, body),
			"X-GitHub-Event", "member", "X-GitHub-Delivery", delivery+"-"+member)
		require.NoError(t, err)
		return a
	}
	var ids []string
	for k, action := range []string{"added", "removed", "added"} {
		a := send(action, fmt.Sprint("delivery-", k))
		require.Equal(t, "accepted", a.state(), string(a.body))
		i.awaitStatus(t, a.Events[0].WorkflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		ids = append(ids, a.Events[0].EventID)
	}
	require.Equal(t, 3, i.count(t, "SELECT count(*) FROM events WHERE provider = 'github' AND status = 'processed'"))
	var original string
	i.query(t, "SELECT possible_duplicate_of::text FROM events WHERE id = $1", []any{ids[2]}, &original)
	require.Equal(t, ids[0], original)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events WHERE possible_duplicate_of IS NOT NULL"))
	for k, action := range []string{"added", "removed", "added"} {
		a := send(action, fmt.Sprint("delivery-", k))
		require.Equal(t, 200, a.status, string(a.body))
		require.True(t, a.Duplicate)
		require.Equal(t, ids[k], a.Events[0].EventID)
	}
}

// A definition holds what may be a repeat:
//   - the second event with equal content is a dead letter of class in_doubt, which does not run again by itself
//   - its replay accepts it
func TestAHeldEventIsAcceptedByItsReplay(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "careful.yaml"), []byte(`name: careful
title: Careful
auth: [{hmac: {signed: "{body}", signature: {header: x-signature, grammar: prefix, prefix: "sha256="}, secrets: CAREFUL_SECRET}}]
type: .body.type
key:
  certainty: guessed
  delivery: '.headers["x-delivery"]'
  unsigned: Nobody signs the delivery ID.
  in_doubt: hold
dedupe: forever
keep: {headers: [x-delivery]}
`), 0o600))
	n := i.start(t, "serve", "HOLDFAST_PROVIDERS_DIR="+dir, "CAREFUL_SECRET="+secret)
	body := fmt.Sprintf(`{"type":"payment.paid","id":%q}`, uniqueID("p"))
	send := func(delivery string) answer {
		a, err := n.post("/webhooks/careful", []byte(body), "X-Signature", "sha256="+hexMAC(secret, body), "X-Delivery", delivery)
		require.NoError(t, err)
		require.Equal(t, "accepted", a.state(), string(a.body))
		return a
	}
	first := send("one")
	i.awaitStatus(t, first.Events[0].WorkflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	second := send("two")
	i.awaitStatus(t, second.Events[0].WorkflowID, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	out, err := i.run(t, "dlq", "list", "--class", "in_doubt", "--json")
	require.NoError(t, err, out)
	var page struct {
		Items []struct {
			ID      int64  `json:"id"`
			EventID string `json:"event_id"`
		} `json:"items"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &page), out)
	require.Len(t, page.Items, 1, out)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events"))
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters WHERE next_redrive_at < now() + interval '10 years'"))

	out, err = i.run(t, "dlq", "replay", fmt.Sprint(page.Items[0].ID), "--wait")
	require.NoError(t, err, out)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events WHERE possible_duplicate_of = $1 AND status = 'processed'",
		first.Events[0].EventID))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'resolved'"))
}
