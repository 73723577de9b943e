package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func hexHMAC(content string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(content))
	return hex.EncodeToString(mac.Sum(nil))
}

// deliver sends a body and asserts that it is accepted with the status.
func (n *node) deliver(t *testing.T, status int, path, body string, headers ...string) answer {
	t.Helper()
	a, err := n.post(path, []byte(body), headers...)
	require.NoError(t, err)
	require.Equal(t, status, a.status, string(a.body))
	return a
}

// entity returns the state of an entity once it exists.
func (i *installation) entity(t *testing.T, provider, kind, id string) (state string) {
	t.Helper()
	eventually(t, 30*time.Second, fmt.Sprintf("%s has the %s %s", provider, kind, id), func() error {
		return i.tryQuery(`SELECT state::text FROM entities WHERE (provider, kind, external_id) = ($1, $2, $3)`,
			[]any{provider, kind, id}, &state)
	})
	return state
}

// The senders of the systems that Holdfast replaces, end to end:
//   - RentProg on both of its paths, Umnico, an instance of Evolution
//   - a batch of GoCardless, part of which is redelivered
func TestTheReplacedSystemsAreServed(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "RENTPROG_WEBHOOK_TOKEN="+secret, "UMNICO_WEBHOOK_TOKEN="+secret, "EVOLUTION_WEBHOOK_TOKEN="+secret,
		"GOCARDLESS_WEBHOOK_SECRET="+secret)
	n := i.start(t, "serve")

	a := n.deliver(t, 200, "/api/rentprog/webhook?key="+secret,
		`{"event":"car_update","payload":"{\"id\"=>7, \"mileage\"=>[10, 20], \"company_id\"=>2}"}`)
	require.NotEmpty(t, a.RequestID)
	require.Len(t, a.Events[0].EventHash, 12)
	require.JSONEq(t, `{"action":"update","id":7,"mileage":20,"company_id":2,"last_event":
		{"name":"car_update","branch":2,"description":"mileage: 10 → 20"}}`, i.entity(t, "rentprog", "car", "7"))
	n.deliver(t, 200, "/webhook/rentprog-webhook-create?key="+secret, `{"event":"booking_create","payload":{"id":1,"car_id":7}}`)
	i.entity(t, "rentprog", "booking", "1")
	i.entity(t, "rentprog", "branch", "2")

	n.deliver(t, 200, "/webhooks/umnico/"+secret, `{"type":"message.incoming","accountId":9,"leadId":8,"message":{"messageId":"m1"}}`)
	i.entity(t, "umnico", "message", "9:m1")

	n.deliver(t, 202, "/webhooks/evolution/fleet-1", `{"event":"connection.update","instance":"fleet-1","data":{"state":"open"}}`,
		"X-Webhook-Token", secret)
	require.JSONEq(t, `{"state":"open"}`, i.entity(t, "evolution", "instance", "fleet-1"))

	const first = `{"id":"EV1","resource_type":"payments","action":"confirmed","links":{"payment":"PM1"}}`
	const second = `{"id":"EV2","resource_type":"mandates","action":"created","links":{"mandate":"MD1"}}`
	batch := `{"events":[` + first + `]}`
	n.deliver(t, 200, "/webhook/gocardless", batch, "Webhook-Signature", hexHMAC(batch))
	batch = `{"events":[` + first + `,` + second + `]}`
	a = n.deliver(t, 200, "/webhook/gocardless", batch, "Webhook-Signature", hexHMAC(batch))
	require.Equal(t, 1, a.Counts.Accepted)
	require.Equal(t, 1, a.Counts.Duplicate)
	n.deliver(t, 498, "/webhook/gocardless", batch, "Webhook-Signature", hexHMAC("another"))
	i.entity(t, "gocardless", "transaction", "PM1")
	i.entity(t, "gocardless", "member", "MD1")

	batch = `{"events":[{"id":"EV3","resource_type":"subscriptions","action":"cancelled","links":{"subscription":"SB1"},
		"created_at":"2026-05-04T10:00:01Z"},{"id":"EV4","resource_type":"subscriptions","action":"created",
		"links":{"subscription":"SB1","mandate":"MD1"},"created_at":"2026-05-04T10:00:00Z"}]}`
	n.deliver(t, 200, "/webhook/gocardless", batch, "Webhook-Signature", hexHMAC(batch))
	for _, shop := range []string{"shop-a", "shop-b"} {
		n.deliver(t, 202, "/webhooks/evolution/"+shop, `{"event":"messages.upsert","data":{"key":{"id":"M1"},"pushName":"`+shop+`"}}`,
			"X-Webhook-Token", secret)
	}
	n.deliver(t, 202, "/webhooks/evolution/shop-b", `{"event":"messages.delete","data":{"id":"M1"}}`, "X-Webhook-Token", secret)
	i.awaitCount(t, 30*time.Second, 11, processedEvents)
	require.JSONEq(t, `{"push_name":"shop-a"}`, i.entity(t, "evolution", "message", "shop-a:M1"))
	member, err := i.run(t, "entity", "show", "gocardless", "member", "MD1")
	require.NoError(t, err)
	require.Regexp(t, `(?s)member MD1, also SB1\n.*subscription SB1\n.*"status": "cancelled"`, member)
	require.Zero(t, i.count(t, "SELECT count(*) FROM entities WHERE deleted AND external_id = 'shop-a:M1'"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM entities WHERE deleted AND external_id = 'shop-b:M1'"))
}

// The paths of the replaced systems, if a folder of definitions has them:
//   - the instance of Evolution is in the path
//   - a provider of the voice platform has its name in it
func TestTheOldPathsAreServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "EVOLUTION_WEBHOOK_TOKEN="+secret, "CALCOM_WEBHOOK_SECRET="+secret)
	for _, name := range []string{"evolution", "calcom"} {
		_, err := i.run(t, "provider", "new", name, "--old-paths", "--dir", dir)
		require.NoError(t, err)
	}
	n := i.start(t, "serve")
	n.deliver(t, 202, "/webhook/fleet-1", `{"event":"connection.update","data":{"state":"open"}}`, "X-Webhook-Token", secret)
	const booking = `{"triggerEvent":"BOOKING_CREATED","createdAt":"2026-05-04T10:00:00Z","payload":{"uid":"u1"}}`
	n.deliver(t, 202, "/api/webhook/calcom", booking, "X-Cal-Signature-256", hexHMAC(booking))
	i.awaitCount(t, 30*time.Second, 2, processedEvents)
	require.JSONEq(t, `{"state":"open"}`, i.entity(t, "evolution", "instance", "fleet-1"))
}

