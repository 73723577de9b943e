package providers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
	"holdfast/providers/reading"
)

// The relations of two deliveries, the second of which is derived from the first.
const (
	oneEvent  = "one event"  // redelivered
	conflict  = "a conflict" // one key, but other content
	twoEvents = "two events"
)

type delivery struct {
	body    string
	headers map[string]string
	bot     string
}

func (d delivery) identify(t *testing.T, p *Provider) reading.Item {
	t.Helper()
	r := &auth.Request{Body: []byte(d.body), Header: map[string][]string{}, PathParams: map[string]string{"bot": d.bot}}
	for name, value := range d.headers {
		r.Header[name] = []string{value}
	}
	return itemOf(t, p, r)
}

// Keys behave as their `why` says: a retry and a second subscription have the existing key, and the event that the obvious
// wrong key would lose has a new one.
func TestKeysMatchTheirReasons(t *testing.T) {
	t.Parallel()
	named := func(name, value string) map[string]string { return map[string]string{name: value} }
	const order = `{"id":727,"status":"processing","line_items":[{"id":315}]}`
	for name, c := range map[string]struct {
		provider      string
		first, second delivery
		are           string
	}{
		"retry with a new time of sending": {"linear",
			delivery{body: `{"action":"update","type":"Issue","data":{"id":"i1"},"createdAt":"12:00:00.001Z","webhookTimestamp":1}`},
			delivery{body: `{"action":"update","type":"Issue","data":{"id":"i1"},"createdAt":"12:00:00.001Z","webhookTimestamp":2}`},
			oneEvent},
		"second update of an issue": {"linear",
			delivery{body: `{"action":"update","type":"Issue","data":{"id":"i1"},"createdAt":"2025-06-01T12:00:00.001Z"}`},
			delivery{body: `{"action":"update","type":"Issue","data":{"id":"i1"},"createdAt":"2025-06-01T12:00:00.002Z"}`},
			twoEvents},
		"retry that tells of the first try": {"chargebee",
			delivery{body: `{"id":"ev_1","event_type":"x","webhook_status":"scheduled","webhooks":[{"webhook_status":"scheduled"}]}`},
			delivery{body: `{"id":"ev_1","event_type":"x","webhook_status":"re_scheduled","webhooks":[{"webhook_status":"failed"}]}`},
			oneEvent},
		"second webhook of an account": {"easypost",
			delivery{body: `{"id":"evt_1","description":"tracker.updated","pending_urls":["a"],"completed_urls":[],"status":"new"}`},
			delivery{body: `{"id":"evt_1","description":"tracker.updated","pending_urls":[],"completed_urls":["a"],"status":"sent"}`},
			oneEvent},
		"second attempt of a notification": {"intercom",
			delivery{body: `{"id":"notif_1","topic":"contact.created","delivery_attempts":1,"first_sent_at":0,"app_id":"a"}`},
			delivery{body: `{"id":"notif_1","topic":"contact.created","delivery_attempts":2,"first_sent_at":5,"app_id":"a"}`},
			oneEvent},
		"second attempt of an event": {"notion",
			delivery{body: `{"id":"e1","type":"page.created","attempt_number":1}`},
			delivery{body: `{"id":"e1","type":"page.created","attempt_number":2}`},
			oneEvent},
		"redelivery to a channel": {"line",
			delivery{body: `{"events":[{"type":"follow","webhookEventId":"01","deliveryContext":{"isRedelivery":false}}]}`},
			delivery{body: `{"events":[{"type":"follow","webhookEventId":"01","deliveryContext":{"isRedelivery":true}}]}`},
			oneEvent},
		"message that Connect sends again": {"docusign",
			delivery{body: `{"event":"envelope-sent","retryCount":0,"generatedDateTime":"t","data":{"envelopeId":"e"}}`},
			delivery{body: `{"event":"envelope-sent","retryCount":1,"generatedDateTime":"t","data":{"envelopeId":"e"}}`},
			oneEvent},
		"second signer in one moment": {"docusign",
			delivery{body: `{"event":"recipient-completed","generatedDateTime":"t","data":{"envelopeId":"e","recipientId":"1"}}`},
			delivery{body: `{"event":"recipient-completed","generatedDateTime":"t","data":{"envelopeId":"e","recipientId":"2"}}`},
			twoEvents},
		"second recipient of a message": {"postmark",
			delivery{body: `{"RecordType":"Delivery","MessageID":"m1","Recipient":"a@example.com","DeliveredAt":"2025-06-01T12:00:00Z"}`},
			delivery{body: `{"RecordType":"Delivery","MessageID":"m1","Recipient":"b@example.com","DeliveredAt":"2025-06-01T12:00:00Z"}`},
			twoEvents},
		"opened once more": {"postmark",
			delivery{body: `{"RecordType":"Open","MessageID":"m1","Recipient":"a@example.com","ReceivedAt":"2025-06-01T12:00:00Z"}`},
			delivery{body: `{"RecordType":"Open","MessageID":"m1","Recipient":"a@example.com","ReceivedAt":"2025-06-01T12:00:01Z"}`},
			twoEvents},
		"one body under two topics": {"woocommerce",
			delivery{body: order, headers: named("x-wc-webhook-topic", "order.created")},
			delivery{body: order, headers: named("x-wc-webhook-topic", "order.updated")},
			twoEvents},
		"deletion that shows the document as it was": {"sanity",
			delivery{body: `{"_id":"d1","_type":"article","_rev":"r1"}`, headers: named("sanity-operation", "update")},
			delivery{body: `{"_id":"d1","_type":"article","_rev":"r1"}`, headers: named("sanity-operation", "delete")},
			twoEvents},
		"body under another event ID, which is held": {"razorpay",
			delivery{body: `{"event":"payment.captured","created_at":1}`, headers: named("x-razorpay-event-id", "one")},
			delivery{body: `{"event":"payment.captured","created_at":1}`, headers: named("x-razorpay-event-id", "two")},
			twoEvents},
		"body under another event that is not signed": {"bitbucket",
			delivery{body: `{"pullrequest":{"id":1}}`, headers: named("x-event-key", "pullrequest:created")},
			delivery{body: `{"pullrequest":{"id":1}}`, headers: named("x-event-key", "pullrequest:rejected")},
			oneEvent},
		"second change within a day": {"recurly",
			delivery{body: `{"id":"s1","object_type":"subscription","event_type":"updated","event_time":"2025-06-01T12:00:00Z"}`},
			delivery{body: `{"id":"s1","object_type":"subscription","event_type":"updated","event_time":"2025-06-01T13:00:00Z"}`},
			twoEvents},
		"hash that comes again with the next change": {"bigcommerce",
			delivery{body: `{"producer":"stores/a","scope":"store/order/updated","hash":"h","created_at":1}`},
			delivery{body: `{"producer":"stores/a","scope":"store/order/updated","hash":"h","created_at":2}`},
			twoEvents},
		"second webhook of a workspace": {"clickup",
			delivery{body: `{"event":"taskUpdated","task_id":"t","webhook_id":"a","history_items":[{"id":"h1"}]}`},
			delivery{body: `{"event":"taskUpdated","task_id":"t","webhook_id":"b","history_items":[{"id":"h1"}]}`},
			oneEvent},
		"subscriptions of user and organization": {"calendly",
			delivery{body: `{"event":"invitee.created","created_at":"1","created_by":"u1","payload":{"uri":"i","updated_at":"1"}}`},
			delivery{body: `{"event":"invitee.created","created_at":"2","created_by":"u2","payload":{"uri":"i","updated_at":"1"}}`},
			oneEvent},
		"second comment in one millisecond": {"jira",
			delivery{body: `{"webhookEvent":"comment_created","timestamp":1,"issue":{"id":"1"},"comment":{"id":"1"}}`},
			delivery{body: `{"webhookEvent":"comment_created","timestamp":1,"issue":{"id":"1"},"comment":{"id":"2"}}`},
			twoEvents},
		"update of another bot": {"telegram",
			delivery{body: `{"update_id":7,"message":{"message_id":1}}`, bot: "shop"},
			delivery{body: `{"update_id":7,"message":{"message_id":1}}`, bot: "support"},
			twoEvents},
		"second update of an invoice": {"paystack",
			delivery{body: `{"event":"invoice.update","data":{"invoice_code":"INV_1","paid":false}}`},
			delivery{body: `{"event":"invoice.update","data":{"invoice_code":"INV_1","paid":true}}`},
			twoEvents},
		"message that is sent again later": {"segment",
			delivery{body: `{"type":"track","messageId":"m1","sentAt":"1"}`},
			delivery{body: `{"type":"track","messageId":"m1","sentAt":"2"}`},
			oneEvent},
	} {
		t.Run(c.provider+" "+name, func(t *testing.T) {
			t.Parallel()
			p := providerOf(t, c.provider, secretOfTests)
			first, second := c.first.identify(t, p), c.second.identify(t, p)
			are := twoEvents
			if first.Key == second.Key {
				if are = conflict; first.Fingerprint == second.Fingerprint {
					are = oneEvent
				}
			}
			require.Equal(t, c.are, are, "%s and %s", first.Key, second.Key)
		})
	}
}
