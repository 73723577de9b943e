package process

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"holdfast/event/eventtype"
	"holdfast/ingress"
)

const (
	// eventTypesEvery is how often an ingress looks for a change of an event type; eventTypesTimeout bounds each look.
	eventTypesEvery   = 2 * time.Second
	eventTypesTimeout = 5 * time.Second
)

// eventTypeStore reads the declared types.
type eventTypeStore interface {
	// Revision returns a text that differs after each change of a type.
	Revision(ctx context.Context) (string, error)
	EventTypes(ctx context.Context) ([]eventtype.EventType, error)
}

// eventTypes follows the types in the database. While it is down, the last ones stay in use; before they were read once, nothing
// is checked, since either store is enough to accept an event.
type eventTypes struct {
	store    eventTypeStore
	current  atomic.Pointer[eventtype.Catalog]
	revision string
	// failed is the last failure, which is logged once.
	failed string
}

// followEventTypes returns nil without a database.
func (p *process) followEventTypes(ctx context.Context) ingress.EventTypes {
	if p.side == nil {
		return nil
	}
	types := newEventTypes(p.side.EventTypes)
	types.look(ctx)
	running, cancel := context.WithCancel(context.Background())
	p.onStop("event types", func(context.Context) error { cancel(); return nil })
	go types.run(running)
	return types
}

func newEventTypes(store eventTypeStore) *eventTypes {
	t := &eventTypes{store: store}
	t.current.Store(&eventtype.Catalog{})
	return t
}

// CheckEvent checks an event against the types as they were read last.
func (t *eventTypes) CheckEvent(eventType string, body []byte, left *int) eventtype.Result {
	return t.current.Load().CheckEvent(eventType, body, left)
}

func (t *eventTypes) run(ctx context.Context) {
	every := time.NewTicker(eventTypesEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			t.look(ctx)
		}
	}
}

// look reads the types if they have changed.
func (t *eventTypes) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, eventTypesTimeout)
	defer cancel()
	err := t.read(ctx)
	switch {
	case ctx.Err() == context.Canceled:
	case err != nil && t.failed != err.Error():
		t.failed = err.Error()
		slog.WarnContext(ctx, "event_types.not_read", "error", t.failed)
	case err == nil && t.failed != "":
		t.failed = ""
		slog.InfoContext(ctx, "event_types.read")
	}
}

// read takes the revision first: a change after it is read at the next look.
func (t *eventTypes) read(ctx context.Context) error {
	revision, err := t.store.Revision(ctx)
	if err != nil || revision == t.revision {
		return err
	}
	all, err := t.store.EventTypes(ctx)
	if err != nil {
		return err
	}
	catalog, err := eventtype.NewCatalog(all, t.current.Load())
	if err != nil { // those of a newer Holdfast, perhaps
		slog.ErrorContext(ctx, "event_types.not_compiled", "error", err.Error())
	}
	t.current.Store(catalog)
	t.revision = revision
	return nil
}
