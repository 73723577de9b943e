package process

import (
	"context"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/installation"
)

// errorSink records roles' errors; nil without a database.
type errorSink interface{ Record(e oversight.ErrorEntry) }

// duplicateCounter counts redeliveries; nil without a database.
type duplicateCounter interface{ Count(d event.Duplicate) }

// sideConns is the pool of a process that doesn't need a database: one connection for its error log, one for queries.
const sideConns = 2

// startErrorLog opens the error log if a database is configured, which is optional for an ingress.
func (p *process) startErrorLog(ctx context.Context) error {
	p.side = p.store
	if p.side == nil {
		if !p.cfg.Database.URL.IsSet() {
			return nil
		}
		cfg := p.cfg
		cfg.Database.MaxConns = sideConns
		store, err := installation.OpenStore(ctx, cfg, p.telemetry)
		if err != nil {
			return err
		}
		p.side = store
		p.onStop("database", func(context.Context) error { store.Close(); return nil })
	}
	recorder := p.side.Errors.NewErrorRecorder()
	p.errors = recorder
	p.onStop("error log", recorder.Stop)
	counter := p.side.Writer.NewDuplicateCounter()
	p.duplicates = counter
	p.onStop("count of duplicates", counter.Stop)
	return p.telemetry.ObserveErrorLog(recorder.Dropped)
}
