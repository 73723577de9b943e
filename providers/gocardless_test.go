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
)

// gocardlessFold gives the entities after some events of GoCardless: resource type, action and links, in the order in which they
// happened; arrived is the order in which they are parsed.
func gocardlessFold(t require.TestingT, p *Provider, events [][3]string, arrived []int) map[string]event.Entity {
	changes := map[event.EntityRef][]event.OrderedChange{}
	for _, i := range arrived {
		body := fmt.Sprintf(`{"id":"EV%d","created_at":%q,"resource_type":%q,"action":%q,"links":{%s}}`, i,
			clock.Add(time.Duration(i)*time.Second).Format(time.RFC3339), events[i][0], events[i][1], events[i][2])
		parsed, err := p.Parse(event.Receipt{Provider: "gocardless", KeyFrom: event.KeyFromEvent, ReceivedAt: clock, Root: []byte(`{}`)},
			[]byte(body))
		require.NoError(t, err)
		for _, c := range parsed.Changes {
			ref := event.EntityRef{Provider: "gocardless", Kind: c.Kind, ExternalID: c.ExternalID}
			changes[ref] = append(changes[ref], event.OrderedChange{
				Order: event.Order{OccurredAt: parsed.OccurredAt, EventID: strconv.Itoa(i)}, Change: c,
			})
		}
	}
	entities := map[string]event.Entity{}
	for ref, all := range changes {
		e, err := event.Fold(ref, all)
		require.NoError(t, err)
		entities[ref.Kind+"/"+ref.ExternalID] = e
	}
	return entities
}

// A membership at GoCardless, in whichever order its events arrive:
//   - one person is one member, though few events name the customer
//   - a subscription has the status of its own events, and a payment of it has another
//   - the member leads to the subscription, whose end is told by an event that names nothing else
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
	}
	rapid.Check(t, func(t *rapid.T) {
		arrived := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6}).Draw(t, "arrived")
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
		require.JSONEq(t, `{"status":"active","customer":"CU1","subscriptions":{"SB1":{}}}`, string(entities["member/MD1"].State))
		require.Equal(t, "active", status("mandate/MD1"))
		require.Equal(t, "cancelled", status("subscription/SB1"))
		require.Equal(t, "confirmed", status("payment/PM1"))
		require.JSONEq(t, `{"status":"confirmed","mandate":"MD1","subscription":"SB1"}`, string(entities["transaction/PM1"].State))
		require.Equal(t, []event.EntityRef{{Provider: "gocardless", Kind: "subscription", ExternalID: "SB1"}},
			p.Related(entities["member/MD1"]))
		require.Equal(t, []event.EntityRef{{Provider: "gocardless", Kind: "member", ExternalID: "MD1"}},
			p.Related(entities["customer/CU1"]))
	})
}
