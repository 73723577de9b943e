package declared

import (
	"bytes"
	"encoding/json"
	"strings"

	"holdfast/delivery"
)

// DestinationSettings returns the settings of a destination as JSON, by path.
func DestinationSettings(d delivery.Destination) (map[string]json.RawMessage, error) {
	return fieldsOf(destinationOf(d))
}

// SubscriptionSettings returns the settings of a subscription as JSON, by path.
func SubscriptionSettings(s delivery.Subscription) (map[string]json.RawMessage, error) {
	return fieldsOf(subscriptionOf(s))
}

func destinationOf(d delivery.Destination) any {
	d.ID, d.Version = 0, 0
	return d
}

func subscriptionOf(s delivery.Subscription) any {
	s.ID, s.Version, s.DestinationID = 0, 0, 0
	return s
}

// fieldsOf returns the leaves of a value as JSON, by path. A list is one leaf.
func fieldsOf(v any) (map[string]json.RawMessage, error) {
	text, err := plainJSON(v)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	delete(tree, "name") // a plan's entry has it
	leaves := map[string]json.RawMessage{}
	return leaves, addLeaves(leaves, "", tree)
}

func addLeaves(leaves map[string]json.RawMessage, path string, tree map[string]any) error {
	for name, v := range tree {
		field := strings.TrimPrefix(path+"."+name, ".")
		below, isMap := v.(map[string]any)
		if isMap && len(below) > 0 {
			if err := addLeaves(leaves, field, below); err != nil {
				return err
			}
			continue
		}
		if isMap {
			continue // events: {} equals no events
		}
		text, err := plainJSON(v)
		if err != nil {
			return err
		}
		leaves[field] = text
	}
	return nil
}

// plainJSON doesn't escape <, > and &, which are common in expressions.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
