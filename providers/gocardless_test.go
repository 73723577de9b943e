package providers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast/event"
	"holdfast/event/fold"
)

// gocardlessFold returns the entities after some GoCardless events: resource type, action and links, in the order in which they
// happened; arrived is the order in which they are parsed. It collects all names before it folds, which the store doesn't need:
// see TestOnePersonIsOneMember.
func gocardlessFold(t require.TestingT, p *Provider, events [][3]string, arrived []int) map[string]event.Entity {
	var all []event.OrderedChange
	best := map[string]string{}
	of := func(name string) string {
		for best[name] != "" {
			name = best[name]
		}
		return name
	}
	for _, i := range arrived {
		body := fmt.Sprintf(`{"id":"EV%d","created_at":%q,"resource_type":%q,"action":%q,"links":{%s}}`, i,
			clock.Add(time.Duration(i)*time.Second).Format(time.RFC3339), events[i][0], events[i][1], events[i][2])
		r := event.Receipt{
			ID: strconv.Itoa(i), Provider: "gocardless", KeyFrom: event.KeyFromEvent, ReceivedAt: clock, Root: []byte(`{}`),
		}
		parsed, err := p.Parse(r, []byte(body))
		require.NoError(t, err)
		for _, c := range parsed.Changes {
			all = append(all, event.OrderedChange{Order: event.OrderOf(r, parsed, c), Change: c})
			for _, n := range c.Names {
				if a, b := of(c.ExternalID), of(n.Name); a != b { // a customer comes before a mandate, and that before a subscription
					best[max(a, b)] = min(a, b)
				}
			}
		}
	}
	changes := map[event.EntityRef][]event.OrderedChange{}
	for _, c := range all {
		ref := event.EntityRef{Provider: "gocardless", Kind: c.Change.Kind, ExternalID: c.Change.ExternalID}
		if len(c.Change.Names) > 0 {
			ref.ExternalID = of(ref.ExternalID)
		}
		changes[ref] = append(changes[ref], c)
	}
	entities := map[string]event.Entity{}
	for ref, all := range changes {
		e, err := fold.Of(ref, all)
		require.NoError(t, err)
		entities[ref.Kind+"/"+ref.ExternalID] = e
	}
	return entities
}

// A GoCardless membership, whatever the order of its events:
//   - one person is one member, though few events name the customer: with two mandates, of which one replaces a third
//   - an event that names only a subscription reaches the member
//   - a subscription has the status of its own events, and a payment of it has another
//   - the member has the status of the subscription, also if its mandate becomes active later
//   - the member leads to the subscription, whose end is in an event that names nothing else
func TestGocardlessMembership(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "gocardless", secretOfTests)
	events := [][3]string{
		{"mandates", "created", `"mandate":"MD1","customer":"CU1"`},
		{"mandates", "active", `"mandate":"MD1"`},
		{"subscriptions", "created", `"subscription":"SB1","mandate":"MD1"`},
		{"subscriptions", "cancelled", `"subscription":"SB1"`},
		{"subscriptions", "payment_created", `"subscription":"SB1","payment":"PM1"`},
		{"payments", "confirmed", `"payment":"PM1","mandate":"MD1"`},
		{"payments", "late_failure_settled", `"payment":"PM1"`},
		{"billing_requests", "fulfilled", `"billing_request":"BRQ1","mandate_request_mandate":"MD2","customer":"CU1"`},
		{"mandates", "replaced", `"mandate":"MD2","new_mandate":"MD3"`},
		{"mandates", "active", `"mandate":"MD3"`},
		{"billing_requests", "created", `"billing_request":"BRQ2","customer":"CU2"`},
	}
	rapid.Check(t, func(t *rapid.T) {
		arrived := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}).Draw(t, "arrived")
		entities := gocardlessFold(t, p, events, arrived)
		status := func(name string) any {
			var state map[string]any
			require.NoError(t, json.Unmarshal(entities[name].State, &state))
			return state["status"]
		}
		members := 0
		for name := range entities {
			if entities[name].Kind == "member" {
				members++
			}
		}
		require.Equal(t, 1, members)
		require.JSONEq(t, `{"status":"cancelled","customer":"CU1",
			"mandates":{"MD1":{"status":"active"},"MD2":{"status":"replaced"},"MD3":{"status":"active"}},
			"subscriptions":{"SB1":{"status":"cancelled"}}}`, string(entities["member/CU1"].State))
		require.Equal(t, "active", status("mandate/MD1"))
		require.Equal(t, "cancelled", status("subscription/SB1"))
		require.Equal(t, "confirmed", status("payment/PM1"))
		require.JSONEq(t, `{"status":"confirmed","mandate":"MD1","subscription":"SB1"}`, string(entities["transaction/PM1"].State))
		ref := func(kind, id string) event.EntityRef {
			return event.EntityRef{Provider: "gocardless", Kind: kind, ExternalID: id}
		}
		require.Equal(t, []event.EntityRef{
			ref("mandate", "MD1"), ref("mandate", "MD2"), ref("mandate", "MD3"), ref("subscription", "SB1"),
		}, p.Related(entities["member/CU1"]))
		require.Equal(t, []event.EntityRef{ref("member", "MD1"), ref("member", "MD2")}, p.Related(entities["customer/CU1"]))
	})
}

