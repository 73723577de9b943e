package importer

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/event/operation"
)

// Store reads the local data.
type Store interface {
	// CompareImport returns how each item differs from the local data, in their order.
	CompareImport(ctx context.Context, items []operation.ImportItem) ([]operation.ImportCompared, error)
	// EventsBetween returns the events of a provider after an ID, up to another, by ID.
	EventsBetween(ctx context.Context, provider, after, last string, limit int) ([]event.Receipt, error)
}

// MaxCompared is how many events of a file are remembered, to find extra local ones: 16 bytes each.
const MaxCompared = 4_000_000

const extraPage = 1000

// Comparison compares a file with the local data, page by page.
type Comparison struct {
	Store Store
	// Differs is called for each difference.
	Differs func(operation.ImportDifference)

	// Counts counts items of the file by record; DiffersExtra counts local events.
	Counts map[operation.ImportRecord]ComparedCount

	spans map[string]span
	found [][16]byte
}

// ComparedCount counts the items of one record: equal, missing or different here, and the extra local ones.
type ComparedCount struct {
	Same    int64 `json:"same"`
	Missing int64 `json:"missing"`
	Differ  int64 `json:"differ"`
	Extra   int64 `json:"extra"`
}

// span is the period of the events of a provider.
type span struct{ first, last time.Time }

// Add compares some items of a file.
func (c *Comparison) Add(ctx context.Context, items []operation.ImportItem) error {
	if c.Counts == nil {
		c.Counts, c.spans = map[operation.ImportRecord]ComparedCount{}, map[string]span{}
	}
	all, err := c.Store.CompareImport(ctx, items)
	if err != nil {
		return err
	}
	for i, one := range all {
		c.count(items[i].Record, one.Differences)
		c.remember(items[i], one.EventID)
	}
	return nil
}

func (c *Comparison) count(record operation.ImportRecord, differences []operation.ImportDifference) {
	n := c.Counts[record]
	switch {
	case len(differences) == 0:
		n.Same++
	case differences[0].Differ == operation.DiffersMissing:
		n.Missing++
	default:
		n.Differ++
	}
	c.Counts[record] = n
	for _, d := range differences {
		c.Differs(d)
	}
}

// remember records an event of the file and extends its period.
func (c *Comparison) remember(item operation.ImportItem, eventID string) {
	if item.Record != operation.ImportEvent && item.Record != operation.ImportDeadLetter {
		return
	}
	at, name := item.Receipt.ReceivedAt, item.Receipt.Provider
	s, known := c.spans[name]
	if !known || at.Before(s.first) {
		s.first = at
	}
	if at.After(s.last) {
		s.last = at
	}
	c.spans[name] = s
	if id, err := uuid.Parse(eventID); err == nil && len(c.found) <= MaxCompared {
		c.found = append(c.found, id)
	}
}

// Extras looks for local events that aren't in the file, within its period and providers. looked is false if the file has more
// events than can be remembered.
func (c *Comparison) Extras(ctx context.Context) (looked bool, err error) {
	if len(c.found) > MaxCompared {
		return false, nil
	}
	slices.SortFunc(c.found, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	for name, s := range c.spans {
		if err := c.extrasOf(ctx, name, s); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (c *Comparison) extrasOf(ctx context.Context, provider string, s span) error {
	after, last := event.FirstIDAt(s.first), event.FirstIDAt(s.last.Add(time.Millisecond))
	for {
		page, err := c.Store.EventsBetween(ctx, provider, after, last, extraPage)
		if err != nil {
			return err
		}
		for _, r := range page {
			if after = r.ID; !c.names(r.ID) {
				n := c.Counts[operation.ImportEvent]
				n.Extra++
				c.Counts[operation.ImportEvent] = n
				c.Differs(operation.ImportDifference{
					Record: operation.ImportEvent, Differ: operation.DiffersExtra, Provider: provider, Name: r.Key, EventID: r.ID,
				})
			}
		}
		if len(page) < extraPage {
			return nil
		}
	}
}

// names reports whether the file has an event.
func (c *Comparison) names(eventID string) bool {
	id, err := uuid.Parse(eventID)
	if err != nil {
		return false
	}
	_, isFound := slices.BinarySearchFunc(c.found, [16]byte(id), func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	return isFound
}
