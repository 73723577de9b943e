package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator/httpapi"
)

// CompareStore compares another system's data with the stored data.
type CompareStore interface {
	// CompareImport returns how each item differs from the stored data, in their order.
	CompareImport(ctx context.Context, items []operation.ImportItem) ([]operation.ImportCompared, error)
	// EventsBetween returns the ID and the key of each event of a provider after an ID, up to another, by ID.
	EventsBetween(ctx context.Context, provider, after, last string, limit int) ([]event.Receipt, error)
}

// ComparedCount counts the items of one type of record.
type ComparedCount struct {
	// Same is the number of equal items, and Missing of those that only the file has.
	Same    int64 `json:"same"`
	Missing int64 `json:"missing"`
	Differ  int64 `json:"differ"`
}

// ComparedPeriod is the time in which a provider's events of a part of a file were received.
type ComparedPeriod struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
}

// ComparedLines says how a part of a file differs from the stored data.
type ComparedLines struct {
	ImportedLines

	Counts      map[operation.ImportRecord]ComparedCount `json:"counts"`
	Differences []operation.ImportDifference             `json:"differences"`
	// EventIDs are the stored events that the part names, and Periods those of its events, by provider: for finding the events
	// that a file doesn't name.
	EventIDs []string                  `json:"event_ids,omitempty"`
	Periods  map[string]ComparedPeriod `json:"periods,omitempty"`
	// Next is the cursor for the rest of the part; absent once all of it has been compared.
	Next string `json:"next,omitempty"`
}

// StoredEvent names a stored event.
type StoredEvent struct {
	ID  string `json:"id" jsonschema:"format=uuid"`
	Key string `json:"key"`
}

// lineCursor is the first line that hasn't been compared yet.
type lineCursor struct {
	Line int64 `json:"line"`
}

var (
	restParameter = httpapi.TextParameter("cursor", "`next` of the previous response to the same body.")

	storedEventsParameters = []httpapi.Parameter{
		httpapi.TextParameter("provider", "Name of the provider; required."),
		httpapi.TimeParameter("since", "Received at or after; required"),
		httpapi.TimeParameter("until", "Received at or before; required"), httpapi.CursorParameter,
	}
)

func (a *API) compareRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Post("compare", "/compare", "Compare lines of another system's data with this installation", a.compare).
			Explain(partDetails+"Events are found by key, entities by any of their names, and only the fields in the file are compared. "+
				"A response has up to 4 MiB of differences: send the same body with `next` as the cursor until it is absent. "+
				httpapi.SlowDetails).
			With(partParameters...).With(restParameter).Takes(filePart).Returns(fiber.StatusOK, ComparedLines{}),
		httpapi.Get("listComparedEvents", "/compare/events", "The events of a provider and a time, by ID", a.listComparedEvents).
			Explain("Those that aren't among the event_ids of a file's comparison are missing from the file.").
			With(storedEventsParameters...).Returns(fiber.StatusOK, httpapi.List[StoredEvent]{}),
	}
}

const (
	// comparedAtOnce bounds the entities that are in memory, each with its whole state.
	comparedAtOnce = 20
	// maxDifferences bounds the values in a response, in bytes.
	maxDifferences = 4 << 20
)

func (a *API) compare(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, append(partParameters[:len(partParameters):len(partParameters)], restParameter)...)
	from := httpapi.CursorOf(q, func(p lineCursor) bool { return p.Line > 0 })
	if q.Err != nil {
		return q.Err
	}
	return a.withPart(c, func(ctx context.Context, p *part) (any, error) {
		if from != nil {
			p.from = from.Line
		}
		done := &ComparedLines{
			Counts: map[operation.ImportRecord]ComparedCount{}, Periods: map[string]ComparedPeriod{},
			Differences: []operation.ImportDifference{},
		}
		size := 0
		err := p.each(ctx, comparedAtOnce, func(items []operation.ImportItem) error {
			all, err := a.Imports.Compared.CompareImport(ctx, items)
			for i, one := range all {
				size += done.add(items[i], one)
			}
			p.isEnough = size >= maxDifferences
			return err
		})
		if p.rest > 0 {
			done.Next = httpapi.EncodeCursor(lineCursor{p.rest})
		}
		done.ImportedLines = p.found
		return done, err
	}, restParameter)
}

// add returns the size of the differences.
func (d *ComparedLines) add(item operation.ImportItem, of operation.ImportCompared) (size int) {
	n := d.Counts[item.Record]
	switch {
	case len(of.Differences) == 0:
		n.Same++
	case of.Differences[0].Differ == operation.DiffersMissing:
		n.Missing++
	default:
		n.Differ++
	}
	d.Counts[item.Record], d.Differences = n, append(d.Differences, of.Differences...)
	for _, one := range of.Differences {
		size += len(one.Name) + len(one.Field) + len(one.There) + len(one.Here)
	}
	if item.Record != operation.ImportEvent && item.Record != operation.ImportDeadLetter {
		return size
	}
	at, name := item.Receipt.ReceivedAt, item.Receipt.Provider
	p, known := d.Periods[name]
	if !known || at.Before(p.Since) {
		p.Since = at
	}
	if at.After(p.Until) {
		p.Until = at
	}
	if d.Periods[name] = p; of.EventID != "" {
		d.EventIDs = append(d.EventIDs, of.EventID)
	}
	return size
}

// eventsAtOnce is the page size of the events of a comparison, which are short.
const eventsAtOnce = 1000

func (a *API) listComparedEvents(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, storedEventsParameters...)
	provider := q.Text("provider")
	since, until := q.Time("since"), q.Time("until")
	for name, isMissing := range map[string]bool{"provider": provider == "", "since": since.IsZero(), "until": until.IsZero()} {
		if isMissing {
			q.Refuse(name)
		}
	}
	place := httpapi.CursorOf(q, func(p idCursor) bool { return uuid.Validate(p.ID) == nil })
	if q.Err != nil {
		return q.Err
	}
	after, last := event.FirstIDAt(since), event.FirstIDAt(until.Add(time.Millisecond))
	if place != nil {
		after = place.ID
	}
	return httpapi.RespondWith(c, func(ctx context.Context) (list httpapi.List[StoredEvent], err error) {
		found, err := a.Imports.Compared.EventsBetween(ctx, provider, after, last, eventsAtOnce+1)
		view := func(r event.Receipt) StoredEvent { return StoredEvent{r.ID, r.Key} }
		return httpapi.NewPage(found, eventsAtOnce, view, func(r event.Receipt) idCursor { return idCursor{r.ID} }), err
	})
}
