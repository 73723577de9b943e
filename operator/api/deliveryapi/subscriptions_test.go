package deliveryapi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/operator/api/deliveryapi"
)

func TestANameIsMadeForWhoGivesNone(t *testing.T) {
	t.Parallel()
	for address, wanted := range map[string]string{
		"https://Hooks.Example.com:8443/x": `^hooks-example-com-[0-9a-f]{8}$`, "no address": `^endpoint-[0-9a-f]{8}$`,
		"https://" + strings.Repeat("a", 39) + "-b.example": `^a{39}-[0-9a-f]{8}$`,
		"https://[::1]/": `^1-[0-9a-f]{8}$`,
	} {
		name := deliveryapi.NameFor(address, delivery.Events{})
		require.Regexp(t, wanted, name)
		require.LessOrEqual(t, len(name), 63, "destinations and subscriptions have no longer names")
	}
}

// A repeated request without a name gets the same name; a different request gets a different one.
func TestAWishHasOneName(t *testing.T) {
	t.Parallel()
	const address = "https://crm.example.com/hooks"
	customers, invoices := delivery.Events{Types: []string{"customer.*"}}, delivery.Events{Types: []string{"invoice.*"}}

	name := deliveryapi.NameFor(address, customers)
	require.Equal(t, name, deliveryapi.NameFor(address, customers))
	require.NotEqual(t, name, deliveryapi.NameFor(address, invoices))
	require.NotEqual(t, name, deliveryapi.NameFor(address+"/2", customers))
}
