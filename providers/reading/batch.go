package reading

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/event"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
)

// cut cuts the events with long lists. The limit of events of a request is the same with and without parts.
func (p *Reader) cut(bodies [][]byte, root json.RawMessage) (items []Item) {
	for i, body := range bodies {
		parts := p.partsOf(body)
		if n := len(items) + len(parts) + len(bodies) - i - 1; n > decode.MaxItems || n*len(root) > decode.MaxCopied {
			parts = nil
		}
		if len(parts) == 0 {
			items = append(items, Item{Received: event.Received{Body: body}})
		}
		for n, part := range parts {
			items = append(items, Item{Received: event.Received{Body: part}, Part: n + 1, Parts: len(parts)})
		}
	}
	return items
}

func (p *Reader) partsOf(body []byte) [][]byte {
	if len(p.parts.Paths) == 0 {
		return nil
	}
	return p.parts.Parts(body)
}

// bodiesOf returns the bytes of each event of a body, and the envelope without them. If the body itself may be the list but
// isn't, it is one event.
func (p *Reader) bodiesOf(body []byte) ([][]byte, json.RawMessage) {
	if p.batch == nil {
		return [][]byte{body}, nil
	}
	parts, root, ok := decode.SplitArray(body, p.batch)
	if !ok {
		return [][]byte{body}, nil
	}
	return parts, bytes.Clone(root)
}

func (c compiler) newBatch(d *definition.Batch) []string {
	if d == nil || d.Items == "" && d.Parts != nil {
		return nil
	}
	if d.Items == "." {
		return []string{} // the body itself
	}
	path := strings.Split(d.Items, ".")
	if slices.Contains(path, "") {
		c.Add("batch.items", "want the dotted path of an array in the body, such as events or data.events, or . for the body")
		return nil
	}
	return path
}

// maxPartSize is how many entities an event changes in one transaction.
const maxPartSize = 500

func (c compiler) newParts(d *definition.Batch) (l decode.PartLists) {
	if d == nil || d.Parts == nil {
		return l
	}
	if l.Size = d.Parts.Size; l.Size < 1 || l.Size > maxPartSize {
		c.Add("batch.parts.size", "want 1 to %d items per event", maxPartSize)
	}
	if len(d.Parts.Lists) == 0 {
		c.Add("batch.parts.lists", "is missing: name the lists to cut")
	}
	for i, list := range d.Parts.Lists {
		path := strings.Split(list, ".")
		if slices.Contains(path, "") {
			c.Add(fmt.Sprintf("batch.parts.lists[%d]", i),
				"want the dotted path of a list in the event, such as data or changes.value.messages")
		}
		l.Paths = append(l.Paths, path)
	}
	return l
}
