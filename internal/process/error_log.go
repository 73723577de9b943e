package process

import (
	"context"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/installation"
)

// errorSink is what roles report errors to; nil where there is no database to keep them.
type errorSink interface{ Record(e oversight.ErrorEntry) }

// duplicateCounter counts events that came again; nil where there is no database to keep that.
type duplicateCounter interface{ Count(d event.Duplicate) }

// sideConns is the pool of a process that could do without a database: one connection for its error log, one to look.
const sideConns = 2

// startErrorLog gives the process its error log wherever a database is configured, which for an ingress is a matter of choice.
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
