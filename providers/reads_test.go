package providers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event/shape"
)

// The rules of a type are listed with the paths that they read, those of other types and overrides aren't. Items of an array have
// the path of the array.
func TestWhichPathsRulesRead(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, `
name: acme
auth: [{hmac: {secrets: ACME_SECRET, signed: "{body}", signature: {header: x-acme-signature}}}]
type: .body.type
source: .body.shop // .body.account.id
key: {parts: [.body.id], certainty: certain}
occurred_at: [{expr: .body.at, units: [unix_s]}]
entities:
  - {kind: order, id: ".body.order.id | tostring", op: snapshot, state: .body.order, types: ["order.*"]}
  - {kind: item, each: ".body.order.lines[]?", id: $item.sku, op: patch, state: "{name: $item.name}", types: ["order.*"]}
  - {kind: buyer, id: .body.buyer, op: patch, types: ["buyer.*"]}
overrides:
  - {types: ["order.gone"], key: {parts: [.body.uuid], certainty: certain}}
`)
	always := []shape.Read{
		{Path: "type", Rule: "type"}, {Path: "shop", Rule: "source", HasOther: true},
		{Path: "account.id", Rule: "source", HasOther: true},
		{Path: "at", Rule: "occurred_at[0].expr"},
	}
	ofOrders := []shape.Read{
		{Path: "order.id", Rule: "entities[0].id"}, {Path: "order", Rule: "entities[0].state"},
		{Path: "order.lines", Rule: "entities[1].each"}, {Path: "order.lines[].sku", Rule: "entities[1].id"},
		{Path: "order.lines[].name", Rule: "entities[1].state"},
	}
	require.ElementsMatch(t, append(append(ofOrders, always...), shape.Read{Path: "id", Rule: "key.parts[0]"}), p.Reads("order.paid"))
	require.ElementsMatch(t, append(append(ofOrders, always...), shape.Read{Path: "uuid", Rule: "overrides[0].key.parts[0]"}),
		p.Reads("order.gone"))
	require.ElementsMatch(t, append(always, shape.Read{Path: "id", Rule: "key.parts[0]"},
		shape.Read{Path: "buyer", Rule: "entities[2].id"}), p.Reads("buyer.new"))
	require.Empty(t, Reads(func(string) (*Provider, bool) { return nil, false })("nobody", "order.paid"))
}
