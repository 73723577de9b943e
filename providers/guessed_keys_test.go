package providers

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/reading"
)

// Every built-in definition states whether its key is certain, and how repeats of a guessed key are handled. So does every
// override with a key of its own.
func TestEveryDefinitionStatesItsCertainty(t *testing.T) {
	t.Parallel()
	c := catalogueOf(t)
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		keys := map[string]*definition.Key{"key": p.Written().Key}
		for i, o := range p.Written().Overrides {
			if o.Key != nil {
				keys["overrides["+strconv.Itoa(i)+"].key"] = o.Key
			}
		}
		for field, key := range keys {
			t.Run(name+"/"+field, func(t *testing.T) {
				t.Parallel()
				require.Contains(t, []string{"certain", "guessed"}, key.Certainty)
				if key.Certainty == "guessed" || key.Fallback != "" {
					require.Contains(t, []string{"accept", "hold"}, key.InDoubt)
				} else {
					require.Empty(t, key.InDoubt, "no key of this definition is guessed")
				}
			})
		}
	}
}

// sent is one request of a test: headers are alternating names and values.
type sent struct {
	body    string
	headers []string
}

// itemOfSent returns the only event of an authenticated request.
func itemOfSent(t testing.TB, provider string, s sent) reading.Item {
	t.Helper()
	r := &auth.Request{Method: "POST", Header: map[string][]string{}, Body: []byte(s.body)}
	for i := 0; i < len(s.headers); i += 2 {
		r.Header[s.headers[i]] = []string{s.headers[i+1]}
	}
	items, err := providerOf(t, provider, secretOfTests).SplitStored(r)
	require.NoError(t, err)
	require.Len(t, items, 1)
	return items[0]
}

// each returns one body under several delivery IDs.
func each(body, header string, ids []string, headers ...string) (all []sent) {
	for _, id := range ids {
		all = append(all, sent{body, append([]string{header, id}, headers...)})
	}
	return all
}

