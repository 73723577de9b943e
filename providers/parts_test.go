package providers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/reading"
)

func listOf(n int, item string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(item, "N", fmt.Sprint(i))
	}
	return strings.Join(all, ",")
}

// splitAndParse returns the events of a request, each with its parse.
func splitAndParse(t *testing.T, provider, body string) (items []reading.Item, parsed []event.Parsed) {
	t.Helper()
	p := providerOf(t, provider, secretOfTests)
	items, err := p.Split(&auth.Request{Body: []byte(body)})
	require.NoError(t, err)
	for _, item := range items {
		e, err := p.Parse(receiptOfTest(p, item), item.Body)
		require.NoError(t, err)
		parsed = append(parsed, e)
	}
	return items, parsed
}

// Meta puts up to 1,000 updates into a request. Each is an event, whose key doesn't depend on the others.
func TestUpdatesOfMetaAreEvents(t *testing.T) {
	t.Parallel()
	request := func(statuses string) string {
		return `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"metadata":` +
			`{"phone_number_id":"2"},"statuses":[` + statuses + `]}}]}]}`
	}
	const status = `{"id":"wamid.N","status":"delivered","timestamp":"1764288000","recipient_id":"55119N"}`
	items, parsed := splitAndParse(t, "meta", request(listOf(1000, status)))
	require.Len(t, items, 1000)
	keys := map[string]bool{}
	for i, item := range items {
		require.True(t, item.Certain)
		require.Equal(t, "messages.delivered", item.Type)
		require.Equal(t, "1", item.Source)
		require.Len(t, parsed[i].Changes, 2, "the message and its number")
		keys[item.Key] = true
	}
	require.Len(t, keys, 1000)
	alone, _ := splitAndParse(t, "meta", request(strings.ReplaceAll(status, "N", "7")))
	require.Equal(t, items[7].Key, alone[0].Key)
	require.Equal(t, items[7].Fingerprint, alone[0].Fingerprint)
}

// A change without updates is an event, and so is each message, with the contacts of its change.
func TestEntriesOfMetaAreCut(t *testing.T) {
	t.Parallel()
	items, parsed := splitAndParse(t, "meta", `{"object":"x","entry":[{"id":"1","changes":[
		{"field":"messages","value":{"contacts":[{"wa_id":"5"}],"messages":[{"id":"a","from":"5"},{"id":"b","from":"5"}],
		 "statuses":[{"id":"c","status":"read"}]}},
		{"field":"message_template_status_update","value":{"event":"APPROVED","message_template_id":9}}]}]}`)
	var got []string
	for i, item := range items {
		var changed []string
		for _, c := range parsed[i].Changes {
			changed = append(changed, c.Kind+" "+c.ExternalID)
		}
		got = append(got, item.Type+": "+strings.Join(changed, ", "))
	}
	require.Equal(t, []string{
		"messages.received: message a, contact 5", "messages.received: message b, contact 5", "messages.read: message c, contact 5",
		"message_template_status_update: message_template 9",
	}, got)
}

// Evolution's lists are cut into parts of 500 in the order sent, each under the hash of its own items. Of a repeated request, all
// parts have the same keys; the same items in two parts are two events.
func TestListsOfEvolutionAreCut(t *testing.T) {
	t.Parallel()
	for eventType, item := range map[string]string{
		"contacts.set":    `{"remoteJid":"55119N@s.whatsapp.net","pushName":"Contact N"}`,
		"contacts.upsert": `{"remoteJid":"55119N@s.whatsapp.net","pushName":"Contact N"}`,
		"chats.set":       `{"remoteJid":"55119N@s.whatsapp.net","unreadMessages":N}`,
		"messages.set":    `{"key":{"id":"3EBN","remoteJid":"1@s.whatsapp.net"},"messageTimestamp":1764288000}`,
	} {
		body := `{"event":"` + eventType + `","instance":"shop","date_time":"2026-11-28T00:00:00.000Z","data":[` + listOf(4001, item) + `]}`
		items, parsed := splitAndParse(t, "evolution", body)
		require.Len(t, items, 9, eventType)
		again, _ := splitAndParse(t, "evolution", body)
		next := 0
		for i, item := range items {
			require.Equal(t, eventType, item.Type)
			require.Equal(t, [2]int{i + 1, 9}, [2]int{item.Part, item.Parts})
			require.Equal(t, item.Key, again[i].Key)
			require.LessOrEqual(t, len(parsed[i].Changes), 502)
			var part struct{ Data []json.RawMessage }
			require.NoError(t, json.Unmarshal(item.Body, &part))
			for _, element := range part.Data {
				require.Contains(t, string(element), fmt.Sprint(next))
				next++
			}
		}
		require.Equal(t, 4001, next)
		short, _ := splitAndParse(t, "evolution", `{"event":"`+eventType+`","instance":"shop","data":[`+listOf(500, item)+`]}`)
		require.Len(t, short, 1)
		require.Zero(t, short[0].Part)
	}
	same := `{"event":"contacts.set","instance":"shop","data":[` + strings.TrimSuffix(strings.Repeat(`{"remoteJid":"1"},`, 1000), ",") + `]}`
	items, _ := splitAndParse(t, "evolution", same)
	require.Len(t, items, 2)
	require.NotEqual(t, items[0].Key, items[1].Key)
}

// Parts of a list need a key with the hash of their items.
func TestPartsNeedTheirHashInTheKey(t *testing.T) {
	t.Parallel()
	parts := strings.Replace(minimal, "type:", "batch: {parts: {lists: [data], size: 2}}\ntype:", 1)
	_, err := loadOne(t, parts)
	require.ErrorContains(t, err, "needs the hash of the body because of batch.parts")
	_, err = loadOne(t, strings.Replace(parts, "size: 2", "size: 501", 1))
	require.ErrorContains(t, err, "want 1 to 500 items per event")
	_, err = loadOne(t, strings.Replace(parts, "size: 2", "size: 1", 1))
	require.NoError(t, err)
}
