package decode

import "holdfast/event"

// The limits of a batch: every event carries the envelope, and becomes a workflow.
const (
	// MaxItems is how many events a request may have.
	MaxItems = 5000
	// MaxCopied bounds the bytes of all copies of an envelope, if the events were cut.
	MaxCopied = 16 << 20

	maxRoot = 64 << 10
	// leastItem is the minimum average size of a batch's events in bytes, after the first: each costs the ingress a few thousand
	// bytes, however short it is.
	leastItem = 32
	fewItems  = 100
	// maxCopies is how many times its own size a batch may grow because its events carry the envelope.
	maxCopies = 64
)

// span is a run of bytes.
type span struct{ start, end int }

// SplitArray returns the elements of the array at the path, each as a slice of the body, and the body with an empty array in its
// place. ok is false if the body isn't JSON, doesn't have exactly one such array, or exceeds the limits on a batch or on its
// cost relative to its size.
func SplitArray(body []byte, path []string) (items [][]byte, root []byte, ok bool) {
	if checkText(body) != nil {
		return nil, nil, false
	}
	body = event.WithoutMark(body)
	s := arraySplitter{reader: newReader(body)}
	if s.find(path) != nil || s.end() != nil || s.found != 1 {
		return nil, nil, false
	}
	if s.isOutOfBounds() {
		return nil, nil, false
	}
	items = make([][]byte, len(s.items))
	for i, s := range s.items {
		items[i] = body[s.start:s.end:s.end]
	}
	root = make([]byte, 0, len(body)-(s.array.end-s.array.start)+2)
	root = append(root, body[:s.array.start]...)
	root = append(root, "[]"...)
	root = append(root, body[s.array.end:]...)
	return items, root, true
}

func (c *arraySplitter) isOutOfBounds() bool {
	root := len(c.data) - (c.array.end - c.array.start)
	return len(c.items) > MaxItems || root > maxRoot ||
		len(c.items) > fewItems+len(c.data)/leastItem || len(c.items)*root > maxCopies*len(c.data)
}

// arraySplitter looks for one array in a body.
type arraySplitter struct {
	reader
	found int
	array span
	items []span
}

func (c *arraySplitter) find(path []string) error {
	if len(path) == 0 {
		return c.split()
	}
	if c.peek() != '{' {
		return c.skip()
	}
	return c.fields(func(name string) error {
		if name == path[0] {
			return c.find(path[1:])
		}
		return c.skip()
	})
}

func (c *arraySplitter) split() error {
	if c.peek() != '[' {
		return c.skip()
	}
	c.found++
	c.array.start = c.pos
	err := c.list('[', ']', func() error {
		c.peek()
		start := c.pos
		err := c.skip()
		if len(c.items) <= MaxItems { // one more is too many; further ones needn't be counted
			c.items = append(c.items, span{start, c.pos})
		}
		return err
	})
	c.array.end = c.pos
	return err
}
