package ingress

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/receiving"
)

// The behaviour of the systems that Holdfast replaces, one test per line.

// only returns the only receipt of a provider.
func (d *door) only(t *testing.T, provider string) event.Receipt {
	t.Helper()
	all := d.receipts(provider)
	require.Len(t, all, 1)
	return all[0]
}

// parse reads a started event as a worker would.
func (d *door) parse(t *testing.T, r event.Receipt) event.Parsed {
	t.Helper()
	p, ok := d.catalogue.Lookup(r.Provider)
	require.True(t, ok)
	parsed, err := p.Parse(r, d.bodies[r.WorkflowID()])
	require.NoError(t, err)
	return parsed
}

// entities returns the kinds and IDs of an event's entities.
func entities(p event.Parsed) (all []string) {
	for _, c := range p.Changes {
		all = append(all, c.Kind+" "+c.ExternalID)
	}
	return all
}

// tokened returns a request of a provider that signs nothing, with the token in its query.
func tokened(path, body string) *auth.Request {
	return &auth.Request{
		Method: "POST", Path: path, Query: map[string][]string{"key": {secret}}, Body: []byte(body),
		Header: map[string][]string{"content-type": {"application/json"}},
	}
}

const carUpdate = `{"event":"car_update","payload":"{\"id\"=>7, \"mileage\"=>[10, 20], \"company_id\"=>2, \"note\"=>\"a => nil\"}"}`

func TestRentProg_isReceivedOnBothPaths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/api/rentprog/webhook", "/webhook/rentprog-webhook-create", "/webhooks/rentprog"} {
		d := openDoor(t, "")
		got := d.post(t, tokened(path, carUpdate))
		require.Equal(t, 200, got.status, path)
		require.NotEmpty(t, got.RequestID)
		require.Len(t, got.Events[0].EventHash, 12)
		require.Contains(t, got.raw, `"event_hash":"`+got.Events[0].EventHash+`","events"`)
		require.Contains(t, got.raw, `"syncMs":`)
		require.Len(t, d.receipts("rentprog"), 1, path)
	}
}

func TestRentProg_readsRubyIntoEntities(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	d.post(t, tokened("/api/rentprog/webhook", carUpdate))
	parsed := d.parse(t, d.only(t, "rentprog"))
	require.Equal(t, "car_update", parsed.Type)
	require.ElementsMatch(t, []string{"car 7", "branch 2"}, entities(parsed))
	require.JSONEq(t, `{"action":"update","id":7,"mileage":20,"company_id":2,"note":"a => nil","last_event":
		{"name":"car_update","branch":2,"actor_id":null,"description":"mileage: 10 → 20"}}`, string(parsed.Changes[0].State))

	d = openDoor(t, "")
	d.post(t, tokened("/api/rentprog/webhook",
		`{"event":"booking_create","payload":{"id":1,"car_id":2,"client_id":3,"company_id":4,"user_id":5}}`))
	require.ElementsMatch(t, []string{"booking 1", "car 2", "client 3", "branch 4", "employee 5"},
		entities(d.parse(t, d.only(t, "rentprog"))))
}

func TestRentProg_isDedupedFor15Minutes(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	require.False(t, d.post(t, tokened("/api/rentprog/webhook", carUpdate)).Duplicate)
	again := d.post(t, tokened("/api/rentprog/webhook", carUpdate))
	require.Equal(t, 200, again.status)
	require.True(t, again.Duplicate)
	require.Equal(t, event.Duration(15*time.Minute), d.only(t, "rentprog").DedupeWindow)
}

func TestRentProg_sendsAtMost256KiBAnd30ForEachClient(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	large := tokened("/api/rentprog/webhook", `{"event":"`+strings.Repeat("x", 256<<10)+`"}`)
	require.Equal(t, 413, d.post(t, large).status)
	// 30 a second, and as many at once. Nothing is refused on a machine that needs more than a second for 60.
	var refused atomic.Int64
	start := time.Now()
	var senders sync.WaitGroup
	for range 60 {
		senders.Go(func() {
			got := d.post(t, tokened("/api/rentprog/webhook", carUpdate))
			if got.status == 429 {
				refused.Add(1)
				assert.Equal(t, codeRateLimited, got.Error.Code)
				assert.Equal(t, "1", got.header.Get("Retry-After"))
			}
		})
	}
	senders.Wait()
	require.GreaterOrEqual(t, refused.Load(), 30-int64(30*time.Since(start).Seconds())-1)
}

