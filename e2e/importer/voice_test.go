package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// voice is the database of the voice and booking platform. Times are ages in minutes; a body is stored as Laravel encodes it.
type voice struct {
	sql strings.Builder
	now time.Time
}

func (v *voice) at(ago int) any {
	if ago == 0 {
		return nil
	}
	return v.now.Add(-time.Duration(ago) * time.Minute).Format("2006-01-02 15:04:05")
}

// event inserts a row of an event with the ages of its arrival and of its processing, if it was processed.
func (v *voice) event(key, provider, body, status string, came, processed int) {
	v.sql.WriteString(insert("webhook_events", "idempotency_key, provider, payload, status, correlation_id, created_at, processed_at",
		[]any{key, provider, laravel(body), status, "c-" + key, v.at(came), v.at(processed)}))
}

// letter inserts a dead letter with the age of its last retry, if there was one.
func (v *voice) letter(key, provider, body string, failed, retried int, isPermanent bool) {
	v.sql.WriteString(insert("dead_letter_webhooks",
		"idempotency_key, provider, payload, error, retry_count, failed_at, last_retry_at, permanently_failed, created_at",
		[]any{key, provider, laravel(body), "refused: " + remark, 2, v.at(failed), v.at(retried), isPermanent, v.at(failed)}))
}

// laravel encodes a body like PHP's json_encode: no white space, escaped slashes and non-ASCII characters, and an empty object
// becomes an empty list.
func laravel(body string) string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(body)); err != nil {
		panic(err)
	}
	var b strings.Builder
	for _, r := range strings.NewReplacer("/", `\/`, "{}", "[]").Replace(compact.String()) {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

func stripeEvent(id string) string {
	return fmt.Sprintf(`{
  "id": %q, "object": "event", "created": 1763700000, "type": "customer.updated",
  "data": {"object": {"id": "cus_%s", "object": "customer", "name": "Zoë O'Brien", "balance": 1.50, "note": "a\n\"b\"\\c 😀 é/"}}
}`, id, id)
}

func call(name, id string) string {
	return fmt.Sprintf(`{"event": %q, "call": {"call_id": %q, "agent_id": "a1", "metadata": {}, "call_status": "ended", "end_timestamp": 1763700000000,
		"transcript": "Olá\nsay \"hi\" 1/2"}}`, name, id)
}

func booking(trigger, uid string) string {
	return fmt.Sprintf(`{"triggerEvent": %q, "createdAt": "2025-11-21T10:00:00.123Z",
		"payload": {"uid": %q, "bookingId": 7, "title": "Café ☕", "attendees": [{"email": "ada@example.com"}]}}`, trigger, uid)
}

// fill inserts an event in every status. The providers also send the live ones to Holdfast.
func (v *voice) fill() {
	v.event("k1", "stripe", stripeEvent("evt_old"), "processed", 3000, 2999)
	v.event("k2", "cal", booking("BOOKING_CREATED", "b_old"), "completed", 1500, 1499)
	v.event("k3", "retell", call("call_ended", "call_recent"), "processed", 10, 9)
	v.event("k4", "retell", call("call_analyzed", "call_failed"), "failed", 20, 0)
	v.letter("k4", "retell", call("call_analyzed", "call_failed"), 19, 15, false)
	v.event("k5", "stripe", stripeEvent("evt_given_up"), "failed", 4000, 0)
	v.letter("k5", "stripe", stripeEvent("evt_given_up"), 3990, 3900, true)
	v.letter("k6", "calcom", booking("BOOKING_CANCELLED", "b_alone"), 700, 0, false)
	v.event("k7", "stripe", stripeEvent("evt_pending"), "pending", 30, 0)
	v.event("k8", "retell", call("call_started", "call_processing"), "processing", 25, 0)
	v.event("k9", "stripe", stripeEvent("evt_retried"), "processed", 600, 400)
	v.letter("k9", "stripe", stripeEvent("evt_retried"), 590, 410, false)
	v.event("k10", "stripe", stripeEvent("evt_failed_later"), "processed", 600, 590)
	v.letter("k10", "stripe", stripeEvent("evt_failed_later"), 589, 0, false)
	v.letter("k10", "stripe", stripeEvent("evt_failed_later"), 500, 0, false)
	// Its first dead letter failed again after the second one, and after it had been processed. Another's was only retried.
	v.event("k14", "stripe", stripeEvent("evt_failed_last"), "processed", 650, 400)
	v.letter("k14", "stripe", stripeEvent("evt_failed_last"), 640, 300, false)
	v.letter("k14", "stripe", stripeEvent("evt_failed_last"), 500, 0, false)
	v.event("k15", "stripe", stripeEvent("evt_retried_later"), "processed", 600, 400)
	v.letter("k15", "stripe", stripeEvent("evt_retried_later"), 590, 399, false)
	// Two have no record of being processed, and one has its provider and its body only in its dead letter.
	v.event("k11", "stripe", stripeEvent("evt_empty_status"), "", 40, 0)
	v.event("k12", "stripe", stripeEvent("evt_no_status"), "", 41, 0)
	v.sql.WriteString("UPDATE webhook_events SET status = NULL WHERE idempotency_key = 'k12';\n")
	v.event("k13", "", "{}", "failed", 50, 0)
	v.sql.WriteString("UPDATE webhook_events SET provider = NULL, payload = NULL WHERE idempotency_key = 'k13';\n")
	v.letter("k13", "stripe", stripeEvent("evt_only_in_letter"), 50, 0, false)
	v.event("live1", "stripe", stripeEvent("evt_live"), "processed", 2, 1)
	v.event("live2", "retell", call("transcript_updated", "call_live"), "processed", 2, 1)
	v.event("live3", "calcom", booking("BOOKING_CREATED", "b_live"), "pending", 2, 0)
}

// A voice and booking platform is migrated from PostgreSQL or MySQL, with rows in every status, while its providers send to
// both:
//   - each event is stored once, with its stored bytes, though both its row and its dead letter have it
//   - nothing runs and nothing is delivered, until an operator starts it after the cut-over
//   - a redelivery by a provider is a duplicate, or rescues a failed event
//   - failed events are delivered once, and the two systems then agree
func TestTheVoicePlatformMovesIn(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, string) oldSystem{"voice": newOldPostgres, "voice.mysql": newOldMariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moveVoice(t, start(t, "voice"), filepath.Join(root, "docs", "moving", name+".sql"))
		})
	}
}

