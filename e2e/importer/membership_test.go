package importer

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// queued is a GoCardless event in the membership system's queue.
type queued struct {
	ID       string            `json:"id"`
	At       string            `json:"created_at"`
	Resource string            `json:"resource_type"`
	Action   string            `json:"action"`
	Links    map[string]string `json:"links"`
	Details  map[string]any    `json:"details"`
	Metadata map[string]any    `json:"metadata"`

	status  string
	retries int
	cutOff  bool
}

// noStatus stands for NULL.
const noStatus = "NULL"

// remark is a text that a MySQL client corrupts unless it prints raw.
const remark = "O'Brien said \"100 €\"\n\tC:\\new \u2603 😀"

func (q *queued) raw() string {
	text, err := json.Marshal(q)
	if err != nil {
		panic(err)
	}
	return strings.Replace(string(text), "}", `,"amount":10.50,"reference":12345678901234567890,"escaped":"\u00e9\/\ud83d\ude00"}`, 1)
}

// club creates the events of twelve payments and two members, in the order in which they happened.
type club struct {
	events []*queued
	at     time.Time
}

func (c *club) add(resource, action string, links ...string) *queued {
	c.at = c.at.Add(time.Minute)
	q := &queued{
		ID: fmt.Sprintf("EV%04d", len(c.events)), At: c.at.Format("2006-01-02T15:04:05.000Z"), Resource: resource, Action: action,
		Links: map[string]string{}, Details: map[string]any{"description": remark}, Metadata: map[string]any{"member": "12"},
		status: "completed",
	}
	for _, link := range links {
		kind, id, _ := strings.Cut(link, "=")
		q.Links[kind] = id
	}
	c.events = append(c.events, q)
	return q
}

// lives are the possible sequences of a payment's events.
var lives = [][]string{
	{"created", "submitted", "confirmed", "paid_out"}, {"created", "submitted", "failed"}, {"created", "cancelled"},
	{"created", "submitted", "confirmed", "charged_back"},
}

// newClub returns the club, and the last event of each payment.
func newClub() (c *club, last []*queued) {
	c = &club{at: time.Now().UTC().Add(-72 * time.Hour)}
	c.add("mandates", "created", "mandate=MD1", "customer=CU1")
	c.add("mandates", "created", "mandate=MD2", "customer=CU2")
	c.add("subscriptions", "created", "subscription=SB1", "mandate=MD1")
	c.add("subscriptions", "created", "subscription=SB2", "mandate=MD2")
	for n := range 12 {
		var q *queued
		for _, action := range lives[n%len(lives)] {
			q = c.add("payments", action, fmt.Sprintf("payment=PM%d", n), "mandate=MD1")
		}
		last = append(last, q)
	}
	c.add("subscriptions", "cancelled", "subscription=SB1")
	c.add("mandates", "active", "mandate=MD1")
	c.add("mandates", "active", "mandate=MD2")
	c.add("payments", "created", "payment=PM99", "mandate=MD2").cutOff = true
	return c, last
}

// insert fills the queue in another order than the events': all of them arrived within some seconds, an hour ago.
func (c *club) insert() string {
	var rows [][]any
	for n, q := range slices.Backward(c.events) {
		payload, err := json.Marshal(map[string]any{"links": q.Links, "details": q.Details, "metadata": q.Metadata})
		if err != nil {
			panic(err)
		}
		raw, failure := q.raw(), any(nil)
		if q.cutOff {
			raw = raw[:len(raw)/2]
		}
		if q.retries > 0 {
			failure = "no member: " + remark
		}
		var status any = q.status
		if q.status == noStatus {
			status = nil
		}
		rows = append(rows, []any{q.ID, q.Resource, q.Action, string(payload), raw, status, q.retries, failure,
			time.Now().Add(-time.Hour - time.Duration(n)*time.Second).In(time.FixedZone("", 19800)).Format("2006-01-02 15:04:05.000")})
	}
	return insert("webhook_queue", "event_id, resource_type, action, payload, raw_payload, status, retry_count, error_message, created_at", rows...)
}

// envelope returns a GoCardless request body.
func envelope(events ...*queued) []byte {
	var all []string
	for _, q := range events {
		all = append(all, q.raw())
	}
	return fmt.Appendf(nil, `{"events":[%s],"meta":{"webhook_id":"WB1"}}`, strings.Join(all, ","))
}