func TestUmnico_isKeyedByMessage(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	got := d.post(t, tokened("/webhooks/umnico",
		`{"type":"message.incoming","accountId":9,"leadId":8,"message":{"messageId":"m1","datetime":1700000000000,"sa":{"id":3},"sender":{"customerId":4}}}`))
	require.Equal(t, 200, got.status)
	r := d.only(t, "umnico")
	require.Equal(t, "message.incoming:9:m1", r.Key)
	require.Equal(t, event.PriorityHigh, r.Priority)
	require.ElementsMatch(t, []string{"message 9:m1", "lead 9:8", "customer 9:4", "channel 9:3"}, entities(d.parse(t, r)))
}

func evolution(name, data string) string {
	return fmt.Sprintf(`{"event":%q,"instance":"fleet-1","data":%s,"date_time":"2026-01-01T00:00:00.000Z","sender":"1@s.whatsapp.net"}`,
		name, data)
}

func TestEvolution_hasAPathForEachInstanceAndAKeyForEachMessage(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	const upsert = `{"key":{"remoteJid":"2@s.whatsapp.net","fromMe":false,"id":"M1"},"messageTimestamp":1700000000}`
	for _, body := range []string{evolution("messages.upsert", upsert), evolution("messages.delete", `{"remoteJid":"2@s.whatsapp.net","id":"M1"}`)} {
		got := d.deliver(t, "evolution", "/webhooks/evolution/fleet-1", body, true)
		require.Equal(t, "accepted", string(got.Events[0].Status), got.raw)
	}
	require.Len(t, d.receipts("evolution"), 2, "a message and its deletion are two events")
	again := d.deliver(t, "evolution", "/webhooks/evolution/fleet-1", evolution("messages.upsert", upsert), true)
	require.True(t, again.Duplicate)
	for _, r := range d.receipts("evolution") {
		require.Equal(t, event.Duration(24*time.Hour), r.DedupeWindow)
		require.Contains(t, strings.Join(entities(d.parse(t, r)), ","), "instance fleet-1")
	}
}

func TestEvolution_takesDataInEveryForm(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`[{"id":"3@s.whatsapp.net"},{"id":"4@s.whatsapp.net"}]`: "chats.upsert",
		`null`:                                  "logout.instance",
		`{"instance":"fleet-1","state":"open"}`: "connection.update",
	} {
		d := openDoor(t, "")
		require.Equal(t, 202, d.deliver(t, "evolution", "/webhooks/evolution/fleet-1", evolution(want, data), true).status)
		require.Equal(t, want, d.parse(t, d.only(t, "evolution")).Type)
	}
}

