package moving

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fleet is the WhatsApp fleet. It keeps dead letters alone.
type fleet struct {
	oldSystem

	now time.Time
}

// row inserts a dead letter in a status. What cannot be parsed has the type unknown.
func (f *fleet) row(t *testing.T, status string, ago time.Duration, instance, eventType string, body []byte) {
	t.Helper()
	at := quote(f.now.Add(-ago).Format(time.RFC3339Nano))
	processed := "NULL"
	if status == "processed" || status == "failed" {
		processed = at + "::timestamptz + interval '10 seconds'"
	}
	f.exec(t, fmt.Sprintf(
		"INSERT INTO webhook_dlq (instance_name, event_type, payload, erro, tentativa, status, created_at, processed_at)"+
			" VALUES (%s, %s, %s, 'banco fora', 2, %s, %s, %s)",
		quote(instance), quote(eventType), quote(string(body)), quote(status), at, processed))
}

// A WhatsApp fleet moves in, with dead letters in every status, and its events also go to Holdfast from now on:
//   - what waits or was interrupted is an open dead letter, what was given up an exhausted one, what was rescued an event
//   - of two rows of one event there is one, and none of what came alive
//   - nothing runs and nothing is delivered, until an operator says so after the cut-over
//   - what Evolution sends again is a duplicate, or rescues what had failed, whether its key is in the body or the body is its key
//   - what failed is delivered once, and the file changes nothing any more
func TestTheWhatsAppFleetMovesIn(t *testing.T) {
	t.Parallel()
	old := &fleet{oldSystem: newOldPostgres(t, "messaging"), now: time.Now().UTC()}
	body := func(name string) []byte { return fixture(t, "messaging/"+name) }
	const shop, minute = "loja-teste", time.Minute
	upsert, group, edited, read := body("messages.upsert_no_apikey"), body("messages.upsert_group_lid"), body("messages.edited_1"),
		body("messages.update_3_READ")
	presence, chats, removed := body("presence.update"), body("chats.upsert_array"), body("messages.delete")
	old.row(t, "pending", 50*minute, shop, "messages.upsert", upsert)
	old.row(t, "processing", 49*minute, shop, "messages.edited", edited)
	old.row(t, "failed", 48*minute, shop, "chats.upsert", chats)
	old.row(t, "processed", 47*minute, shop, "messages.update", read)
	old.row(t, "pending", 46*minute, shop, "presence.update", presence)
	// One event twice: its first attempt was rescued, and the row of its second one still waits. Another is of two instances.
	old.row(t, "processed", 45*minute, shop, "messages.upsert", group)
	old.row(t, "pending", 44*minute, shop, "messages.upsert", group)
	other := bytes.ReplaceAll(removed, []byte(shop), []byte("outra"))
	old.row(t, "pending", 43*minute, shop, "messages.delete", removed)
	old.row(t, "failed", 43*minute, "outra", "messages.delete", other)
	// The body does not say what it is; the path did. And what nobody can read.
	nameless := []byte(`{"data":{"state":"close"}}`)
	old.row(t, "pending", 42*minute, shop, "connection-update", nameless)
	old.row(t, "failed", 41*minute, shop, "unknown", []byte(`["x"]`))
	old.exec(t, "INSERT INTO webhook_dlq (instance_name) VALUES ('loja-teste')")

	i := start(t, "EVOLUTION_WEBHOOK_TOKEN=", "EVOLUTION_QUERY_TOKEN=token-of-the-test", "HOLDFAST_REDRIVE_INTERVAL=1s")
	crm := newEndpoint(t)
	i.subscribe(t, crm, "evolution", false)
	send := func(instance string, body []byte) (eventID, status string) {
		return i.post(t, "/webhooks/evolution/"+instance+"?token=token-of-the-test", body)
	}

	// The shadow: the old system fails at the first of these, and keeps nothing of the second.
	code, open := body("qrcode.updated"), body("connection.update")
	send(shop, code)
	alive, _ := send(shop, open)
	i.settle(t)
	old.now = time.Now().UTC()
	old.row(t, "pending", 0, shop, "qrcode.updated", code)

	file := i.write(t, "messaging.ndjson", old.export(t, filepath.Join(root, "docs", "moving", "messaging.sql")))
	require.Equal(t, "event 2 new, 0 there; dead_letter 8 new, 2 there", counted(i.importFile(t, file)))
	require.Equal(t, 4, i.count(t, processedEvents), "with the two that came alive")
	require.Equal(t, 3, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'exhausted' AND attempts = 2"))
	require.Equal(t, 5, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'open' AND error_message = 'banco fora'"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE type = 'connection.update'"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE type = 'unknown'"))

	i.awaitRedriveLooks(t)
	require.Equal(t, 8, i.count(t, openDeadLetters))
	i.requireDelivered(t, crm)
	differences, _ := i.compare(t, file)
	require.Equal(t, []string{
		`dead_letter status messages.upsert status "waits" "processed"`,
		`dead_letter status qrcode.updated status "waits" "processed"`,
		`event extra connection.update`,
	}, differences, "a second row, what failed there alone, and what is stored here alone")

	// The cut-over. Evolution retries for half an hour, with another destination.
	i.subscribe(t, crm, "evolution", true)
	for _, body := range [][]byte{code, open, group, read} {
		send(shop, bytes.ReplaceAll(body, []byte("gw.example.com"), []byte("hooks.example.com")))
	}
	i.settle(t)
	require.Equal(t, 4, i.count(t, allEvents), "they are duplicates")
	i.requireDelivered(t, crm)
	for _, body := range [][]byte{upsert, presence, chats} {
		send(shop, body)
	}
	i.settle(t)
	i.awaitCount(t, 5, openDeadLetters)
	require.Equal(t, 7, i.count(t, allEvents))
	delivered := append(i.eventsOf(t, "message", shop+":3EB0CONSTRUCTED00005", "messages.upsert", ""),
		append(i.eventsOf(t, "contact", shop+":5511900000002@s.whatsapp.net", "presence.update", ""),
			i.eventsOf(t, "chat", shop+":5511900000002@s.whatsapp.net", "chats.upsert", "")...)...)
	require.Len(t, delivered, 3)
	i.requireDelivered(t, crm, delivered...)

	i.redrive(t, "evolution", 1)
	delivered = append(delivered, i.eventsOf(t, "message", shop+":3EB0CONSTRUCTED00001", "messages.edited", "")...)
	delivered = append(delivered, i.eventsOf(t, "message", shop+":3EB0CONSTRUCTED00001", "messages.delete", "")...)
	delivered = append(delivered, i.eventsOf(t, "message", "outra:3EB0CONSTRUCTED00001", "messages.delete", "")...)
	delivered = append(delivered, i.eventsOf(t, "instance", shop, "connection.update", "state")...)
	require.Len(t, delivered, 8, "with the one that came alive")
	delivered = without(delivered, alive)
	i.requireDelivered(t, crm, delivered...)

	before := i.contents(t)
	require.Equal(t, "event 0 new, 2 there; dead_letter 0 new, 10 there", counted(i.importFile(t, file)))
	require.Equal(t, before, i.contents(t))
}

func without(all []string, one string) (rest []string) {
	for _, s := range all {
		if s != one {
			rest = append(rest, s)
		}
	}
	return rest
}
