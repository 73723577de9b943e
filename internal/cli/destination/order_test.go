package destination

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// The steps are about the head that blocks others the longest. A paused one hasn't failed: an operator resumes it.
func TestTheOrderNamesTheNextStep(t *testing.T) {
	t.Parallel()
	text := func(o delivery.Ordered) string {
		var b strings.Builder
		require.NoError(t, writeOrder(&b, "crm", o))
		return b.String()
	}
	heads := []delivery.OrderHead{
		{OrderKey: "fresh", EventID: "e1", Waiting: 3}, {OrderKey: "alone", EventID: "e2", Attempts: 3},
		{OrderKey: "blocked", EventID: "e3", Attempts: 1, Waiting: 1}, {OrderKey: "later", EventID: "e4", Attempts: 1, Waiting: 9},
	}
	failing := text(delivery.Ordered{Heads: heads, Keys: 4, Waiting: delivery.MaxOrderCounted})
	require.Contains(t, failing, "Keys with a head: 4; deliveries behind heads: at least 10000\n"+
		"See why it fails: holdfast delivery show e3 crm\n"+
		"Let the others go first: holdfast delivery skip e3 crm\nGive it up: holdfast delivery cancel e3 crm\n")

	heads[0].Paused = true
	paused := text(delivery.Ordered{Heads: heads, Keys: 4, Unsorted: 1})
	require.Contains(t, paused, "Deliveries delayed by an earlier transaction: 1, since ")
	require.Contains(t, paused, "Resume the key: holdfast delivery resume e1 crm\n")
	require.NotContains(t, paused, "delivery show")

	require.NotContains(t, text(delivery.Ordered{Heads: heads[1:2], Keys: 1}), "holdfast delivery", "nothing is blocked")
}