// Retell asks what to do with a call, and its question is an event:
//   - the answer is the handler's, or the definition's if the handler is broken
//   - both calls are processed like any other event
func TestAQuestionIsAnsweredAndProcessed(t *testing.T) {
	t.Parallel()
	handler := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Holdfast-Event-Id") == "" || len(body) > 150 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, `{"call_inbound":{"dynamic_variables":{"name":"Ada"}}}`)
	}))
	t.Cleanup(handler.Close)
	i := newInstallation(t, "RETELL_API_KEY="+secret, "RETELL_INBOUND_URL="+handler.URL)
	n := i.start(t, "serve", "HOLDFAST_INGRESS_ALLOW_PRIVATE_HANDLERS=true")
	ask := func(n *node, more string) string {
		now := time.Now()
		body := fmt.Sprintf(`{"event":"call_inbound","event_timestamp":%d,"call_inbound":{"from_number":"+1","to_number":"+2"%s}}`,
			now.UnixNano(), more)
		ms := fmt.Sprint(now.UnixMilli())
		return string(n.deliver(t, 200, "/webhooks/retell", body, "X-Retell-Signature", "v="+ms+",d="+hexHMAC(body+ms)).body)
	}
	require.JSONEq(t, `{"call_inbound":{"dynamic_variables":{"name":"Ada"}}}`, ask(n, ""))
	require.JSONEq(t, `{"call_inbound":{}}`, ask(n, `,"agent_id":"an_agent_whose_name_is_so_long_that_the_handler_breaks_over_it"`))
	guarded := i.start(t, "ingress")
	require.JSONEq(t, `{"call_inbound":{}}`, ask(guarded, ""), "a handler on loopback is not reached unless that is allowed")
	i.awaitCount(t, 30*time.Second, 3, processedEvents)
	require.Contains(t, n.metrics(t), `holdfast_questions_answered_total{by="handler",provider="retell"} 1`)
	require.Contains(t, guarded.log.String(), "the address isn't public")
	require.NotContains(t, guarded.log.String(), handler.URL)
}