// A membership system is migrated from MySQL, with rows in every status, while GoCardless sends to both:
//   - each event is stored once, with its bytes, and payments and members have the states given by their events' own times
//   - nothing runs and nothing is delivered, until an operator starts it after the cut-over
//   - a redelivery by GoCardless is a duplicate, or rescues a failed event
//   - failed events are delivered once, and the two systems then agree
func TestTheMembershipMovesIn(t *testing.T) {
	t.Parallel()
	old := newOldMariaDB(t, "membership")
	c, last := newClub()
	last[0].status, last[1].status, last[1].retries = "pending", "processing", 1
	last[2].status, last[2].retries = "failed", 3
	last[3].status, last[3].retries = "pending", 2
	last[5].status, last[10].status, last[11].status = "pending", noStatus, ""
	old.exec(t, "SET sql_mode = 'NO_BACKSLASH_ESCAPES';\n"+c.insert()) // not strict: an invalid status is ''

	i := start(t, "GOCARDLESS_WEBHOOK_SECRET="+secret, "HOLDFAST_REPLAY_INTERVAL=1s")
	crm := newEndpoint(t)
	i.subscribe(t, crm, "gocardless", false)
	i.sendSigned(t, "gocardless", envelope(last[4], last[5]))
	i.settle(t)

	file := i.write(t, "membership.ndjson", old.export(t, filepath.Join(root, "docs", "moving", "membership.mysql.sql")))
	before := i.contents(t)
	i.mustRun(t, "import", file, "--dry-run")
	require.Equal(t, before, i.contents(t))
	both := i.sendMeanwhile("gocardless", envelope(last[6]), envelope(last[7]), envelope(last[8]), envelope(last[9]))
	require.Equal(t, 6, int(i.importFile(t, file).Counts["dead_letter"].New))
	require.NoError(t, <-both)
	i.settle(t)
	require.Equal(t, len(c.events)-6, i.count(t, allEvents))
	require.Equal(t, 1, i.count(t, openDeadLetters+" AND state = 'exhausted' AND attempts = 3 AND error_message LIKE 'no member: O''Brien%'"))
	require.Zero(t, i.count(t, "SELECT count(*) FROM events WHERE occurred_at_missing <> (key = $1)", c.events[len(c.events)-1].ID))
	i.requireBody(t, "gocardless", c.events[0].ID, c.events[0].raw())
	i.awaitReplayLooks(t)
	require.Equal(t, 6, i.count(t, openDeadLetters))
	differences, _ := i.compare(t, file)
	require.Equal(t, []string{`dead_letter status payments.failed status "waits" "processed"`}, differences)
	onlyProcessedHere := i.onlyProcessedHere(t, file)
	i.requireDelivered(t, crm)

	i.subscribe(t, crm, "gocardless", true)
	i.sendSigned(t, "gocardless", envelope(c.events[0], last[2], last[4], last[6]))
	i.settle(t)
	i.awaitCount(t, 5, openDeadLetters)
	rescued := i.idOf(t, "gocardless", last[2].ID)
	i.requireDelivered(t, crm, rescued)
	i.send(t, onlyProcessedHere, "all")
	i.mustRun(t, "dlq", "replay", "--provider", "gocardless", "--yes", "--reason", "moving in")
	i.settle(t)
	i.awaitCount(t, 0, openDeadLetters)
	i.requireDelivered(t, crm, rescued, i.idOf(t, "gocardless", last[0].ID), i.idOf(t, "gocardless", last[1].ID),
		i.idOf(t, "gocardless", last[3].ID), i.idOf(t, "gocardless", last[5].ID), i.idOf(t, "gocardless", last[10].ID),
		i.idOf(t, "gocardless", last[11].ID))
	i.requireClub(t, last)
	require.Equal(t, len(c.events), i.count(t, processedEvents))

	old.exec(t, "UPDATE webhook_queue SET status = 'completed', completed_at = NOW() WHERE coalesce(status, '') <> 'completed'")
	file = i.write(t, "membership.ndjson", old.export(t, filepath.Join(root, "docs", "moving", "membership.mysql.sql")))
	differences, isSame := i.compare(t, file)
	require.Empty(t, differences)
	require.True(t, isSame)
	before = i.contents(t)
	require.Equal(t, fmt.Sprintf("event 0 new, %d there", len(c.events)), counted(i.importFile(t, file)))
	require.Equal(t, before, i.contents(t))
}

// requireClub asserts the states of payments and members, whatever the order in which their events came.
func (i *installation) requireClub(t *testing.T, last []*queued) {
	t.Helper()
	for n, q := range last {
		var state struct{ Status string }
		for _, kind := range []string{"payment", "transaction"} {
			require.NoError(t, json.Unmarshal([]byte(i.entity(t, "gocardless", kind, fmt.Sprintf("PM%d", n))), &state))
			require.Equal(t, q.Action, state.Status, "%s PM%d", kind, n)
		}
	}
	require.JSONEq(t, `{"status":"cancelled","customer":"CU1","mandates":{"MD1":{"status":"active"}},"subscriptions":{"SB1":{"status":"cancelled"}}}`,
		i.entity(t, "gocardless", "member", "CU1"))
	require.JSONEq(t, `{"status":"active","customer":"CU2","mandates":{"MD2":{"status":"active"}},"subscriptions":{"SB2":{"status":"created"}}}`,
		i.entity(t, "gocardless", "member", "CU2"))
}

// A member whose events are no longer in the queue is imported, and an event that names only the subscription reaches it.
func TestAMemberWithoutEventsMovesIn(t *testing.T) {
	t.Parallel()
	i := start(t, "GOCARDLESS_WEBHOOK_SECRET="+secret)
	file := i.write(t, "members.ndjson", []byte(`{"record":"entity","provider":"gocardless","kind":"member","id":"CU0000012",`+
		`"names":[["MD0000034"],["SB0000056"]],"version":1,"as_of":"2025-11-20T12:00:00Z","state":{"status":"active","customer":"CU0000012"}}`))
	require.Equal(t, "entity 1 new, 0 there", counted(i.importFile(t, file)))
	c := &club{at: time.Now().UTC().Add(-time.Hour)}
	i.sendSigned(t, "gocardless", envelope(c.add("mandates", "active", "mandate=MD0000034")))
	i.sendSigned(t, "gocardless", envelope(c.add("payments", "confirmed", "payment=PM1", "mandate=MD0000034")))
	i.settle(t)
	status := func() (status string) {
		i.query(t, "SELECT state->>'status' FROM entities WHERE kind = 'member' AND external_id = 'CU0000012'", nil, &status)
		return status
	}
	require.Equal(t, "active", status())
	i.sendSigned(t, "gocardless", envelope(c.add("subscriptions", "cancelled", "subscription=SB0000056")))
	i.settle(t)
	require.Equal(t, "cancelled", status())
}

// idOf returns the ID of the event with a key.
func (i *installation) idOf(t *testing.T, provider, key string) (id string) {
	t.Helper()
	i.query(t, "SELECT id::text FROM events WHERE provider = $1 AND key = $2", []any{provider, key}, &id)
	return id
}
