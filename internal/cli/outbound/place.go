package outbound

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"holdfast/delivery"
	"holdfast/providers/definition"
)

// field is what a reason begins with, if it names one: "http.url must be …", "to: there is no …".
var field = regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)*`)

// placeOf is "[line:column] " of the field of an entry that a reason begins with, or else of the entry; "" where none is known.
func placeOf(data []byte, kind, name, reason string) string {
	at := definition.PlaceOf(data, kind+"."+name+"."+field.FindString(reason))
	if at.Line == 0 {
		return ""
	}
	return fmt.Sprintf("[%d:%d] ", at.Line, at.Column)
}

// everyMistake are the first ones of all entries, where reading has ended at the first of the file.
func everyMistake(data []byte, first error) (all []error) {
	for _, kind := range entriesOf(bodyOf(data)) {
		for _, entry := range entriesOf(kind.Value) {
			var into any
			switch kind.Key.String() {
			case "destinations":
				into = &delivery.Destination{}
			case "subscriptions":
				into = &activeSubscription{}
			default:
				return []error{errors.New(yaml.FormatError(placed(first, data), false, true))}
			}
			if err := yaml.NodeToValue(entry.Value, into, decoding()...); err != nil {
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
