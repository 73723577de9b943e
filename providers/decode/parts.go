package decode

import "strings"

// PartLists are the lists of a body that are cut into parts.
type PartLists struct {
	// Paths lead to the lists. A list on the way to one is cut, too: its elements without further lists are items themselves.
	Paths [][]string
	// Size is how many items a part has.
	Size int
}

// Parts cuts a body with more than Size items into parts of that many, in the order of the body. Each part is the body with only
// its items in the lists, and everything else. It returns nil if the body has no more items than one part, isn't JSON, has a list
// twice, or exceeds the limits on a batch.
func (l PartLists) Parts(body []byte) (parts [][]byte) {
	if checkText(body) != nil {
		return nil
	}
	c := partCutter{reader: reader{data: string(body)}}
	lists, err := c.listsOf(l.Paths)
	if err != nil || c.end() != nil || c.ambiguous {
		return nil
	}
	n := (c.items + l.Size - 1) / l.Size
	if envelope := len(body) - c.size; n < 2 || n > MaxItems || envelope > maxRoot ||
		n > fewItems+len(body)/leastItem || n*envelope > maxCopies*len(body) {
		return nil
	}
	whole := element{span: span{0, len(body)}, lists: lists, to: c.items}
	for from := 0; from < c.items; from += l.Size {
		var part strings.Builder
		c.write(&part, whole, from, min(from+l.Size, c.items))
		parts = append(parts, []byte(part.String()))
	}
	return parts
}

// partCutter numbers the items of a body.
type partCutter struct {
	reader

	items     int
	size      int // of all items
	ambiguous bool
}

// element is a value that has lists, or an item. Its items have the numbers from..to.
type element struct {
	span

	lists    []list
	from, to int
}

type list struct {
	span

	elements []element
}

// listsOf finds the lists below the next value, and moves past it.
func (c *partCutter) listsOf(paths [][]string) (lists []list, err error) {
	switch c.peek() {
	case '{':
		seen := map[string]bool{}
		err = c.fields(func(name string) error {
			below, isOnPath := pathsBelow(paths, name)
			if !isOnPath {
				return c.skip()
			}
			c.ambiguous = c.ambiguous || seen[name]
			seen[name] = true
			found, err := c.listsOf(below)
			lists = append(lists, found...)
			return err
		})
		return lists, err
	case '[':
		l, err := c.listOf(paths)
		return []list{l}, err
	}
	return nil, c.skip()
}

func pathsBelow(paths [][]string, name string) (below [][]string, isOnPath bool) {
	for _, path := range paths {
		if len(path) > 0 && path[0] == name {
			below, isOnPath = append(below, path[1:]), true
		}
	}
	return below, isOnPath
}

func (c *partCutter) listOf(paths [][]string) (l list, err error) {
	l.start = c.pos
	err = c.list('[', ']', func() error {
		c.peek()
		e := element{span: span{start: c.pos}, from: c.items}
		var err error
		if c.peek() == '{' {
			e.lists, err = c.listsOf(paths)
		} else {
			err = c.skip()
		}
		if e.end = c.pos; c.items == e.from {
			c.items++
			c.size += e.end - e.start
			e.lists = nil
		}
		e.to = c.items
		l.elements = append(l.elements, e)
		return err
	})
	l.end = c.pos
	return l, err
}

// write writes an element with the items from..to.
func (c *partCutter) write(part *strings.Builder, e element, from, to int) {
	if from <= e.from && e.to <= to {
		part.WriteString(c.data[e.start:e.end])
		return
	}
	at := e.start
	for _, l := range e.lists {
		part.WriteString(c.data[at:l.start])
		part.WriteByte('[')
		isFirst := true
		for _, below := range l.elements {
			if below.to <= from || to <= below.from {
				continue
			}
			if !isFirst {
				part.WriteByte(',')
			}
			isFirst = false
			c.write(part, below, from, to)
		}
		part.WriteByte(']')
		at = l.end
	}
	part.WriteString(c.data[at:e.end])
}
