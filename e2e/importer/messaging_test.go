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
	// One event twice: the job marked its first row processed although it failed again, which made the second row. Another is of two
	// instances.
	group, removed := chat(t, "messages.upsert_group_lid"), chat(t, "messages.delete")
	f.row(t, "processed", 45*minute, shop, "messages.upsert", group)
	f.row(t, "pending", 44*minute, shop, "messages.upsert", group)
	f.fillAgain(t)
	f.row(t, "pending", 43*minute, shop, "messages.delete", removed)
	f.row(t, "failed", 43*minute, other, "messages.delete", bytes.ReplaceAll(removed, []byte(shop), []byte(other)))
	// The type is in the path, not in the body. The last one is unparsable.
	f.row(t, "pending", 42*minute, shop, "connection-update", []byte(`{"data":{"state":"close"}}`))
	f.row(t, "failed", 41*minute, shop, "unknown", []byte(`["x"]`))
	f.exec(t, "INSERT INTO webhook_dlq (instance_name) VALUES ('loja-teste')")
}

// fillAgain inserts more events with several rows each: the newest row of an event counts.
func (f *fleet) fillAgain(t *testing.T) {
	t.Helper()
	// The job tried it again hours later: the row that it marked, and the row of the failure.
	f.row(t, "processed", 5*hour, shop, "messages.upsert", chatOf(t, "HOURS"))
	f.exec(t, "UPDATE webhook_dlq SET processed_at = created_at + interval '200 minutes' WHERE payload::text LIKE '%HOURS%'")
	f.row(t, "failed", 100*minute, shop, "messages.upsert", chatOf(t, "HOURS"))
	// Sent again after a reconnect, with another time of sending.
	f.row(t, "processed", 40*minute, shop, "messages.upsert", chatOf(t, "RECONNECT"))
	f.row(t, "pending", 35*minute, shop, "messages.upsert", bytes.Replace(chatOf(t, "RECONNECT"), []byte("07:00:00"), []byte("07:05:00"), 1))
	// It failed twice, and succeeded then.
	f.row(t, "pending", 39*minute, shop, "messages.upsert", chatOf(t, "RESCUED"))
	f.row(t, "processed", 38*minute, shop, "messages.upsert", chatOf(t, "RESCUED"))
}

// chatOf returns a message with an ID.
func chatOf(t *testing.T, id string) []byte {
	t.Helper()
	return bytes.ReplaceAll(chat(t, "messages.upsert_no_apikey"), []byte("3EB0CONSTRUCTED00005"), []byte(id))
}

func chat(t *testing.T, name string) []byte { t.Helper(); return fixture(t, "messaging/"+name) }

