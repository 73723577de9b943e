package destination

import (
	"errors"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"holdfast/delivery"
	"holdfast/delivery/declared"
)

// allErrors returns the first error of every entry; parsing stops at the first one of the file. What only a check finds
// gets its place in file.go.
func allErrors(data []byte, first error) (all []error) {
	for _, kind := range entriesOf(bodyOf(data)) {
		for _, entry := range entriesOf(kind.Value) {
			var into any
			switch kind.Key.String() {
			case "destinations":
				into = &delivery.Destination{}
			case "subscriptions":
				into = &declared.Subscription{}
			default:
				return []error{errors.New(yaml.FormatError(placed(first, data), false, true))}
			}
			if err := yaml.NodeToValue(entry.Value, into, Decoding()...); err != nil {
				all = append(all, errors.New(yaml.FormatError(placed(err, data), false, true)))
			}
		}
	}
	if len(all) < 2 {
		return []error{errors.New(yaml.FormatError(placed(first, data), false, true))}
	}
	return all
}

func bodyOf(data []byte) ast.Node {
	parsed, err := parser.ParseBytes(data, 0)
	if err != nil || len(parsed.Docs) == 0 {
		return nil
	}
	return parsed.Docs[0].Body
}

func entriesOf(node ast.Node) []*ast.MappingValueNode {
	if entries, ok := node.(*ast.MappingNode); ok {
		return entries.Values
	}
	return nil
}
