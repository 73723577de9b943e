package importer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// signedEndpoint checks the previous dispatcher's signature, and counts deliveries by the producer's ID.
type signedEndpoint struct {
	*httptest.Server

	mu    sync.Mutex
	taken map[string]int
}

func newSignedEndpoint(t *testing.T, secret string) *signedEndpoint {
	t.Helper()
	e := &signedEndpoint{taken: map[string]int{}}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		var published struct{ ID string }
		_ = json.Unmarshal(body, &published)
		e.mu.Lock()
		defer e.mu.Unlock()
		if r.Header.Get("X-Webhook-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
			w.WriteHeader(http.StatusUnauthorized)
			published.ID = "not signed"
		}
		e.taken[published.ID]++
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *signedEndpoint) all() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.taken)
}

// strange is an ID that a shell would change or split.
const strange = " it's $1:\"a b\"\n\\ "

// outbound is the previous dispatcher.
type outbound struct{ oldSystem }

func (o *outbound) subscribe(t *testing.T, id, url, types, secret string, active bool) {
	t.Helper()
	o.exec(t, fmt.Sprintf("INSERT INTO subscriptions VALUES (%s, %s, %s, %s, 50, now(), %t)",
		quote(id), quote(url), quote(types), quote(secret), active))
}

// event inserts an event; source is an SQL value.
func (o *outbound) event(t *testing.T, id, source, status string, attempts int) {
	t.Helper()
	o.exec(t, fmt.Sprintf(`INSERT INTO events VALUES (%s, 'order.paid', %s, '{"id": "o1", "total": 7}', %s, %d, 5, NULL,
		CASE WHEN %d > 0 AND %s <> 'delivered' THEN 'HTTP 503' END, now() - interval '1 hour', now() - interval '30 minutes',
		CASE WHEN %s = 'delivered' THEN now() END)`, quote(id), source, quote(status), attempts, attempts, quote(status), quote(status)))
}

// exportStopped exports from a permanently stopped dispatcher, as the guide describes.
func (o *outbound) exportStopped(t *testing.T, file string) []byte {
	t.Helper()
	c := exec.Command("psql", "-AtX", "-v", "ON_ERROR_STOP=1", o.url, "-f", file)
	c.Env = append(os.Environ(), "PGOPTIONS=-c holdfast.stopped=on")
	return output(t, c)
}