// A WhatsApp fleet is migrated, with dead letters in every status, while its events also go to Holdfast:
//   - a waiting or interrupted one is an open dead letter, a given up one is exhausted, a rescued one is an event
//   - of several rows of one event the newest counts, and events that arrived live aren't imported
//   - nothing runs and nothing is delivered, until an operator starts it after the cut-over
//   - a redelivery by Evolution is a duplicate, or rescues a failed event, whether its key is in the body or the body is its
//     key
//   - failed events are delivered once, and the file then changes nothing
func TestTheWhatsAppFleetIsImported(t *testing.T) {
	t.Parallel()
	old := &fleet{oldSystem: newOldPostgres(t, "messaging"), now: time.Now().UTC()}
	old.fill(t)
	i := start(t, "EVOLUTION_QUERY_TOKEN=token-of-the-test", "HOLDFAST_REPLAY_INTERVAL=1s")
	crm := newEndpoint(t)
	i.subscribe(t, crm, "evolution", false)
	// The shadow phase: the old system fails at the first of these, and keeps nothing of the second.
	failed := i.sendChat(t, chat(t, "qrcode.updated"))
	alive := i.sendChat(t, chat(t, "connection.update"))
	failedAgain := i.sendChat(t, chatOf(t, "AGAIN"))
	i.settle(t)
	old.now = time.Now().UTC()
	old.row(t, "pending", 0, shop, "qrcode.updated", chat(t, "qrcode.updated"))
	old.row(t, "processed", time.Second, shop, "messages.upsert", chatOf(t, "AGAIN"))
	old.row(t, "pending", 0, shop, "messages.upsert", chatOf(t, "AGAIN"))

	file := i.write(t, "messaging.ndjson", old.export(t, filepath.Join(root, "docs", "moving", "messaging.sql")))
	require.Equal(t, "event 2 new, 1 there; dead_letter 11 new, 2 there", counted(i.importFile(t, file)))
	require.Equal(t, 5, i.count(t, processedEvents), "with the three that came alive")
	require.Equal(t, 3, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'exhausted' AND attempts = 2"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'exhausted' AND attempts = 4"), "failed hours later")
	require.Equal(t, 7, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'open' AND error_message = 'banco fora'"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE type = 'connection.update'"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE type = 'unknown'"))
	i.awaitReplayLooks(t)
	require.Equal(t, 11, i.count(t, openDeadLetters))
	i.requireDelivered(t, crm)
	differences, _ := i.compare(t, file)
	require.Equal(t, []string{
		`dead_letter status messages.upsert status "waits" "processed"`,
		`dead_letter status qrcode.updated status "waits" "processed"`,
		`event extra connection.update`,
		`event status ` + reconnected + ` status "processed" "waits"`,
	}, differences, "what failed there alone, what is stored here alone, and the older row of a message that was sent again")
	onlyProcessedHere := i.onlyProcessedHere(t, file)

	i.subscribe(t, crm, "evolution", true)
	delivered := i.redeliversChats(t, crm)
	i.replay(t, "evolution", 1)
	i.send(t, onlyProcessedHere, "all")
	delivered = append(delivered, failed, failedAgain)
	for _, one := range [][3]string{
		{"message", shop + ":3EB0CONSTRUCTED00001", "messages.edited"}, {"message", shop + ":3EB0CONSTRUCTED00001", "messages.delete"},
		{"message", other + ":3EB0CONSTRUCTED00001", "messages.delete"}, {"instance", shop, "connection.update"},
		{"message", shop + ":HOURS", "messages.upsert"}, {"message", shop + ":RECONNECT", "messages.upsert"},
	} {
		delivered = append(delivered, without(i.eventsOf(t, one[0], one[1], one[2], ""), alive)...)
	}
	require.Len(t, delivered, 12)
	i.requireDelivered(t, crm, delivered...)
	before := i.contents(t)
	require.Equal(t, "event 0 new, 3 there; dead_letter 0 new, 13 there", counted(i.importFile(t, file)))
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
	for _, name := range []string{"qrcode.updated", "connection.update", "messages.update_3_READ"} {
		i.sendChat(t, bytes.ReplaceAll(chat(t, name), []byte("gw.example.com"), []byte("hooks.example.com")))
	}
	i.sendChat(t, chatOf(t, "AGAIN"))
	i.sendChat(t, chatOf(t, "RESCUED"))
	i.settle(t)
	require.Equal(t, 5, i.count(t, allEvents), "they are duplicates")
	i.requireDelivered(t, crm)
	for _, name := range []string{"messages.upsert_no_apikey", "presence.update", "chats.upsert_array", "messages.upsert_group_lid"} {
		i.sendChat(t, chat(t, name))
	}
	i.settle(t)
	i.awaitCount(t, 7, openDeadLetters)
	require.Equal(t, 9, i.count(t, allEvents))
	for _, one := range [][3]string{
		{"message", shop + ":3EB0CONSTRUCTED00005", "messages.upsert"}, {"message", shop + ":3EB0CONSTRUCTED00002", "messages.upsert"},
		{"contact", shop + ":5511900000002@s.whatsapp.net", "presence.update"},
		{"chat", shop + ":5511900000002@s.whatsapp.net", "chats.upsert"},
	} {
		delivered = append(delivered, i.eventsOf(t, one[0], one[1], one[2], "")...)
	}
	require.Len(t, delivered, 4)
	i.requireDelivered(t, crm, delivered...)
	return delivered
}

// reconnected is the key of the message that was sent again after a reconnect.
const reconnected = shop + ":messages.upsert:RECONNECT:h.WE2QHWXWTDV7ODDEJTYJTAIXYI::DELIVERY_ACK:1777888830"

func without(all []string, one string) (rest []string) {
	for _, s := range all {
		if s != one {
			rest = append(rest, s)
		}
	}
	return rest
}
