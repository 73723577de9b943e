package definitionapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/event/shape"
	"holdfast/operator/httpapi"
	"holdfast/providers"
)

// ShapeStore reads events, and what was observed of their types.
type ShapeStore interface {
	// Types lists the types of a provider's stored events, or one of them unless "", with what was observed of them.
	Types(ctx context.Context, provider, eventType string, limit int) ([]shape.Observed, error)
	// Sample returns the newest events of a type, oldest first. The body of a large one is nil.
	Sample(ctx context.Context, provider, eventType, after string, limit int) ([]event.Record, error)
}

// ObservedType is an event type of a provider, as its latest events look. It has names of fields and no values.
type ObservedType struct {
	Type string `json:"type"`
	// Events is how many events were read. Skipped is how many others weren't, because their bodies are too large or can't be
	// decoded.
	Events  int64 `json:"events"`
	Skipped int   `json:"skipped,omitempty"`
	// Schema is a JSON Schema of the dialect 2020-12, inferred from these events.
	Schema json.RawMessage `json:"schema" jsonschema:"type=object"`
	Fields []shape.Field   `json:"fields"`
	// Changes are what the observation of new events, once a minute, has found in the last 30 days, oldest first.
	Changes []shape.FieldChange `json:"changes"`
	// ObservedAt is when it last found new events; absent before the first time.
	ObservedAt time.Time `json:"observed_at,omitzero"`
}

const (
	defaultSample = 100
	maxSample     = 500
	// maxTypes bounds the types in one response, maxRead the events of all of them, and maxBytes the size of their bodies.
	maxTypes = 200
	maxRead  = 5000
	maxBytes = 64 << 20
)

var sampleParameter = httpapi.Parameter{
	Name: "events", About: "How many of the latest events of each type are read; fewer if the provider has many types.",
	Schema: map[string]any{"type": "integer", "minimum": 1, "maximum": maxSample, "default": defaultSample},
}

func (a *API) observedRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Get("listObservedTypes", "/observed-types/:provider",
			"Fields of a provider's latest events by type, without values, and what changed",
			httpapi.Answers(a.listObservedTypes)).
			With(definitionProvider, httpapi.TypeParameter, sampleParameter).
			Returns(fiber.StatusOK, httpapi.List[ObservedType]{}),
	}
}

func (a *API) listObservedTypes(c *fiber.Ctx) (list httpapi.List[ObservedType], err error) {
	name, err := httpapi.PathText(c, "provider")
	if err != nil {
		return list, err
	}
	q := httpapi.QueryOf(c, httpapi.TypeParameter, sampleParameter)
	eventType, events := q.Text("type"), defaultSample
	if text := q.Text(sampleParameter.Name); text != "" {
		if events, err = strconv.Atoi(text); err != nil || events < 1 || events > maxSample {
			q.Refuse(sampleParameter.Name)
		}
	}
	if q.Err != nil {
		return list, q.Err
	}
	ctx, cancel := context.WithTimeout(httpapi.RequestContext(c), httpapi.Timeout)
	defer cancel()
	return a.ObservedTypes(ctx, name, eventType, events)
}

// ObservedTypes reads the latest events of a provider's type, or for "" of all of its types. The error is event.ErrNotFound for
// an unknown provider or type.
func (a *API) ObservedTypes(
	ctx context.Context, provider, eventType string, events int,
) (list httpapi.List[ObservedType], err error) {
	list.Items = []ObservedType{}
	p, err := a.definitionOf(provider)
	if err != nil {
		return list, err
	}
	all, err := a.Shapes.Types(ctx, provider, eventType, maxTypes+1)
	if err != nil {
		return list, err
	}
	if eventType != "" && len(all) == 0 {
		return list, event.ErrNotFound
	}
	read := 0
	for i, o := range all {
		if i == maxTypes || read > maxBytes {
			list.Note = fmt.Sprintf("only the first %d types: ask for others with type", i)
			break
		}
		sample, err := a.Shapes.Sample(ctx, provider, o.Type, "", min(events, max(1, maxRead/len(all))))
		if err != nil {
			return list, err
		}
		for _, e := range sample {
			read += len(e.Body)
		}
		found, err := newObservedType(p, o, sample)
		if err != nil {
			return list, err
		}
		list.Items = append(list.Items, found)
	}
	return list, nil
}

// TypesOf lists the types of a provider's stored events, at most 200.
func (a *API) TypesOf(ctx context.Context, provider string) (names []string, err error) {
	all, err := a.Shapes.Types(ctx, provider, "", maxTypes)
	for _, o := range all {
		names = append(names, o.Type)
	}
	return names, err
}

func newObservedType(p *providers.Provider, o shape.Observed, sample []event.Record) (t ObservedType, err error) {
	t = ObservedType{Type: o.Type, Changes: []shape.FieldChange{}}
	seen, reads := shape.New(""), p.Reads(o.Type)
	for i := range sample {
		r := &sample[i]
		if body, ok := shape.Body(r.Receipt, r.Body, p.Redact); ok {
			seen.Add(r.Receipt.ID, r.Receipt.ReceivedAt, body)
		} else {
			t.Skipped++
		}
	}
	t.Events, t.Fields = seen.Events, append([]shape.Field{}, seen.Fields(reads)...)
	if o.Shape != nil {
		o.Shape.Relate(reads, time.Now())
		t.Changes, t.ObservedAt = append(t.Changes, o.Shape.Changes...), o.At
	}
	t.Schema, err = json.Marshal(seen.Schema(o.Type))
	return t, err
}