// request sends a request of a dispatcher's client, which has one base URL and one token.
func (i *installation) request(t *testing.T, method, path, body string, into any) (status int) {
	t.Helper()
	request, err := http.NewRequest(method, i.ingress+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer token-of-the-dispatchers-clients")
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	if into != nil {
		require.NoError(t, json.Unmarshal(text, into), "%s %s: %d %s", method, path, response.StatusCode, text)
	}
	return response.StatusCode
}

func (i *installation) publish(t *testing.T, id, source string) {
	t.Helper()
	body := fmt.Sprintf(`{"id":%q,"type":"order.paid","data":{"id":"o1","total":7}}`, id)
	if source != "" {
		body = fmt.Sprintf(`{"id":%q,"type":"order.paid","source":%q,"data":{"id":"o1","total":7}}`, id, source)
	}
	require.Less(t, i.request(t, "POST", "/events", body, nil), 300)
}

// A dispatcher is migrated, with events in every status, while its publishers also publish to Holdfast:
//   - its delivered events are identified by source and ID: nothing runs automatically, and no endpoint gets anything before
//     the cut-over
//   - events that it may still deliver are left out until it is stopped permanently
//   - an event published again is a duplicate, and not delivered again; a failed one is delivered then
//   - an operator replays failed and waiting events: each is delivered once, with the old signature
//   - events that it didn't deliver while Holdfast had a copy, and events published while neither delivered, are sent by name
//     and time
//   - its clients find events and subscriptions by their own IDs; the same file changes nothing
func TestTheDispatcherMovesIn(t *testing.T) {
	t.Parallel()
	const secret = "a secret of the dispatcher before"
	crm, erp := newSignedEndpoint(t, secret), newSignedEndpoint(t, secret)
	old := &outbound{newOldPostgres(t, "dispatcher")}
	old.subscribe(t, "sub_1", crm.URL, "{order.*}", secret, true)
	old.subscribe(t, "Sub_2", erp.URL, "{order.paid}", secret, false)
	old.subscribe(t, "sub_3", crm.URL, "{user.*}", secret, true)
	old.event(t, "done", "'shop'", "delivered", 2)
	old.event(t, "bare", "NULL", "delivered", 1)
	old.event(t, "empty", "''", "delivered", 1)
	old.event(t, "given", "'shop'", "failed", 5)
	old.event(t, "rescued", "'shop'", "failed", 5)
	old.event(t, "waits", "'shop'", "pending", 0)
	old.event(t, "under way", "'erp'", "processing", 1)
	old.event(t, "again", "'erp'", "retrying", 3)

	i := start(t, "HOLDFAST_DISPATCHER_TOKEN=token-of-the-dispatchers-clients", "HOLDFAST_REPLAY_INTERVAL=1s")
	// The shadow phase: both get these. The dispatcher delivers one, gives up on one, and is still retrying two when the first
	// file is exported.
	for _, id := range []string{"both", "lost", "later", "stays", strange} {
		i.publish(t, id, "shop")
	}
	i.settle(t)
	old.event(t, "both", "'shop'", "delivered", 1)
	old.event(t, "lost", "'shop'", "failed", 5)
	old.event(t, strange, "'shop'", "failed", 5)
	old.event(t, "later", "'shop'", "retrying", 3)
	old.event(t, "stays", "'shop'", "retrying", 3)

	recipe := filepath.Join(root, "docs", "moving", "dispatcher.sql")
	file := i.write(t, "dispatcher.ndjson", old.export(t, recipe))
	before := i.contents(t)
	require.Contains(t, i.mustRun(t, "import", file, "--dry-run"), "nothing is changed")
	require.Equal(t, before, i.contents(t))
	require.Equal(t, "event 3 new, 1 there; dead_letter 2 new, 2 there", counted(i.importFile(t, file)))
	require.Equal(t, 3, i.count(t, "SELECT count(*) FROM subscriptions WHERE NOT active"))
	i.awaitReplayLooks(t)
	require.Equal(t, 2, i.count(t, openDeadLetters))
	require.Equal(t, 8, i.count(t, processedEvents))
	differences, _ := i.compare(t, file)
	givenUp := `dead_letter status order.paid status "waits" "processed"`
	require.Equal(t, []string{givenUp, givenUp}, differences)
	require.Zero(t, i.count(t, "SELECT count(*) FROM delivery_queue"))

	// The cut-over: the dispatcher is stopped. It has delivered one more event, and given up on one. A publisher continues.
	stopped := time.Now().UTC()
	old.exec(t, "UPDATE events SET status = 'delivered' WHERE id = 'under way'")
	old.exec(t, "UPDATE events SET status = 'failed' WHERE id = 'later'")
	i.publish(t, "meanwhile", "shop")
	i.settle(t)
	last := i.write(t, "stopped.ndjson", old.exportStopped(t, recipe))
	require.Equal(t, "event 1 new, 4 there; dead_letter 2 new, 6 there", counted(i.importFile(t, last)))
	onlyProcessedHere := i.onlyProcessedHere(t, last)
	require.Len(t, onlyProcessedHere, 4)
	require.Equal(t, 4, i.count(t, "SELECT count(*) FROM events WHERE id = ANY ($1::uuid[]) AND payload->>'id' = ANY ($2)",
		onlyProcessedHere, []string{"lost", "later", "stays", strange}))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM subscriptions WHERE name = 'sub_1' AND active"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM subscriptions WHERE name = 'sub_2' AND NOT active"))
	for id, source := range map[string]string{"done": "shop", "bare": "", "empty": "", "under way": "erp", "both": "shop", "lost": "shop"} {
		i.publish(t, id, source)
	}
	i.settle(t)
	i.awaitReplayLooks(t)
	require.Equal(t, 10, i.count(t, processedEvents), "they were duplicates")
	require.Zero(t, i.count(t, "SELECT count(*) FROM delivery_queue"))
	require.Empty(t, crm.all())

	i.publish(t, "rescued", "shop")
	i.settle(t)
	i.awaitCount(t, 3, openDeadLetters)
	i.replay(t, "events", 0)
	i.send(t, onlyProcessedHere, "sub_1")
	i.send(t, onlyProcessedHere, "sub_1") // what it has isn't sent again
	i.send(t, onlyProcessedHere, "sub_3") // nor what it doesn't select
	i.mustRun(t, "resend", "start", "sub_1", "--since", stopped.Format(time.RFC3339Nano), "--yes", "--reason", "moving in")
	i.awaitCount(t, 0, "SELECT count(*) FROM delivery_queue")
	require.Equal(t, map[string]int{
		"given": 1, "rescued": 1, "waits": 1, "again": 1, "lost": 1, "later": 1, "stays": 1, "meanwhile": 1, strange: 1,
	}, crm.all())
	require.Empty(t, erp.all())

	after := i.contents(t)
	require.Equal(t, "event 0 new, 5 there; dead_letter 0 new, 8 there", counted(i.importFile(t, last)))
	require.Equal(t, after, i.contents(t))
	differences, _ = i.compare(t, last)
	require.Len(t, differences, 8, "what had failed is processed here")
	for _, difference := range differences {
		require.Equal(t, givenUp, difference)
	}
	i.requireOldIDs(t)
}

// requireOldIDs asserts that its clients can use their old IDs.
func (i *installation) requireOldIDs(t *testing.T) {
	t.Helper()
	var event struct {
		ID       string
		Status   string
		Attempts int
	}
	require.Equal(t, 200, i.request(t, "GET", "/events/done", "", &event))
	require.Equal(t, "done delivered 2", fmt.Sprint(event.ID, " ", event.Status, " ", event.Attempts))
	require.Equal(t, 200, i.request(t, "GET", "/events/under%20way", "", &event))
	require.Equal(t, "under way", event.ID)
	require.Equal(t, 200, i.request(t, "GET", "/events/again", "", &event))
	require.Equal(t, "again delivered", event.ID+" "+event.Status)
	require.Equal(t, "sub_2 true {dispatcher 0}", i.changeOld(t, "Sub_2", `{"active":true}`))
	require.Equal(t, "sub_2 true { 3}", i.changeOld(t, "Sub_2", `{"retry":{"attempts":3}}`))
	require.Equal(t, 1, i.count(t, `SELECT count(*) FROM destinations WHERE name = 'sub_1' AND settings->'retry' @> '{"named":"dispatcher"}'`))
}

// changeOld changes a subscription like its client, and returns its ID, whether it is active, and its retry policy.
func (i *installation) changeOld(t *testing.T, id, body string) string {
	t.Helper()
	var changed struct {
		ID     string
		Active bool
		Retry  struct {
			Named    string
			Attempts int
		}
	}
	require.Equal(t, 200, i.request(t, "PATCH", "/subscriptions/"+id, body, &changed))
	return fmt.Sprint(changed.ID, " ", changed.Active, " ", changed.Retry)
}