func form(pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

func adyenReport(account string) sent {
	return sent{body: `{"live":"false","notificationItems":[{"NotificationRequestItem":{"eventCode":"REPORT_AVAILABLE",` +
		`"pspReference":"settlement_report.csv","merchantAccountCode":"` + account + `","success":"true"}}]}`}
}

func dropboxSign(about, id string) sent {
	return sent{body: `{"event":{"event_time":"1760000000","event_type":"` + about + `_confirmed","event_hash":"h","event_metadata":` +
		`{"related_signature_id":null}},"` + about + `":{"` + about + `_id":"` + id + `"}}`}
}

func metaStatus(participant string) sent {
	return sent{body: `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"statuses":` +
		`[{"id":"wamid.1","status":"read","recipient_id":"g1","recipient_participant_id":"` + participant + `","timestamp":"1"}]}}]}]}`}
}

// Different events of a provider never share a key, even if the parts that an earlier release read are the same. A retry of
// each has the same key as before.
func TestDifferentEventsHaveDifferentKeys(t *testing.T) {
	t.Parallel()
	guids := []string{"guid-1", "guid-2", "guid-3"}
	github := func(kind, body string) []sent { return each(body, "x-github-delivery", guids, "x-github-event", kind) }
	wise := func(kind, data string) string { return `{"event_type":"` + kind + `","data":` + data + `}` }
	twilio := func(pairs ...string) sent { return sent{form(pairs...), []string{"content-type", decode.FormType}} }
	shopify := func(topic, body string) []sent {
		return each(body, "x-shopify-event-id", guids, "x-shopify-topic", topic)
	}
	member := `{"action":"%","member":{"id":1},"repository":{"id":2},"sender":{"id":3}}`
	membership := `{"action":"member_added","membership":{"state":"active","user":{"id":1}},"organization":{"id":2},"sender":{"id":3}}`
	for name, c := range map[string]struct {
		provider string
		events   []sent
	}{
		"a member is added, removed and added": {"github", []sent{
			github("member", strings.Replace(member, "%", "added", 1))[0], github("member", strings.Replace(member, "%", "removed", 1))[1],
			github("member", strings.Replace(member, "%", "added", 1))[2],
		}},
		"a user revokes an app twice":     {"github", github("github_app_authorization", `{"action":"revoked","sender":{"id":3}}`)},
		"a member joins an organization":  {"github", github("organization", membership)},
		"an organization blocks a user":   {"github", github("org_block", `{"action":"blocked","blocked_user":{"id":1},"organization":{"id":2},"sender":{"id":3}}`)},
		"a batch payment is charged back": {"wise", []sent{{body: wise("batch-payment-initiations#state-change", `{"resource":{"id":1},"new_status":"COMPLETED"}`)}, {body: wise("batch-payment-initiations#state-change", `{"resource":{"id":1},"new_status":"CHARGED_BACK"}`)}}},
		"the active cases change": {"wise", []sent{
			{body: wise("transfers#active-cases", `{"resource":{"id":1},"active_cases":["deposit_amount_less_invoice"]}`)},
			{body: wise("transfers#active-cases", `{"resource":{"id":1},"active_cases":[]}`)},
		}},
		"a card is produced": {"wise", []sent{
			{body: wise("cards#card-production-status-change", `{"resource":{"id":1},"production_status":"PRODUCED"}`)},
			{body: wise("cards#card-production-status-change", `{"resource":{"id":1},"production_status":"DISPATCHED"}`)},
		}},
		"two cards within one second": {"wise", []sent{
			{body: wise("cards#card-status-change", `{"resource":{"profile_id":1},"card_token":"a","occurred_at":"2026-05-04T12:00:00Z"}`)},
			{body: wise("cards#card-status-change", `{"resource":{"profile_id":1},"card_token":"b","occurred_at":"2026-05-04T12:00:00Z"}`)},
		}},
		"equal bytes with two delivery IDs": {"wise", each(wise("cards#card-status-change", `{"resource":{"id":1}}`), "x-delivery-id", guids)},
		"a second Gather": {"twilio", []sent{
			twilio("CallSid", "CA1", "CallStatus", "in-progress", "Digits", "1"), twilio("CallSid", "CA1", "CallStatus", "in-progress", "Digits", "2"),
		}},
		"a second recording": {"twilio", []sent{
			twilio("CallSid", "CA1", "RecordingSid", "RE1", "RecordingStatus", "completed"),
			twilio("CallSid", "CA1", "RecordingSid", "RE2", "RecordingStatus", "completed"),
		}},
		"a message of a conversation is edited": {"twilio", []sent{
			twilio("EventType", "onMessageUpdated", "MessageSid", "IM1", "Body", "one"),
			twilio("EventType", "onMessageUpdated", "MessageSid", "IM1", "Body", "two"),
		}},
		"a second conference of a call": {"twilio", []sent{
			twilio("CallSid", "CA1", "SequenceNumber", "1", "ConferenceSid", "CF1"),
			twilio("CallSid", "CA1", "SequenceNumber", "1", "ConferenceSid", "CF2"),
		}},
		"two accounts are confirmed in one second": {"dropbox-sign", []sent{dropboxSign("account", "a1"), dropboxSign("account", "a2")}},
		"two faxes in one second":                  {"dropbox-sign", []sent{dropboxSign("fax", "f1"), dropboxSign("fax", "f2")}},
		"a report for a second account":            {"adyen", []sent{adyenReport("ShopA"), adyenReport("ShopB")}},
		"a cart is updated":                        {"shopify", shopify("carts/update", `{"id":"c1","token":"c1","line_items":[]}`)},
		"a theme is published":                     {"shopify", shopify("themes/publish", `{"id":1,"name":"Dawn","role":"main"}`)},
		"an app is uninstalled twice":              {"shopify", shopify("app/uninstalled", `{"id":1,"name":"Shop"}`)},
		"a location is deactivated":                {"shopify", shopify("locations/deactivate", `{"id":1,"active":false}`)},
		"inventory is connected":                   {"shopify", shopify("inventory_levels/connect", `{"inventory_item_id":1,"location_id":2}`)},
		"an issue is assigned, unassigned and assigned": {"sentry", []sent{
			{`{"action":"assigned","data":{"issue":{"id":"1"}}}`, []string{"request-id", "r1"}},
			{`{"action":"unassigned","data":{"issue":{"id":"1"}}}`, []string{"request-id", "r2"}},
			{`{"action":"assigned","data":{"issue":{"id":"1"}}}`, []string{"request-id", "r3"}},
		}},
		"a trigger with a ticket's ID": {"zendesk", []sent{{body: `{"id":7,"status":"open"}`}, {body: `{"id":7,"status":"solved"}`}}},
		"a trigger with equal bodies":  {"zendesk", each(`{"ticket":7}`, "x-zendesk-webhook-invocation-id", guids)},
		"two participants read":        {"meta", []sent{metaStatus("p1"), metaStatus("p2")}},
		"a car moves there and back":   {"rentprog", each(`{"event":"car_update","payload":"{\"id\"=>1}"}`, "x-timestamp", []string{"1", "2"})},
		"a car moves, with its time": {"rentprog", []sent{
			{body: `{"event":"car_update","timestamp":1,"payload":"{\"id\"=>1}"}`}, {body: `{"event":"car_update","timestamp":2,"payload":"{\"id\"=>1}"}`},
		}},
	} {
		t.Run(c.provider+"/"+name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for i, s := range c.events {
				first, retry := itemOfSent(t, c.provider, s), itemOfSent(t, c.provider, s)
				require.Equal(t, first.Key, retry.Key)
				require.NotContains(t, seen, first.Key, "event %d has the key of event %d", i, seen[first.Key])
				seen[first.Key] = i
			}
		})
	}
}