// A guessed key lasts for the sender's retry period plus an hour; a certain one as long as on the old platform.
func TestWindowsPrioritiesAndPoliciesMatchThePreviousSystem(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, c := range []struct { // Stripe's window is a day longer than the platform's, since its list of events goes back 30 days
		provider, body    string
		window            time.Duration
		priority          event.Priority
		timeout, firstGap time.Duration
		attempts          int
	}{
		{"retell", `{"event":"call_ended","call":{"call_id":"c","end_timestamp":1700000000000}}`, time.Hour, "high", 2 * time.Minute, time.Minute, 4},
		{"retell", `{"event":"call_analyzed","call":{"call_id":"c"}}`, time.Hour, "normal", 3 * time.Minute, time.Minute, 4},
		{"retell", `{"event":"call_started","call":{"call_id":"c"}}`, time.Hour, "normal", 3 * time.Minute, time.Minute, 4},
		{"retell", inboundCall, 10 * time.Second, "critical", time.Minute, 0, 1},
		{"calcom", `{"triggerEvent":"BOOKING_CREATED","createdAt":"2026-01-01T00:00:00Z","payload":{"uid":"u"}}`, 90 * time.Minute, "high", 2 * time.Minute, 30 * time.Second, 3},
		{"calcom", `{"triggerEvent":"BOOKING_PAID","createdAt":"2026-01-01T00:00:00Z","payload":{"uid":"u"}}`, 90 * time.Minute, "high", 3 * time.Minute, 30 * time.Second, 3},
		{"stripe", `{"id":"evt_1","type":"payment_intent.succeeded","created":1700000000}`, 31 * day, "critical", time.Minute, 10 * time.Second, 3},
		{"stripe", `{"id":"evt_1","type":"customer.updated","created":1700000000}`, 31 * day, "critical", 3 * time.Minute, 10 * time.Second, 3},
	} {
		d := openDoor(t, "")
		d.deliver(t, c.provider, "/webhooks/"+c.provider, c.body, true, "x-correlation-id", "chain-9")
		r := d.only(t, c.provider)
		require.Equal(t, c.window, time.Duration(r.DedupeWindow), c.body)
		require.Equal(t, c.priority, r.Priority, c.body)
		require.Equal(t, "chain-9", r.CorrelationID)
		policy := d.parse(t, r).Policy
		require.Equal(t, c.timeout, time.Duration(policy.Timeout), c.body)
		require.Equal(t, c.attempts, policy.Attempts, c.body)
		if c.attempts > 1 {
			require.Equal(t, c.firstGap, time.Duration(policy.Delays[0]), c.body)
			require.InEpsilon(t, 0.2, policy.Jitter, 1e-9, c.body)
		}
	}
}

func TestRatesMatchThePreviousSystem(t *testing.T) {
	t.Parallel()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	for provider, want := range map[string]int{"retell": 1000, "calcom": 500, "stripe": 2000} {
		p, _ := catalogue.Lookup(provider)
		require.Equal(t, &receiving.Rate{Requests: want, Per: event.Duration(time.Minute)}, p.Rate())
	}
}

func TestGoCardless_splitsBatchesAndAnswers498(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	const events = `{"id":"EV1","created_at":"2026-01-01T00:00:00.000Z","resource_type":"payments","action":"confirmed","links":{"payment":"PM1"}},` +
		`{"id":"EV2","created_at":"2026-01-01T00:00:00.000Z","resource_type":"mandates","action":"created","links":{"mandate":"MD1","customer":"CU1"}}`
	require.Equal(t, 498, d.deliver(t, "gocardless", "/webhook/gocardless", `{"events":[`+events+`]}`, false).status)
	require.Empty(t, d.receipts("gocardless"))

	first := d.deliver(t, "gocardless", "/webhook/gocardless", `{"events":[`+events+`]}`, true)
	require.Equal(t, 200, first.status)
	require.Equal(t, counts{Accepted: 2}, *first.Counts)
	again := d.deliver(t, "gocardless", "/webhook/gocardless",
		`{"events":[`+events+`,{"id":"EV3","resource_type":"refunds","action":"created","links":{"refund":"RF1"}}]}`, true)
	require.Equal(t, counts{Accepted: 1, Duplicate: 2}, *again.Counts)
	require.Len(t, d.receipts("gocardless"), 3, "one workflow for each event")

	for _, r := range d.receipts("gocardless") {
		parsed := d.parse(t, r)
		require.Zero(t, r.DedupeWindow, "for ever")
		require.Equal(t, []event.Duration{
			event.Duration(2 * time.Minute), event.Duration(4 * time.Minute), event.Duration(8 * time.Minute),
		}, parsed.Policy.Delays)
		switch r.Key {
		case "EV1":
			require.Contains(t, entities(parsed), "payment PM1")
			require.Contains(t, entities(parsed), "transaction PM1", "what a confirmed payment books")
		case "EV2":
			require.Contains(t, entities(parsed), "mandate MD1")
			require.Contains(t, entities(parsed), "member CU1", "whom a mandate makes one")
			require.NotContains(t, entities(parsed), "member MD1", "a second one of the same person")
		}
	}
}