func moveVoice(t *testing.T, old oldSystem, query string) {
	v := &voice{now: time.Now().UTC()}
	v.fill()
	old.exec(t, v.sql.String())
	i := start(t, "STRIPE_WEBHOOK_SECRET="+secret, "RETELL_API_KEY="+secret, "CALCOM_WEBHOOK_SECRET="+secret, "HOLDFAST_REPLAY_INTERVAL=1s")
	crm := newEndpoint(t)
	i.subscribe(t, crm, "stripe, retell, calcom", false)
	i.sendSigned(t, "stripe", []byte(stripeEvent("evt_live")))
	i.sendSigned(t, "retell", []byte(call("transcript_updated", "call_live")))
	i.sendSigned(t, "calcom", []byte(booking("BOOKING_CREATED", "b_live")))
	i.settle(t)

	file := i.write(t, "voice.ndjson", old.export(t, query))
	before := i.contents(t)
	i.mustRun(t, "import", file, "--dry-run")
	require.Equal(t, before, i.contents(t))
	require.Equal(t, "event 4 new, 2 there; dead_letter 11 new, 1 there", counted(i.importFile(t, file)))
	i.requireBody(t, "stripe", "evt_old", laravel(stripeEvent("evt_old")))
	require.Equal(t, 1, i.count(t, openDeadLetters+" AND state = 'exhausted' AND attempts = 3 AND error_message LIKE 'refused: O''Brien%'"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events WHERE key = 'evt_old' AND correlation_id = 'c-k1' AND"+
		" received_at = $1::timestamptz", fmt.Sprint(v.at(3000), "Z")))
	require.Equal(t, 2, i.count(t, openDeadLetters+" AND error_message LIKE 'retried after it was processed: refused%'"))
	i.awaitReplayLooks(t)
	require.Equal(t, 11, i.count(t, openDeadLetters))
	differences, _ := i.compare(t, file)
	require.Equal(t, []string{`dead_letter status BOOKING_CREATED status "waits" "processed"`}, differences)
	onlyProcessedHere := i.onlyProcessedHere(t, file)
	i.requireDelivered(t, crm)

	i.subscribe(t, crm, "stripe, retell, calcom", true)
	plan := i.mustRun(t, "resend", "plan", "all", "--since", "90d")
	require.Regexp(t, `never queued +3\n`, plan, "those that came alive")
	require.Regexp(t, `imported, processed by the previous system +4\n`, plan)
	for provider, bodies := range map[string][]string{
		"stripe": {stripeEvent("evt_old"), stripeEvent("evt_live"), stripeEvent("evt_retried")},
		"retell": {call("call_ended", "call_recent"), call("transcript_updated", "call_live")}, "calcom": {booking("BOOKING_CREATED", "b_live")},
	} {
		for _, body := range bodies {
			i.sendSigned(t, provider, []byte(body))
		}
	}
	i.settle(t)
	require.Equal(t, 7, i.count(t, allEvents), "they are duplicates")
	i.requireDelivered(t, crm)
	i.sendSigned(t, "retell", []byte(call("call_analyzed", "call_failed")))
	i.settle(t)
	i.awaitCount(t, 10, openDeadLetters)
	rescued := i.eventOf(t, "call", "call_failed")
	i.requireDelivered(t, crm, rescued)

	i.send(t, onlyProcessedHere, "all")
	for _, provider := range []string{"retell", "calcom", "stripe"} {
		i.mustRun(t, "dlq", "replay", "--provider", provider, "--yes", "--reason", "moving in")
	}
	i.settle(t)
	i.awaitCount(t, 0, openDeadLetters)
	i.requireDelivered(t, crm, rescued, i.eventOf(t, "call", "call_processing"), i.eventOf(t, "booking", "b_alone"),
		i.eventOf(t, "booking", "b_live"), i.idOf(t, "stripe", "evt_given_up"), i.idOf(t, "stripe", "evt_pending"),
		i.idOf(t, "stripe", "evt_failed_later"), i.idOf(t, "stripe", "evt_empty_status"), i.idOf(t, "stripe", "evt_no_status"),
		i.idOf(t, "stripe", "evt_only_in_letter"), i.idOf(t, "stripe", "evt_failed_last"), i.idOf(t, "stripe", "evt_retried_later"))
	require.Equal(t, 18, i.count(t, processedEvents))

	old.exec(t, "DELETE FROM dead_letter_webhooks WHERE idempotency_key NOT IN ('k6', 'k13')")
	old.exec(t, "UPDATE webhook_events SET status = 'processed', processed_at = created_at")
	file = i.write(t, "voice.ndjson", old.export(t, query))
	differences, _ = i.compare(t, file)
	require.Equal(t, []string{`dead_letter status BOOKING_CANCELLED status "waits" "processed"`}, differences)
	before = i.contents(t)
	require.Equal(t, "event 0 new, 17 there; dead_letter 0 new, 1 there", counted(i.importFile(t, file)))
	require.Equal(t, before, i.contents(t))
}
