package providers

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/decode"
)

// described is one request and the expected changes of its events.
type described struct {
	provider string
	sent     sent
	// events have their type, and each change: operation, kind and ID, version and state.
	events []string
}

// eventsOf returns the events of an authentic request, in the form of described.
func eventsOf(t testing.TB, d described) (all []string) {
	t.Helper()
	p := providerOf(t, d.provider, secretOfTests)
	r := &auth.Request{Method: "POST", Header: map[string][]string{}, Body: []byte(d.sent.body)}
	for i := 0; i < len(d.sent.headers); i += 2 {
		r.Header[d.sent.headers[i]] = []string{d.sent.headers[i+1]}
	}
	items, err := p.SplitStored(r)
	require.NoError(t, err)
	for _, item := range items {
		parsed, err := p.Parse(receiptOfTest(p, item), item.Body)
		if err != nil {
			all = append(all, event.CodeOf(err))
			continue
		}
		text := parsed.Type
		for _, c := range parsed.Changes {
			text += fmt.Sprintf(" %s %s/%s", c.Op, c.Kind, c.ExternalID)
			if c.Version != nil {
				text += fmt.Sprintf("@%d", *c.Version)
			}
			text += string(c.State)
		}
		all = append(all, text)
	}
	return all
}

// Events change the entities that they describe. The bodies have the shape that each provider documents.
func TestEventsChangeTheirEntities(t *testing.T) {
	t.Parallel()
	hubspot := func(fields string) sent {
		return sent{body: `[{"eventId":1,"portalId":7,"occurredAt":1700000000000,` + fields + `}]`}
	}
	square := func(kind, data string) sent {
		return sent{body: `{"merchant_id":"M","event_id":"e1","created_at":"2026-05-04T12:00:00Z","type":"` + kind + `","data":` + data + `}`}
	}
	twitch := func(kind, fields string) sent {
		return sent{`{"subscription":{"id":"s1","type":"` + kind + `","version":"1","status":"enabled","condition":{}},` + fields + `}`,
			[]string{"twitch-eventsub-message-id", "m1", "twitch-eventsub-message-timestamp", "2026-05-04T12:00:00Z"}}
	}
	mailchimp := func(kind string, pairs ...string) sent {
		return sent{form(append(pairs, "type", kind, "fired_at", "2026-05-04 12:00:00", "data[list_id]", "L")...), []string{"content-type", decode.FormType}}
	}
	telegram := func(kind, fields string) sent {
		return sent{body: `{"update_id":1,"` + kind + `":{` + fields + `}}`}
	}
	twilio := func(body string) sent { return sent{body, []string{"content-type", "application/json"}} }
	paypal := func(kind, resourceType, resource string) sent {
		return sent{body: `{"id":"WH-1","create_time":"2026-05-04T12:00:00.5Z","event_type":"` + kind + `","resource_type":"` + resourceType + `","resource":` + resource + `}`}
	}
	braintree := func(kind, subject string) sent {
		xml := "<notification><timestamp type=\"datetime\">2026-05-04T12:00:00Z</timestamp><kind>" + kind + "</kind><subject>" + subject + "</subject></notification>"
		return sent{form("bt_payload", base64.StdEncoding.EncodeToString([]byte(xml))+"\n", "bt_signature", "x|y"), []string{"content-type", decode.FormType}}
	}
	shopify := func(topic, body string) sent {
		return sent{body, []string{"x-shopify-topic", topic, "x-shopify-shop-domain", "s.myshopify.com"}}
	}
	adyen := func(code, fields string) sent {
		return sent{body: `{"live":"false","notificationItems":[{"NotificationRequestItem":{"eventCode":"` + code + `","eventDate":"2026-05-04T12:00:00Z",` + fields + `}}]}`}
	}
	slack := func(fields string) sent {
		return sent{body: `{"type":"event_callback","team_id":"T","event_id":"Ev1","event_time":1700000000,"event":{` + fields + `}}`}
	}
	for name, d := range map[string]described{
		"a contact of a generic subscription": {"hubspot",
			hubspot(`"subscriptionType":"object.propertyChange","objectTypeId":"0-1","objectId":5,"propertyName":"email","propertyValue":"a@b.c"`),
			[]string{`object.propertyChange patch contact/7:5@1700000000000{"email":"a@b.c"} patch portal/7`}},
		"a company with the ID of that contact": {"hubspot",
			hubspot(`"subscriptionType":"object.deletion","objectTypeId":"0-2","objectId":5`),
			[]string{`object.deletion delete company/7:5@1700000000000{} patch portal/7`}},
		"a custom object": {"hubspot",
			hubspot(`"subscriptionType":"object.creation","objectTypeId":"2-1234","objectId":5`),
			[]string{`object.creation patch object_2-1234/7:5@1700000000000{} patch portal/7`}},
		"an object that is older than generic subscriptions": {"hubspot",
			hubspot(`"subscriptionType":"line_item.creation","objectId":5`),
			[]string{`line_item.creation patch line_item/7:5@1700000000000{} patch portal/7`}},
		"contacts that were merged into a new one": {"hubspot",
			hubspot(`"subscriptionType":"object.merge","objectTypeId":"0-1","objectId":9,"primaryObjectId":5,"mergedObjectIds":[6],"newObjectId":9`),
			[]string{`object.merge patch contact/7:9@1700000000000{} patch contact/7:5@1700000000000{"merged_into":9} patch contact/7:6@1700000000000{"merged_into":9} patch portal/7`}},
		"a contact that left a company": {"hubspot",
			hubspot(`"subscriptionType":"contact.associationChange","associationType":"CONTACT_TO_COMPANY","fromObjectId":5,"toObjectId":6,"associationRemoved":true`),
			[]string{`contact.associationChange patch contact/7:5 patch company/7:6 patch portal/7`}},
		"a generic association": {"hubspot",
			hubspot(`"subscriptionType":"object.associationChange","fromObjectTypeId":"0-3","toObjectTypeId":"0-1","fromObjectId":5,"toObjectId":6`),
			[]string{`object.associationChange patch deal/7:5 patch contact/7:6 patch portal/7`}},
		"two counts of an inventory": {"square",
			square("inventory.count.updated", `{"type":"inventory_counts","id":"84fd","object":{"inventory_counts":[
				{"catalog_object_id":"V1","location_id":"L1","state":"IN_STOCK","quantity":"53"},
				{"catalog_object_id":"V1","location_id":"L1","state":"SOLD","quantity":"2"}]}}`),
			[]string{`inventory.count.updated patch inventory_count/V1:L1:IN_STOCK{"catalog_object_id":"V1","location_id":"L1","quantity":"53","state":"IN_STOCK"}` +
				` patch inventory_count/V1:L1:SOLD{"catalog_object_id":"V1","location_id":"L1","quantity":"2","state":"SOLD"}`}},
		"an order is made": {"square",
			square("order.created", `{"type":"order_created","id":"O1","object":{"order_created":{"order_id":"O1","version":1,"state":"OPEN"}}}`),
			[]string{`order.created patch order/O1@1{"order_id":"O1","state":"OPEN","version":1}`}},
		"an order is fulfilled": {"square",
			square("order.fulfillment.updated", `{"type":"order","id":"O1","object":{"order_fulfillment_updated":{"order_id":"O1","version":6,"state":"OPEN","fulfillment_update":[]}}}`),
			[]string{`order.fulfillment.updated patch order/O1@6{"fulfillment_update":[],"order_id":"O1","state":"OPEN","version":6}`}},
		"evidence of a dispute is deleted": {"square",
			square("dispute.evidence.deleted", `{"type":"dispute","id":"D1","object":{"dispute":{"id":"D1","state":"EVIDENCE_REQUIRED"}}}`),
			[]string{`dispute.evidence.deleted patch dispute/D1{"id":"D1","state":"EVIDENCE_REQUIRED"}`}},
		"a terminal's checkout": {"square",
			square("terminal.checkout.updated", `{"type":"checkout.event","id":"C1","object":{"checkout":{"id":"C1","status":"COMPLETED"}}}`),
			[]string{`terminal.checkout.updated patch checkout/C1{"id":"C1","status":"COMPLETED"}`}},
		"customers that were merged into a new one": {"square",
			square("customer.deleted", `{"type":"customer","id":"A","deleted":true,"object":{"customer":{"id":"A"},"event_context":{"merge":{"from_customer_ids":["A","B"],"to_customer_id":"C"}}}}`),
			[]string{`customer.deleted delete customer/A{"id":"A"} patch customer/C`}},
		"the catalog of a merchant": {"square",
			square("catalog.version.updated", `{"type":"catalog","id":"","object":{"catalog_version":{"updated_at":"2026-05-04T12:00:00Z"}}}`),
			[]string{`catalog.version.updated patch catalog/M{"updated_at":"2026-05-04T12:00:00Z"}`}},
		"an app that a merchant has removed": {"square",
			square("oauth.authorization.revoked", `{"type":"revocation","id":"1826","object":{"revocation":{"revoked_at":"2026-05-04T12:00:00Z","revoker_type":"MERCHANT"}}}`),
			[]string{`oauth.authorization.revoked patch merchant/M{"revoked_at":"2026-05-04T12:00:00Z","revoker_type":"MERCHANT"}`}},
		"a test notification": {"intercom",
			sent{body: `{"type":"notification_event","app_id":"a","data":{"type":"notification_event_data","item":{"type":"ping","message":"hello"}},"id":null,"topic":"ping","delivery_attempts":1,"created_at":1700000000}`},
			[]string{`ping`}},
		"two entitlements of a drop": {"twitch",
			twitch("drop.entitlement.grant", `"events":[
				{"id":"e1","data":{"entitlement_id":"E1","benefit_id":"B","campaign_id":"C","user_id":"1","user_login":"ada"}},
				{"id":"e2","data":{"entitlement_id":"E2","benefit_id":"B","campaign_id":"C","user_id":"2","user_login":"bob"}}]`),
			[]string{`drop.entitlement.grant patch subscription/s1{"status":"enabled","type":"drop.entitlement.grant","version":"1"}` +
				` patch user/1{"login":"ada"} patch user/2{"login":"bob"}` +
				` patch entitlement/E1{"benefit_id":"B","campaign_id":"C","entitlement_id":"E1","user_id":"1","user_login":"ada"}` +
				` patch entitlement/E2{"benefit_id":"B","campaign_id":"C","entitlement_id":"E2","user_id":"2","user_login":"bob"}`}},
		"a raid": {"twitch",
			twitch("channel.raid", `"event":{"from_broadcaster_user_id":"1","from_broadcaster_user_login":"ada","to_broadcaster_user_id":"2","to_broadcaster_user_login":"bob","viewers":9}`),
			[]string{`channel.raid patch subscription/s1{"status":"enabled","type":"channel.raid","version":"1"} patch broadcaster/1{"login":"ada"} patch broadcaster/2{"login":"bob"}`}},
		"a member's profile": {"mailchimp",
			mailchimp("profile", "data[id]", "8a25", "data[web_id]", "3", "data[email]", "Ada@Example.com", "data[merges][FNAME]", "Ada", "data[merges][AGE]", "36"),
			[]string{`profile patch member/L:ada@example.com{"email":"Ada@Example.com","first_name":"Ada","last_event":"profile","merges":{"AGE":"36","FNAME":"Ada"},"unique_email_id":"8a25","web_id":"3"} patch audience/L`}},
		"an address that bounces": {"mailchimp",
			mailchimp("cleaned", "data[campaign_id]", "4fjk", "data[reason]", "hard", "data[email]", "ada@example.com"),
			[]string{`cleaned patch member/L:ada@example.com{"email":"ada@example.com","last_event":"cleaned","reason":"hard"} patch campaign/4fjk patch audience/L`}},
		"a member with a new address": {"mailchimp",
			mailchimp("upemail", "data[new_id]", "51da", "data[new_email]", "new@example.com", "data[old_email]", "Old@example.com"),
			[]string{`upemail patch member/L:new@example.com{"email":"new@example.com","last_event":"upemail","old_email":"Old@example.com","unique_email_id":"51da"}` +
				` delete member/L:old@example.com{"new_email":"new@example.com"} patch audience/L`}},
		"a campaign that is sent": {"mailchimp",
			mailchimp("campaign", "data[id]", "5aa2", "data[subject]", "Hello", "data[status]", "sent"),
			[]string{`campaign patch campaign/5aa2{"last_event":"campaign","status":"sent","subject":"Hello"} patch audience/L`}},
		"a reaction": {"telegram",
			telegram("message_reaction", `"chat":{"id":5,"type":"group"},"message_id":7,"date":1700000000,"user":{"id":9,"first_name":"Ada"},"old_reaction":[],"new_reaction":[{"type":"emoji","emoji":"👍"}]`),
			[]string{`message_reaction patch message/5:7{} patch reaction/5:7:9{"reactions":[{"emoji":"👍","type":"emoji"}]} patch chat/5{"type":"group"} patch user/9{"first_name":"Ada"}`}},
		"a reaction of an anonymous admin": {"telegram",
			telegram("message_reaction", `"chat":{"id":5,"type":"group"},"message_id":7,"date":1700000000,"actor_chat":{"id":-5,"type":"group"},"old_reaction":[],"new_reaction":[]`),
			[]string{`message_reaction patch message/5:7{} patch reaction/5:7:-5{"reactions":[]} patch chat/5{"type":"group"}`}},
		"anonymous reactions": {"telegram",
			telegram("message_reaction_count", `"chat":{"id":5,"type":"channel"},"message_id":7,"date":1700000000,"reactions":[{"type":{"type":"emoji","emoji":"👍"},"total_count":3}]`),
			[]string{`message_reaction_count patch message/5:7{"reactions":[{"total_count":3,"type":{"emoji":"👍","type":"emoji"}}]} patch chat/5{"type":"channel"}`}},
		"a poll": {"telegram",
			telegram("poll", `"id":"P1","question":"Tea?","total_voter_count":3,"options":[]`),
			[]string{`poll patch poll/P1{"id":"P1","options":[],"question":"Tea?","total_voter_count":3}`}},
		"an answer to a poll": {"telegram",
			telegram("poll_answer", `"poll_id":"P1","user":{"id":9,"first_name":"Ada"},"option_ids":[1]`),
			[]string{`poll_answer patch poll/P1 patch user/9{"first_name":"Ada"}`}},
		"a button below a message": {"telegram",
			telegram("callback_query", `"id":"q","from":{"id":9,"first_name":"Ada"},"data":"yes","message":{"message_id":7,"date":1700000000,"chat":{"id":5,"type":"group"}}`),
			[]string{`callback_query patch message/5:7{} patch chat/5{"type":"group"} patch user/9{"first_name":"Ada"}`}},
		"a message of a business account": {"telegram",
			telegram("business_message", `"business_connection_id":"B1","message_id":7,"date":1700000000,"chat":{"id":5,"type":"private"},"from":{"id":5,"first_name":"Ada"}`),
			[]string{`business_message patch message/B1:5:7{"date":1700000000,"from":5} patch chat/5{"type":"private"} patch user/5{"first_name":"Ada"}`}},
		"deleted messages of a business account": {"telegram",
			telegram("deleted_business_messages", `"business_connection_id":"B1","chat":{"id":5,"type":"private"},"message_ids":[7,8]`),
			[]string{`deleted_business_messages delete message/B1:5:7{} delete message/B1:5:8{} patch chat/5{"type":"private"}`}},
		"a batch of Event Streams": {"twilio",
			twilio(`[{"specversion":"1.0","type":"com.twilio.messaging.message.delivered","source":"twilio.messaging","id":"EZ1","time":"2026-05-04T12:00:00Z",
				"data":{"accountSid":"AC1","messageSid":"SM1","messageStatus":"DELIVERED"}},
				{"specversion":"1.0","type":"com.twilio.voice.status-callback.call.completed","source":"twilio.voice","id":"EZ2","time":"2026-05-04T12:00:00Z",
				"data":{"AccountSid":"AC1","CallSid":"CA1","CallStatus":"completed"}}]`),
			[]string{`com.twilio.messaging.message.delivered patch message/SM1{"status":"delivered"} patch account/AC1`,
				`com.twilio.voice.status-callback.call.completed patch call/CA1{"status":"completed"} patch account/AC1`}},
		"the second callback of a call": {"twilio",
			sent{form("CallSid", "CA1", "CallStatus", "ringing", "SequenceNumber", "1", "AccountSid", "AC1"), []string{"content-type", decode.FormType}},
			[]string{`voice.ringing patch call/CA1@1{"status":"ringing"} patch account/AC1`}},
		"a participant who joins a conference": {"twilio",
			sent{form("CallSid", "CA1", "SequenceNumber", "7", "ConferenceSid", "CF1", "AccountSid", "AC1"), []string{"content-type", decode.FormType}},
			[]string{`unknown patch call/CA1{} patch account/AC1`}},
		"a dispute": {"paypal",
			paypal("CUSTOMER.DISPUTE.UPDATED", "dispute", `{"dispute_id":"PP-D-1","update_time":"2026-05-04T11:59:59.250Z","status":"OPEN","disputed_transactions":[{"seller_transaction_id":"CAP1"}]}`),
			[]string{`CUSTOMER.DISPUTE.UPDATED snapshot dispute/PP-D-1@1777895999250` +
				`{"dispute_id":"PP-D-1","disputed_transactions":[{"seller_transaction_id":"CAP1"}],"status":"OPEN","update_time":"2026-05-04T11:59:59.250Z"}`}},
		"a payout": {"paypal",
			paypal("PAYMENT.PAYOUTS-ITEM.SUCCEEDED", "payouts_item", `{"payout_item_id":"I1","payout_batch_id":"B1","transaction_status":"SUCCESS"}`),
			[]string{`PAYMENT.PAYOUTS-ITEM.SUCCEEDED snapshot payouts_item/I1{"payout_batch_id":"B1","payout_item_id":"I1","transaction_status":"SUCCESS"}`}},
		"a batch of payouts": {"paypal",
			paypal("PAYMENT.PAYOUTSBATCH.SUCCESS", "payouts", `{"batch_header":{"payout_batch_id":"B1","batch_status":"SUCCESS"}}`),
			[]string{`PAYMENT.PAYOUTSBATCH.SUCCESS snapshot payouts/B1{"batch_header":{"batch_status":"SUCCESS","payout_batch_id":"B1"}}`}},
		"an opened dispute": {"braintree",
			braintree("dispute_opened", `<dispute><amount>250.00</amount><kind>chargeback</kind><status>open</status><id>D1</id>`+
				`<transaction><id>T1</id></transaction><date-opened type="date">2026-05-04</date-opened></dispute>`),
			[]string{`dispute_opened patch dispute/D1{"last_event":"dispute_opened"}`}},
		"a dispute whose transaction comes first": {"braintree",
			braintree("dispute_won", `<dispute><transaction><id>T1</id></transaction><id>D1</id></dispute>`),
			[]string{`dispute_won patch dispute/D1{"last_event":"dispute_won"}`}},
		"a settled transaction": {"braintree",
			braintree("transaction_settled", `<transaction><id>T1</id><status>settled</status></transaction>`),
			[]string{`transaction_settled patch transaction/T1{"last_event":"transaction_settled"}`}},
		"a reviewed transaction": {"braintree",
			braintree("transaction_reviewed", `<transaction-review><transaction-id>T1</transaction-id><decision>ok</decision></transaction-review>`),
			[]string{`transaction_reviewed patch transaction/T1{"last_event":"transaction_reviewed"}`}},
		"a local payment": {"braintree",
			braintree("local_payment_funded", `<local-payment-funded><payment-id>P1</payment-id><transaction><id>1</id></transaction></local-payment-funded>`),
			[]string{`local_payment_funded patch local_payment/P1{"last_event":"local_payment_funded"}`}},
		"a subscription that was canceled": {"braintree",
			braintree("subscription_canceled", `<subscription><transactions type="array"><transaction><id>T1</id></transaction></transactions><id>S1</id></subscription>`),
			[]string{`subscription_canceled delete subscription/S1{"last_event":"subscription_canceled"}`}},
		"a participant of a meeting": {"zoom",
			sent{body: `{"event":"meeting.participant_joined","event_ts":1700000000000,"payload":{"account_id":"A","object":{"id":"9","uuid":"u1==","participant":{"user_id":"16778240","user_name":"Ada"}}}}`},
			[]string{`meeting.participant_joined patch meeting/A:9{"uuid":"u1=="} patch participant/A:u1==:16778240{"user_name":"Ada"} patch account/A`}},
		"a refund": {"adyen",
			adyen("REFUND", `"pspReference":"R1","originalReference":"P1","amount":{"value":5,"currency":"EUR"},"merchantReference":"o1","merchantAccountCode":"M","success":"false"`),
			[]string{`REFUND patch payment/P1{"last_event":"REFUND","merchant_account":"M","merchant_reference":"o1"}` +
				` patch modification/R1{"currency":"EUR","event":"REFUND","payment":"P1","success":"false","value":5}`}},
		"a report": {"adyen",
			adyen("REPORT_AVAILABLE", `"pspReference":"settlement.csv","merchantAccountCode":"M","success":"true"`),
			[]string{`REPORT_AVAILABLE patch report/M:settlement.csv{"success":"true"}`}},
		"a coupon": {"chargebee",
			sent{body: `{"id":"ev1","occurred_at":1700000000,"event_type":"coupon_updated","content":{"coupon":{"id":"C1","resource_version":5,"name":"Spring"}}}`},
			[]string{`coupon_updated snapshot coupon/C1@5{"id":"C1","name":"Spring","resource_version":5}`}},
		"a subscription that is deleted": {"chargebee",
			sent{body: `{"id":"ev1","occurred_at":1700000000,"event_type":"subscription_deleted","content":{"subscription":{"id":"S1","resource_version":5},"customer":{"id":"C1","resource_version":4}}}`},
			[]string{`subscription_deleted delete subscription/S1@5 snapshot customer/C1@4{"id":"C1","resource_version":4}`}},
		"an entry that is unpublished": {"contentful",
			sent{`{"sys":{"type":"DeletedEntry","id":"E1","space":{"sys":{"id":"S"}},"environment":{"sys":{"id":"master"}}}}`, []string{"x-contentful-topic", "ContentManagement.Entry.unpublish"}},
			[]string{`Entry.unpublish patch Entry/S/master:E1{"published":false}`}},
		"an invoice": {"coinbase-commerce",
			sent{body: `{"id":"d1","event":{"id":"e1","type":"invoice:paid","created_at":"2026-05-04T12:00:00Z","data":{"id":"I1","code":"X","status":"PAID"}}}`},
			[]string{`invoice:paid patch invoice/I1{"code":"X","status":"PAID"}`}},
		"a level of an inventory": {"shopify",
			shopify("inventory_levels/update", `{"inventory_item_id":1,"location_id":2,"available":5}`),
			[]string{`inventory_levels/update snapshot inventory_levels/1:2{"available":5,"inventory_item_id":1,"location_id":2} patch shop/s.myshopify.com`}},
		"a level that is gone": {"shopify",
			shopify("inventory_levels/disconnect", `{"inventory_item_id":1,"location_id":2}`),
			[]string{`inventory_levels/disconnect delete inventory_levels/1:2{"inventory_item_id":1,"location_id":2} patch shop/s.myshopify.com`}},
		"an order that is edited": {"shopify",
			shopify("orders/edited", `{"order_edit":{"id":3,"order_id":7,"line_items":{"additions":[],"removals":[]}}}`),
			[]string{`orders/edited patch orders/7 patch shop/s.myshopify.com`}},
		"a customer who is to be forgotten": {"shopify",
			shopify("customers/redact", `{"shop_id":1,"shop_domain":"s.myshopify.com","customer":{"id":9},"orders_to_redact":[7]}`),
			[]string{`customers/redact patch customers/9{"redact_requested":true} patch orders/7{"redact_requested":true} patch shop/s.myshopify.com`}},
		"a fulfillment order": {"shopify",
			shopify("fulfillment_orders/cancelled", `{"fulfillment_order":{"id":"gid://shopify/FulfillmentOrder/1","status":"cancelled"}}`),
			[]string{`fulfillment_orders/cancelled snapshot fulfillment_orders/gid://shopify/FulfillmentOrder/1{"id":"gid://shopify/FulfillmentOrder/1","status":"cancelled"} patch shop/s.myshopify.com`}},
		"a review of a merged pull request": {"github",
			sent{`{"action":"submitted","review":{"id":1},"pull_request":{"id":5,"number":1,"state":"closed","merged_at":"2026-05-04T12:00:00Z"},"repository":{"id":2,"full_name":"a/b"}}`,
				[]string{"x-github-event", "pull_request_review", "x-github-delivery", "g"}},
			[]string{`pull_request_review.submitted snapshot pull_request/5{"base":null,"draft":null,"head":null,"html_url":null,"id":5,"merged":true,"number":1,"state":"closed","title":null,"updated_at":null,"user":null}` +
				` patch repository/2{"default_branch":null,"full_name":"a/b","html_url":null,"id":2,"private":null}`}},
		"a member of an organization": {"github",
			sent{`{"action":"member_added","membership":{"state":"active","user":{"id":1}},"organization":{"id":2,"login":"acme"},"sender":{"id":3}}`,
				[]string{"x-github-event", "organization", "x-github-delivery", "g"}},
			[]string{`organization.member_added patch organization/2{"login":"acme"}`}},
		"a list that is renamed": {"trello",
			sent{body: `{"action":{"id":"a1","type":"updateList","date":"2026-05-04T12:00:00Z","data":{"list":{"id":"L1","name":"Done","closed":true},"board":{"id":"B1","name":"Work","shortLink":"x"},"old":{"name":"To do"}},"memberCreator":{"id":"m1","username":"ada","fullName":"Ada"}}}`},
			[]string{`updateList patch board/B1{"name":"Work","shortLink":"x"} patch list/L1{"closed":true,"name":"Done"} patch member/m1{"fullName":"Ada","username":"ada"}`}},
		"a customer who is identified": {"paystack",
			sent{body: `{"event":"customeridentification.success","data":{"customer_id":"9","customer_code":"CUS_1","email":"a@b.c"}}`},
			[]string{`customeridentification.success patch customer/CUS_1`}},
		"a template": {"docusign",
			sent{body: `{"event":"template-modified","generatedDateTime":"2026-05-04T12:00:00Z","data":{"accountId":"A","templateId":"T1"}}`},
			[]string{`template-modified patch template/T1{"last_event":"template-modified"} patch account/A`}},
		"a refund of an order": {"shopify",
			shopify("refunds/create", `{"id":3,"order_id":7}`),
			[]string{`refunds/create snapshot refunds/3{"id":3,"order_id":7} patch orders/7 patch shop/s.myshopify.com`}},
		"a template that is approved": {"meta",
			sent{body: `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"message_template_status_update","value":{"event":"APPROVED","message_template_id":5,"message_template_name":"hello","message_template_language":"en_US","reason":"NONE"}}]}]}`},
			[]string{`message_template_status_update patch message_template/5{"language":"en_US","name":"hello","reason":"NONE","status":"APPROVED"}`}},
		"a contact without a profile": {"meta",
			sent{body: `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"contacts":[{"wa_id":"49"}],"statuses":[{"id":"w1","status":"sent","recipient_id":"49","timestamp":"1700000000"}]}}]}]}`},
			[]string{`messages.sent patch message/w1{"status":"sent","to":"49"} patch contact/49{}`}},
		"a user of a site": {"jira",
			sent{body: `{"timestamp":1700000000000,"webhookEvent":"user_updated","user":{"self":"https://acme.atlassian.net/rest/api/2/user?accountId=u1","accountId":"u1","displayName":"Ada","active":true}}`},
			[]string{`user_updated patch user/acme.atlassian.net:u1{"active":true,"displayName":"Ada"}`}},
		"a board": {"jira",
			sent{body: `{"timestamp":1700000000000,"webhookEvent":"board_deleted","board":{"id":4,"self":"https://acme.atlassian.net/rest/agile/1.0/board/4","name":"Work","type":"scrum"}}`},
			[]string{`board_deleted delete board/acme.atlassian.net:4{"name":"Work","type":"scrum"}`}},
		"a release": {"gitlab",
			sent{body: `{"object_kind":"release","id":1,"name":"v1.1","tag":"v1.1","action":"create","released_at":"2026-05-04 12:00:00 UTC","project":{"id":2,"path_with_namespace":"a/b"}}`},
			[]string{`release patch release/1{"action":"create","name":"v1.1","released_at":"2026-05-04 12:00:00 UTC","tag":"v1.1"} patch project/2{"path_with_namespace":"a/b"}`}},
		"a deployment": {"gitlab",
			sent{body: `{"object_kind":"deployment","status":"success","status_changed_at":"2026-05-04 12:00:00 +0000","deployment_id":15,"environment":"staging","short_sha":"279484c0","ref":"main","project":{"id":2,"path_with_namespace":"a/b"}}`},
			[]string{`deployment patch deployment/15{"environment":"staging","ref":"main","short_sha":"279484c0","status":"success"} patch project/2{"path_with_namespace":"a/b"}`}},
		"a recording of a recurring meeting": {"zoom",
			sent{body: `{"event":"recording.deleted","event_ts":1700000000000,"payload":{"account_id":"A","object":{"id":"9","uuid":"u1=="}}}`},
			[]string{`recording.deleted delete recording/A:u1=={"meeting_id":"9","uuid":"u1=="} patch account/A`}},
		"one occurrence of a meeting": {"zoom",
			sent{body: `{"event":"meeting.deleted","event_ts":1700000000000,"payload":{"account_id":"A","operation":"single","object":{"id":"9","uuid":"u1=="}}}`},
			[]string{`meeting.deleted patch meeting/A:9 patch account/A`}},
		"all occurrences of a meeting": {"zoom",
			sent{body: `{"event":"meeting.deleted","event_ts":1700000000000,"payload":{"account_id":"A","operation":"all","object":{"id":"9","uuid":"u1=="}}}`},
			[]string{`meeting.deleted delete meeting/A:9{"uuid":"u1=="} patch account/A`}},
		"members of a group": {"line",
			sent{body: `{"destination":"B","events":[{"type":"memberJoined","webhookEventId":"01","timestamp":1700000000000,"source":{"type":"group","groupId":"G"},"joined":{"members":[{"type":"user","userId":"U1"},{"type":"user","userId":"U2"}]}}]}`},
			[]string{`memberJoined patch user/B:U1 patch user/B:U2 patch group/B:G`}},
		"a message in a room": {"line",
			sent{body: `{"destination":"B","events":[{"type":"message","webhookEventId":"01","timestamp":1700000000000,"source":{"type":"room","roomId":"R","userId":"U1"},"message":{"id":"1","type":"text"}}]}`},
			[]string{`message patch message/1{"type":"text"} patch user/B:U1{} patch room/B:R`}},
		"a subscription of an app": {"shopify",
			shopify("app_subscriptions/update", `{"app_subscription":{"admin_graphql_api_id":"gid://shopify/AppSubscription/1","status":"ACTIVE"}}`),
			[]string{`app_subscriptions/update snapshot app_subscriptions/gid://shopify/AppSubscription/1{"admin_graphql_api_id":"gid://shopify/AppSubscription/1","status":"ACTIVE"} patch shop/s.myshopify.com`}},
		"a board that is closed": {"trello",
			sent{body: `{"action":{"id":"a1","type":"updateBoard","date":"2026-05-04T12:00:00Z","data":{"board":{"id":"B1","name":"Work","closed":true}},"memberCreator":{"id":"m1","username":"ada","fullName":"Ada"}}}`},
			[]string{`updateBoard patch board/B1{"closed":true,"name":"Work"} patch member/m1{"fullName":"Ada","username":"ada"}`}},
		"a channel that is renamed": {"slack",
			slack(`"type":"channel_rename","channel":{"id":"C1","name":"news","created":1360782804}`),
			[]string{`channel_rename patch team/T patch channel/T:C1{"name":"news"}`}},
		"a channel that is deleted": {"slack",
			slack(`"type":"channel_deleted","channel":"C1"`),
			[]string{`channel_deleted patch team/T delete channel/T:C1`}},
		"a user who changes": {"slack",
			slack(`"type":"user_change","user":{"id":"U1","name":"ada","real_name":"Ada","deleted":false}`),
			[]string{`user_change patch team/T patch user/T:U1{"deleted":false,"name":"ada","real_name":"Ada"}`}},
		"a reaction in a channel": {"slack",
			slack(`"type":"reaction_added","user":"U1","reaction":"tada","item":{"type":"message","channel":"C1","ts":"1.2"}`),
			[]string{`reaction_added patch team/T patch channel/T:C1 patch user/T:U1`}},
	} {
		t.Run(d.provider+"/"+name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, d.events, eventsOf(t, d))
		})
	}
}

// The time of an event is the one in its body, in full precision: events accepted and delivered within a second keep their
// order.
func TestEventsHaveTheTimeInTheirBody(t *testing.T) {
	t.Parallel()
	for provider, c := range map[string]struct{ body, at string }{
		"mailgun": {`{"signature":{"token":"t"},"event-data":{"event":"accepted","timestamp":1529006854.329574}}`, "2018-06-14T20:07:34.329574Z"},
		"gitlab":  {`{"object_kind":"deployment","status":"running","status_changed_at":"2021-04-28 21:50:00 +0200","deployment_id":15}`, "2021-04-28T19:50:00Z"},
		"twilio":  {`[{"id":"EZ1","type":"com.twilio.voice.x","time":"2026-05-04T12:00:00.5Z","data":{}}]`, "2026-05-04T12:00:00.5Z"},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			item := itemOfSent(t, provider, sent{body: c.body})
			parsed, err := providerOf(t, provider, secretOfTests).Parse(receiptOfTest(providerOf(t, provider, secretOfTests), item), item.Body)
			require.NoError(t, err)
			require.Equal(t, c.at, parsed.OccurredAt.Format(time.RFC3339Nano))
		})
	}
}
