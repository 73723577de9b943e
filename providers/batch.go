package providers

import "strings"

func (c *compiler) newBatch(d *batchDefinition) []string {
	if d == nil {
		return nil
	}
	path := strings.Split(d.Items, ".")
	for _, name := range path {
		if name == "" {
			c.add("batch.items", "want the dotted path of an array in the body, such as events or data.events")
			return nil
		}
	}
	return path
}

func cutItems(body []byte, path []string) (items [][]byte, root []byte, ok bool) {
	return nil, nil, false
}
