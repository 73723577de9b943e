package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

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

// A definition holds possible repeats:
//   - the second event with equal content is a dead letter of class in_doubt, which isn't replayed automatically
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
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters WHERE next_replay_at < now() + interval '10 years'"))

	out, err = i.run(t, "dlq", "replay", fmt.Sprint(page.Items[0].ID), "--wait")
	require.NoError(t, err, out)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events WHERE possible_duplicate_of = $1 AND status = 'processed'",
		first.Events[0].EventID))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'resolved'"))
}

// Three equal items in one request are three events, in both lanes:
//   - each is processed, and the second and third name the first
//   - the repeated request adds none
func TestEqualItemsOfOneRequestAreProcessed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, lane := range map[string]string{"lists": "", "hose": "lane: bulk\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(`name: `+name+`
title: Lists
auth: [{hmac: {signed: "{body}", signature: {header: x-signature}, secrets: LISTS_SECRET}}]
batch: {items: .}
type: .body.type
key: {certainty: guessed, in_doubt: accept, retry_span: 1h}
dedupe: forever
`+lane), 0o600))
	}
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve", "LISTS_SECRET="+secret)
	item := fmt.Sprintf(`{"type":"note.written","id":%q}`, uniqueID("n"))
	body := "[" + item + "," + item + "," + item + "]"
	for _, provider := range []string{"lists", "hose"} {
		send := func() answer {
			a, err := n.post("/webhooks/"+provider, []byte(body), "X-Signature", hexMAC(secret, body))
			require.NoError(t, err)
			require.Less(t, a.status, 300, string(a.body))
			return a
		}
		first := send()
		require.Equal(t, 3, first.Counts.Accepted, string(first.body))
		i.awaitCount(t, time.Minute, 3, "SELECT count(*) FROM events WHERE status = 'processed' AND provider = '"+provider+"'")
		require.Equal(t, 2, i.count(t, "SELECT count(*) FROM events WHERE provider = $1 AND possible_duplicate_of IN ("+
			"SELECT id FROM events WHERE provider = $1)", provider), "all but the one that was stored first are marked")
		again := send()
		if provider == "lists" {
			require.Equal(t, 3, again.Counts.Duplicate, string(again.body))
		}
		i.awaitCount(t, time.Minute, 0, bulkInbox)
		require.Equal(t, 3, i.count(t, "SELECT count(*) FROM events WHERE provider = $1", provider))
	}
}

// Viewers never see the token in a body that authenticates its request, whether the body is one event or an envelope of
// several. The stored bytes have it.
func TestNoViewerSeesATokenInTheBody(t *testing.T) {
	t.Parallel()
	const token = "token-in-the-body-0123456789"
	dir := t.TempDir()
	for name, batch := range map[string]string{"single": "", "envelope": "batch: {items: events}\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(`name: `+name+`
title: Tokens
secrets: TOKENS_SECRET
auth: [{token: {in: body, name: token}}]
`+batch+`type: .body.type
key: {certainty: certain, parts: [.body.id]}
dedupe: forever
entities: [{kind: note, id: .body.id, op: snapshot, state: .body}]
`), 0o600))
	}
	o := newOperators(t)
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve", "TOKENS_SECRET="+token, "HOLDFAST_OPERATOR_TOKENS="+o.entries)
	for provider, body := range map[string]string{
		"single":   `{"token":"` + token + `","type":"note.written","id":"1"}`,
		"envelope": `{"token":"` + token + `","events":[{"type":"note.written","id":"1"},{"token":"` + token + `","type":"note.written","id":"2"}]}`,
	} {
		a, err := n.post("/webhooks/"+provider, []byte(body))
		require.NoError(t, err)
		require.Equal(t, 202, a.status, string(a.body))
		for _, e := range a.Events {
			i.awaitStatus(t, e.WorkflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
			for _, path := range []string{
				"/events/" + e.EventID, "/events?provider=" + provider, "/entities/" + provider + "/note/1",
				"/entities?provider=" + provider,
			} {
				shown, err := (api{n.operator, o.tokens["viewer"]}).do("GET", path, "")
				require.NoError(t, err)
				require.Equal(t, 200, shown.status, "%s: %s", path, shown.body)
				require.NotContains(t, string(shown.body), token, path)
				require.NotContains(t, string(shown.body), base64.StdEncoding.EncodeToString([]byte(token))[:20], path)
			}
		}
	}
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM events WHERE position(convert_to($1, 'UTF8') IN raw_body) > 0", token))
}

// What happens to an event whose content arrived before, by its delivery ID and the state of the first event (the table in
// docs/keys-and-entities.md):
//   - with the same delivery ID it is a duplicate of a processed event, and rescues a dead one
//   - without one, the same applies within the retry span
//   - without one and after the span, it is a new event: it names the first, which is unchanged
//   - with another delivery ID it is a new event, and a dead first event stays dead
func TestRepeatsOfAGuessedKey(t *testing.T) {
	t.Parallel()
	const span = 20 * time.Second
	dir := t.TempDir()
	for name, key := range map[string]string{
		"unnamed": "fallback_window: 20s",
		"named":   `delivery: '.headers["x-delivery"]', unsigned: Nobody signs it., retry_span: 1h`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(`name: `+name+`
title: Repeats
auth: [{hmac: {signed: "{body}", signature: {header: x-signature}, secrets: REPEATS_SECRET}}]
type: .body.type
key: {certainty: guessed, in_doubt: accept, `+key+`}
dedupe: forever
keep: {headers: [x-delivery]}
`), 0o600))
	}
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve", "REPEATS_SECRET="+secret)
	send := func(provider, body, delivery string) answer {
		a, err := n.post("/webhooks/"+provider, []byte(body), "X-Signature", hexMAC(secret, body), "X-Delivery", delivery)
		require.NoError(t, err)
		return a
	}
	failures := func(eventID string) (count int) {
		i.query(t, "SELECT failures FROM dead_letters WHERE event_id = $1", []any{eventID}, &count)
		return count
	}
	good, bad := fmt.Sprintf(`{"type":"note.written","id":%q}`, uniqueID("n")), fmt.Sprintf(`{"broken": %q`, uniqueID("n"))
	const completed, failed = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED
	first := map[string]answer{}
	for _, provider := range []string{"unnamed", "named"} {
		processed, dead, at := send(provider, good, "one"), send(provider, bad, "one"), time.Now()
		i.awaitStatus(t, processed.Events[0].WorkflowID, completed)
		i.awaitStatus(t, dead.Events[0].WorkflowID, failed)
		require.Equal(t, 1, failures(dead.Events[0].EventID))

		again, rescue := send(provider, good, "one"), send(provider, bad, "one")
		require.Less(t, time.Since(at), span, "this machine is too slow for the test")
		require.Equal(t, "processed", again.state(), string(again.body))
		require.Equal(t, processed.Events[0].EventID, again.Events[0].EventID)
		require.Equal(t, "accepted", rescue.state(), string(rescue.body))
		require.Equal(t, dead.Events[0].EventID, rescue.Events[0].EventID, "it runs the dead event again")
		i.awaitStatus(t, dead.Events[0].WorkflowID, failed)
		require.Equal(t, 2, failures(dead.Events[0].EventID))
		first[provider+" good"], first[provider+" bad"] = processed, dead
	}
	for _, provider := range []string{"named", "unnamed"} {
		for name, body := range map[string]string{" good": good, " bad": bad} {
			owner := first[provider+name].Events[0].EventID
			var other answer
			eventually(t, 2*span, "it is another event", func() error {
				other = send(provider, body, "two")
				isNew := other.state() == "accepted" || other.state() == "spooled" // a slow Temporal has it from the inbox
				if !isNew || other.Events[0].EventID == owner {
					return fmt.Errorf("it is %s", other.body)
				}
				return nil
			})
			if name == " good" {
				i.awaitStatus(t, other.Events[0].WorkflowID, completed)
				require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events WHERE id = $1 AND possible_duplicate_of = $2",
					other.Events[0].EventID, owner))
				continue
			}
			// The run of the dead event may have failed just now, and have kept this one in the inbox.
			i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM dead_letters WHERE event_id = $1 AND failures = 1", other.Events[0].EventID)
			require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE event_id = $1 AND state IN ('open', 'exhausted')", owner))
		}
	}
}
