#!/usr/bin/env bash
# Convoy: a filter with two conditions passes events that lack the field of one of them.
#
# Version:  frain-dev/convoy 0.9.2, the newest that the module proxy has (Go 1.26): pkg/compare and pkg/flatten, which its
#           subscriptions use. At 2b60cc65 (August 2026) the last line of each filter is the same, except for a filter with a single
#           condition, which is false.
# Guess:    {"tenant": "a7", "amount": {"$gte": 100}} selects events of tenant a7 of at least 100. An event without a tenant doesn't
#           match, as in MongoDB, whose operators these are.
# Seen:     a condition about a missing field doesn't count. An event without a tenant, or with a misspelt one, passes a filter by
#           tenant. "$exist": true next to the field's other conditions changes nothing, since it isn't reached either.
# Hurts:    filters that keep tenants apart, and anyone who translates them for another system: a literal translation selects fewer
#           events, and loses what was delivered before.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
cat >go.mod <<'MOD'
module finding
go 1.26
require github.com/frain-dev/convoy v0.9.2
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"

	"github.com/frain-dev/convoy/pkg/compare"
	"github.com/frain-dev/convoy/pkg/flatten"
)

func main() {
	for _, filter := range []string{
		`{"tenant": "a7"}`, `{"tenant": "a7", "amount": {"$gte": 100}}`, `{"tenant": {"$exist": true, "$eq": "a7"}, "amount": {"$gte": 100}}`,
	} {
		for _, event := range []string{`{"tenant": "a7", "amount": 150}`, `{"tenant": "b8", "amount": 150}`, `{"amount": 150}`} {
			fmt.Println(filter, event, compare.Compare(flat(event), flat(filter)))
		}
	}
}

func flat(text string) map[string]any {
	var tree map[string]any
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		panic(err)
	}
	paths, err := flatten.Flatten(tree)
	if err != nil {
		panic(err)
	}
	return paths
}
GO
go mod tidy 2>/dev/null
go run . | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
{"tenant": "a7"} {"tenant": "a7", "amount": 150} true
{"tenant": "a7"} {"tenant": "b8", "amount": 150} false
{"tenant": "a7"} {"amount": 150} true
{"tenant": "a7", "amount": {"$gte": 100}} {"tenant": "a7", "amount": 150} true
{"tenant": "a7", "amount": {"$gte": 100}} {"tenant": "b8", "amount": 150} false
{"tenant": "a7", "amount": {"$gte": 100}} {"amount": 150} true
{"tenant": {"$exist": true, "$eq": "a7"}, "amount": {"$gte": 100}} {"tenant": "a7", "amount": 150} true
{"tenant": {"$exist": true, "$eq": "a7"}, "amount": {"$gte": 100}} {"tenant": "b8", "amount": 150} false
{"tenant": {"$exist": true, "$eq": "a7"}, "amount": {"$gte": 100}} {"amount": 150} true
SEEN
echo "as seen"
