package providers

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
)

// described is one request and what its events are about.
type described struct {
	provider string
	sent     sent
	// events have their type, and each change: operation, kind and ID, its version and its state.
	events []string
}

// eventsOf are the events of an authentic request, as described has them.
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

// Events change the entities that they are about. The bodies have the shape that each provider documents.
func TestEventsChangeWhatTheyDescribe(t *testing.T) {
	t.Parallel()
	hubspot := func(fields string) sent {
		return sent{body: `[{"eventId":1,"portalId":7,"occurredAt":1700000000000,` + fields + `}]`}
	}
	square := func(kind, data string) sent {
		return sent{body: `{"merchant_id":"M","event_id":"e1","created_at":"2026-05-04T12:00:00Z","type":"` + kind + `","data":` + data + `}`}
	}
	for name, d := range map[string]described{
		"a contact of a generic subscription": {"hubspot",
			hubspot(`"subscriptionType":"object.propertyChange","objectTypeId":"0-1","objectId":5,"propertyName":"email","propertyValue":"a@b.c"`),
			[]string{`object.propertyChange patch contact/7:5{"email":"a@b.c"} patch portal/7`}},
		"a company with the ID of that contact": {"hubspot",
			hubspot(`"subscriptionType":"object.deletion","objectTypeId":"0-2","objectId":5`),
			[]string{`object.deletion delete company/7:5{} patch portal/7`}},
		"a custom object": {"hubspot",
			hubspot(`"subscriptionType":"object.creation","objectTypeId":"2-1234","objectId":5`),
			[]string{`object.creation patch object_2-1234/7:5{} patch portal/7`}},
		"an object that is older than generic subscriptions": {"hubspot",
			hubspot(`"subscriptionType":"line_item.creation","objectId":5`),
			[]string{`line_item.creation patch line_item/7:5{} patch portal/7`}},
		"contacts that were merged into a new one": {"hubspot",
			hubspot(`"subscriptionType":"object.merge","objectTypeId":"0-1","objectId":9,"primaryObjectId":5,"mergedObjectIds":[6],"newObjectId":9`),
			[]string{`object.merge patch contact/7:9{} patch contact/7:5{"merged_into":9} patch contact/7:6{"merged_into":9} patch portal/7`}},
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
	} {
		t.Run(d.provider+"/"+name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, d.events, eventsOf(t, d))
		})
	}
}