// The status of a member after each of these events, in order.
func TestAMemberFollowsTheSubscriptions(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "gocardless", secretOfTests)
	var events [][3]string
	for _, of := range []struct{ resource, action, links, status string }{
		{"mandates", "created", `"mandate":"MD1","customer":"CU1"`, "created"},
		{"mandates", "submitted", `"mandate":"MD1"`, "submitted"},
		{"subscriptions", "created", `"subscription":"SB1","mandate":"MD1"`, "active"},
		{"mandates", "active", `"mandate":"MD1"`, "active"},
		{"subscriptions", "payment_created", `"subscription":"SB1","payment":"PM1"`, "active"},
		{"payments", "failed", `"payment":"PM1","mandate":"MD1","subscription":"SB1"`, "active"},
		{"subscriptions", "paused", `"subscription":"SB1"`, "paused"},
		{"subscriptions", "scheduled_resume", `"subscription":"SB1"`, "paused"},
		{"subscriptions", "resumed", `"subscription":"SB1"`, "active"},
		{"subscriptions", "finished", `"subscription":"SB1"`, "finished"},
		{"mandates", "expired", `"mandate":"MD1"`, "finished"},
		{"subscriptions", "created", `"subscription":"SB2","mandate":"MD1"`, "active"},
		{"subscriptions", "cancelled", `"subscription":"SB2"`, "cancelled"},
	} {
		events = append(events, [3]string{of.resource, of.action, of.links})
		arrived := make([]int, len(events))
		for i := range arrived {
			arrived[i] = len(events) - 1 - i
		}
		var member struct{ Status string }
		require.NoError(t, json.Unmarshal(gocardlessFold(t, p, events, arrived)["member/CU1"].State, &member))
		require.Equal(t, of.status, member.Status, "after %s.%s", of.resource, of.action)
	}
}

// The sender's metadata, of the event and of the resource, is part of the entity.
func TestGocardlessMetadata(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "gocardless", secretOfTests)
	parsed, err := p.Parse(event.Receipt{Provider: "gocardless", KeyFrom: event.KeyFromEvent, ReceivedAt: clock, Root: []byte(`{}`)},
		[]byte(`{"id":"EV1","created_at":"2026-05-04T11:00:00.000Z","resource_type":"payments","action":"confirmed",
			"links":{"payment":"PM1"},"details":{},"metadata":{"order":"7"},"resource_metadata":{"member":"12"}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"status":"confirmed","links":{"payment":"PM1"},"metadata":{"order":"7"},"resource_metadata":{"member":"12"}}`,
		string(parsed.Changes[0].State))
}
