package importer

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fleet is the WhatsApp fleet. It stores only dead letters.
type fleet struct {
	oldSystem

	now time.Time
}

// row inserts a dead letter with a status. An unparsable event has the type unknown.
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

// The instances of the fleet.
const shop, other = "loja-teste", "outra"

// fill inserts rows in every status.
func (f *fleet) fill(t *testing.T) {
	t.Helper()
	f.row(t, "pending", 50*minute, shop, "messages.upsert", chat(t, "messages.upsert_no_apikey"))
	f.row(t, "processing", 49*minute, shop, "messages.edited", chat(t, "messages.edited_1"))
	f.row(t, "failed", 48*minute, shop, "chats.upsert", chat(t, "chats.upsert_array"))
	f.row(t, "processed", 47*minute, shop, "messages.update", chat(t, "messages.update_3_READ"))
	f.row(t, "pending", 46*minute, shop, "presence.update", chat(t, "presence.update"))
	// One event twice: its first attempt was rescued, and the row of its second one still waits. Another is of two instances.
	group, removed := chat(t, "messages.upsert_group_lid"), chat(t, "messages.delete")
	f.row(t, "processed", 45*minute, shop, "messages.upsert", group)
	f.row(t, "pending", 44*minute, shop, "messages.upsert", group)
	f.row(t, "pending", 43*minute, shop, "messages.delete", removed)
	f.row(t, "failed", 43*minute, other, "messages.delete", bytes.ReplaceAll(removed, []byte(shop), []byte(other)))
	// The type is in the path, not in the body. The last one is unparsable.
	f.row(t, "pending", 42*minute, shop, "connection-update", []byte(`{"data":{"state":"close"}}`))
	f.row(t, "failed", 41*minute, shop, "unknown", []byte(`["x"]`))
	f.exec(t, "INSERT INTO webhook_dlq (instance_name) VALUES ('loja-teste')")
}

func chat(t *testing.T, name string) []byte { t.Helper(); return fixture(t, "messaging/"+name) }

// A WhatsApp fleet is migrated, with dead letters in every status, while its events also go to Holdfast:
//   - a waiting or interrupted one is an open dead letter, a given up one is exhausted, a rescued one is an event
//   - two rows of one event become one, and events that arrived live aren't imported
//   - nothing runs and nothing is delivered, until an operator starts it after the cut-over
//   - a redelivery by Evolution is a duplicate, or rescues a failed event, whether its key is in the body or the body is its
//     key
//   - failed events are delivered once, and the file then changes nothing
func TestTheWhatsAppFleetMovesIn(t *testing.T) {
	t.Parallel()
	old := &fleet{oldSystem: newOldPostgres(t, "messaging"), now: time.Now().UTC()}
	old.fill(t)
	i := start(t, "EVOLUTION_QUERY_TOKEN=token-of-the-test", "HOLDFAST_REDRIVE_INTERVAL=1s")
	crm := newEndpoint(t)
	i.subscribe(t, crm, "evolution", false)
	// The shadow phase: the old system fails at the first of these, and keeps nothing of the second.
	failed := i.sendChat(t, chat(t, "qrcode.updated"))
	alive := i.sendChat(t, chat(t, "connection.update"))
	i.settle(t)
	old.now = time.Now().UTC()
	old.row(t, "pending", 0, shop, "qrcode.updated", chat(t, "qrcode.updated"))

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
	var rescuedThere string
	i.query(t, "SELECT 'evolution:' || key FROM events WHERE type = 'messages.upsert'", nil, &rescuedThere)
	onlyProcessedHere := without(i.onlyProcessedHere(t, file), rescuedThere)

	i.subscribe(t, crm, "evolution", true)
	delivered := i.redeliversChats(t, crm)
	i.redrive(t, "evolution", 1)
	i.send(t, onlyProcessedHere, "all")
	delivered = append(delivered, failed)
	for _, one := range [][3]string{
		{"message", shop + ":3EB0CONSTRUCTED00001", "messages.edited"}, {"message", shop + ":3EB0CONSTRUCTED00001", "messages.delete"},
		{"message", other + ":3EB0CONSTRUCTED00001", "messages.delete"}, {"instance", shop, "connection.update"},
	} {
		delivered = append(delivered, without(i.eventsOf(t, one[0], one[1], one[2], ""), alive)...)
	}
	require.Len(t, delivered, 8)
	i.requireDelivered(t, crm, delivered...)
	before := i.contents(t)
	require.Equal(t, "event 0 new, 2 there; dead_letter 0 new, 10 there", counted(i.importFile(t, file)))
	require.Equal(t, before, i.contents(t))
}

func (i *installation) sendChat(t *testing.T, body []byte) (eventID string) {
	t.Helper()
	eventID, _ = i.post(t, "/webhooks/evolution/"+shop+"?token=token-of-the-test", body)
	return eventID
}

// redeliversChats redelivers events processed here or there, to another destination, and failed ones. It returns the events
// that this delivers.
func (i *installation) redeliversChats(t *testing.T, crm *endpoint) (delivered []string) {
	t.Helper()
	for _, name := range []string{"qrcode.updated", "connection.update", "messages.upsert_group_lid", "messages.update_3_READ"} {
		i.sendChat(t, bytes.ReplaceAll(chat(t, name), []byte("gw.example.com"), []byte("hooks.example.com")))
	}
	i.settle(t)
	require.Equal(t, 4, i.count(t, allEvents), "they are duplicates")
	i.requireDelivered(t, crm)
	for _, name := range []string{"messages.upsert_no_apikey", "presence.update", "chats.upsert_array"} {
		i.sendChat(t, chat(t, name))
	}
	i.settle(t)
	i.awaitCount(t, 5, openDeadLetters)
	require.Equal(t, 7, i.count(t, allEvents))
	for _, one := range [][3]string{
		{"message", shop + ":3EB0CONSTRUCTED00005", "messages.upsert"},
		{"contact", shop + ":5511900000002@s.whatsapp.net", "presence.update"},
		{"chat", shop + ":5511900000002@s.whatsapp.net", "chats.upsert"},
	} {
		delivered = append(delivered, i.eventsOf(t, one[0], one[1], one[2], "")...)
	}
	require.Len(t, delivered, 3)
	i.requireDelivered(t, crm, delivered...)
	return delivered
}

func without(all []string, one string) (rest []string) {
	for _, s := range all {
		if s != one {
			rest = append(rest, s)
		}
	}
	return rest
}