// A body that isn't signed can't take the key of an event about another payment: the signed ID in the query is part of the key.
func TestUnsignedBodyHasTheKeyOfItsSignedQuery(t *testing.T) {
	t.Parallel()
	keyOf := func(payment string) string {
		r := &auth.Request{Method: "POST", Header: map[string][]string{}, Query: url.Values{"data.id": {payment}}}
		r.Body = []byte(`{"id":1,"type":"payment","action":"payment.updated","data":{"id":"9"}}`)
		items, err := providerOf(t, "mercado-pago", secretOfTests).SplitStored(r)
		require.NoError(t, err)
		return items[0].Key
	}
	require.NotEqual(t, keyOf("8"), keyOf("9"))
}

// Some providers send equal bytes for different events by design. Only time distinguishes those, so their window is shorter
// than the first retry pause, and later ones are accepted.
func TestEventsWithEqualBytesCountTwiceAfterAShortWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider, body string
		at             time.Duration
		headers        []string
	}{
		"paystack identification": {"paystack", `{"event":"customeridentification.failed","data":{"customer_code":"C1","reason":"no match"}}`, time.Second, nil},
		"paystack subscription":   {"paystack", `{"event":"subscription.disable","data":{"subscription_code":"S1"}}`, time.Second, nil},
		"mollie":                  {"mollie", "id=tr_1", time.Second, []string{"content-type", decode.FormType}},
		"clickup":                 {"clickup", `{"event":"goalUpdated","goal_id":"g1","webhook_id":"w1"}`, time.Minute, nil},
		"retell":                  {"retell", `{"event":"call_inbound","call_inbound":{"from_number":"1","to_number":"2"}}`, 10 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := itemOfSent(t, c.provider, sent{c.body, c.headers})
			require.Equal(t, event.Duration(c.at), item.DedupeWindow)
			require.NotEmpty(t, item.Content, "a repeat is marked")
			p := providerOf(t, c.provider, secretOfTests)
			receipt := receiptOfTest(p, item)
			receipt.Content = item.Content
			parsed, err := p.Parse(receipt, item.Body)
			require.NoError(t, err)
			require.False(t, parsed.Repeats.Hold)
		})
	}
}

// Two equal items in one request are two events: no sender retries within a request. They have different keys, and a repeated
// request has the same ones. An item that comes alone has the key of the first.
func TestEqualItemsOfARequestAreTwoEvents(t *testing.T) {
	t.Parallel()
	hubspot := `{"portalId":1,"subscriptionType":"contact.creation","objectId":2,"eventId":3,"occurredAt":1700000000000,"attemptNumber":0}`
	asana := `{"action":"changed","created_at":"2026-05-04T12:00:00.000Z","resource":{"gid":"1","resource_type":"task"},"user":{"gid":"2"}}`
	sendgrid := `{"email":"a@example.com","event":"open","timestamp":1700000000}`
	for provider, c := range map[string]struct{ request, item string }{
		"hubspot":  {`[%,%,%]`, hubspot},
		"asana":    {`{"events":[%,%,%]}`, asana},
		"sendgrid": {`[%,%,%]`, sendgrid},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			keys := func(request string) (all []string) {
				r := &auth.Request{Method: "POST", Header: map[string][]string{}, Body: []byte(strings.ReplaceAll(request, "%", c.item))}
				items, err := providerOf(t, provider, secretOfTests).SplitStored(r)
				require.NoError(t, err)
				for i, item := range items {
					require.NotEmpty(t, item.Content, "it can be compared")
					require.Equal(t, items[0].Content, item.Content)
					require.True(t, i == 0 || item.Earlier == nil, "the release before dropped it")
					all = append(all, item.Key)
				}
				return all
			}
			three := keys(c.request)
			require.Len(t, three, 3)
			require.Len(t, map[string]bool{three[0]: true, three[1]: true, three[2]: true}, 3)
			require.Equal(t, three, keys(c.request))
			require.Equal(t, three[:1], keys(strings.Replace(c.request, "%,%,%", "%", 1)))
		})
	}
	twoSubscriptions := `[` + strings.Replace(hubspot, "{", `{"subscriptionId":1,`, 1) + `,` + strings.Replace(hubspot, "{", `{"subscriptionId":2,`, 1) + `]`
	items, err := providerOf(t, "hubspot", secretOfTests).SplitStored(&auth.Request{Method: "POST", Body: []byte(twoSubscriptions)})
	require.NoError(t, err)
	require.Equal(t, items[0].Key, items[1].Key, "one event for two subscriptions")
	r := &auth.Request{Method: "POST", Header: map[string][]string{}, Body: []byte(`[{"sg_event_id":"1","event":"open"},{"sg_event_id":"1","event":"open"}]`)}
	items, err = providerOf(t, "sendgrid", secretOfTests).SplitStored(r)
	require.NoError(t, err)
	require.Equal(t, items[0].Key, items[1].Key, "a certain ID is one event")
}
