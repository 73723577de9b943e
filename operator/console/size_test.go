package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

// A long body with deep nesting would take gigabytes to indent.
func TestALargeBodyIsNotIndented(t *testing.T) {
	t.Parallel()
	const depth = 5000
	bomb := strings.Repeat("[", depth) + "1" + strings.Repeat(",1", 10_000) + strings.Repeat("]", depth)
	shown := viewBody(api.Content{JSON: json.RawMessage(bomb)}, "", true)
	require.Len(t, shown.Text, len(bomb))

	wide := `{"a":["[[[[,\"",{"n":12345678901234567890.10e400}]}`
	require.Equal(t, "{\n  \"a\": [\n    \"[[[[,\\\"\",\n    {\n      \"n\": 12345678901234567890.10e400\n    }\n  ]\n}", frame.Indented([]byte(wide)))
	large := "[1" + strings.Repeat(",1", 500_000) + "]"
	require.Greater(t, len(frame.Indented([]byte(large))), len(large))
}

// A body is shown with its quotes as they are, which make up a tenth of JSON: escaped, the page would be larger than 100 kB. That
// makes nothing of it an element, or a form's value, which keeps directional characters.
func TestABodyIsShownInItsOwnSize(t *testing.T) {
	t.Parallel()
	c := New(Options{API: &api.API{}})
	shown := func(body string) string {
		data := eventPage{BodyView: viewBody(api.Content{Raw: []byte(body)}, "raw", false)}
		page, err := c.Fragment("event", "content", frame.View{Page: frame.Page{Data: data}})
		require.NoError(t, err)
		return string(page)
	}
	require.Less(t, len(shown(strings.Repeat(`{"id":"1"}`, api.MaxShown/10))), 100_000)

	page := shown("</pre><script>&lt;</script> a=\"b\" value=\"\u202e\" value=\"")
	require.Contains(t, page, ">&lt;/pre&gt;&lt;script&gt;&amp;lt;&lt;/script&gt; a=\"b\" value=\"\\u202e\" value=\"</pre>")
	require.NotContains(t, page, "\u202e")
}

// The longest list that a page can have, of rows as long as they usually are, is below the limit of a page. The pages of a million
// events in the measurements have fewer columns filled.
func TestTheLongestListsAreSmall(t *testing.T) {
	t.Parallel()
	c := New(Options{API: &api.API{
		Events: struct{ api.EventStore }{}, DeadLetters: struct{ api.DeadLetterStore }{}, Entities: struct{ api.EntityStore }{},
		Outbound: &deliveryapi.API{},
	}})
	c.Site()
	at := time.Date(2026, 11, 29, 12, 13, 14, 123456789, time.UTC)
	var events eventList
	var deliveries deliveryList
	var letters deadLetterList
	for i := range httpapi.MaxPageLimit {
		id := fmt.Sprintf("019ad000-0000-7000-8000-%012d", i)
		events.Rows = append(events.Rows, api.EventView{
			ID: id, Provider: "stripe", Key: "evt_1032D82eZvKYlo2C" + id[30:], Type: "customer.subscription.updated", ReceivedAt: at,
			Status: event.StatusProcessed, Outcome: event.OutcomeProcessed, DeliveryStatus: delivery.Delivered, PersistedAt: at,
		})
		deliveries.Rows = append(deliveries.Rows, deliveryapi.DeliveryView{
			Delivery: delivery.Delivery{
				EventID: id, SubscriptionID: 12, Subscription: "customers-to-crm", Destination: "crm", Status: delivery.Retrying,
				Attempts: 3, Code: "503", Error: "it answered 503", DueAt: &at, Provider: "stripe", Type: "customer.updated",
			},
		})
		letters.Rows = append(letters.Rows, api.DeadLetterView{
			ID: int64(12_345 + i), EventID: id, Provider: "stripe", Type: "customer.updated", State: event.DeadLetterOpen, Failures: 1,
			Failure:     event.Failure{Step: event.StepParse, Class: event.ClassRejected, Code: "no_field", Message: "no field id at .body.data.object"},
			FirstFailed: at, LastFailed: at,
		})
	}
	for name, data := range map[string]any{"events": events, "deliveries": deliveries, "dead_letters": letters} {
		view := frame.View{Page: frame.Page{Title: name, Data: data}, Caller: access.Caller{Name: "ada", Role: access.RoleAdmin}}
		page, err := c.Fragment(name, "layout.html", view)
		require.NoError(t, err)
		t.Log(name, len(page))
		require.Less(t, len(page), 95_000, name+": the navigation comes on top")
	}
}
