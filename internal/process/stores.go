package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/ingress/intake"
	"holdfast/internal/stores"
	"holdfast/internal/telemetry"
	"holdfast/migrations"
)

// deadLettersAge is how long the count of open dead letters is cached: counting reads all of them, 100,000 in 0.1 s or more.
const deadLettersAge = time.Minute

// openStore creates the pool, which connects on first use.
func (p *process) openStore(ctx context.Context) error {
	store, err := stores.OpenStore(ctx, p.cfg, p.telemetry)
	if err != nil {
		return err
	}
	p.store = store
	p.onStop("database", func(context.Context) error { store.Close(); return nil })
	count := recently(deadLettersAge, store.DeadLetters.OpenDeadLetters)
	return errors.Join(p.telemetry.ObservePool(store.Pool()),
		p.telemetry.ObserveDeadLetters(func(context.Context) (map[string]int64, error) { return count() }),
		p.telemetry.ObserveFeed(store.Changes.FeedBehind),
		p.observeFields(),
		p.observeDurability())
}

// fieldsAge is how long the count of changed fields is cached, and changedTypes how many types it counts.
const (
	fieldsAge    = time.Minute
	changedTypes = 1000
)

// observeFields exports how many fields that definitions need have changed.
func (p *process) observeFields() error {
	read := recently(fieldsAge, func(ctx context.Context) (map[string]int64, error) {
		found, err := p.store.Observed.Breaking(ctx, changedTypes)
		counts := map[string]int64{}
		for _, o := range found {
			counts[o.Provider] += int64(len(o.Shape.Changes))
		}
		return counts, err
	})
	return p.telemetry.ObserveFields(func(context.Context) (map[string]int64, error) { return read() })
}

// durabilityAge is how long the durability of the database is cached.
const durabilityAge = 15 * time.Second

// observeDurability exports what could make PostgreSQL lose what it has committed. All processes export the same values.
func (p *process) observeDurability() error {
	read := recently(durabilityAge, p.store.Read.Durability)
	return p.telemetry.ObserveDatabase(func(context.Context) (telemetry.DatabaseFigures, error) {
		d, err := read()
		f := telemetry.DatabaseFigures{Risks: map[string]bool{}}
		if d.Settings == nil {
			return f, err // not read yet
		}
		for risk, exists := range d.Risks() {
			f.Risks[string(risk)] = exists
		}
		if len(d.Standbys) > 0 && !d.HasSynchronous() {
			f.Behind = d.Behind()
		}
		return f, err
	})
}

// probeTemporal checks that Temporal answers and, until that first succeeds, that the namespace is prepared.
func (p *process) probeTemporal() func(context.Context) error {
	var prepared atomic.Bool
	return func(ctx context.Context) error {
		if prepared.Load() {
			return stores.Ping(ctx, p.temporal, p.cfg.Temporal.Namespace)
		}
		if err := stores.RequireSearchAttributes(ctx, p.temporal, p.cfg.Temporal.Namespace); err != nil {
			return err
		}
		prepared.Store(true)
		return nil
	}
}

// commitProbes report whether the stores can commit an event.
type commitProbes struct{ temporal, database *intake.CommitProbe }

func (p *process) newCommitProbes() (c commitProbes) {
	answers, starter := p.probeTemporal(), p.starter()
	c.temporal = intake.NewCommitProbe(func(ctx context.Context) error {
		if err := answers(ctx); err != nil {
			return err
		}
		return starter.TryStart(ctx)
	})
	if p.inbox != nil {
		c.database = intake.NewCommitProbe(p.inbox.TryCommit)
	}
	return c
}

// probePause is the pause between two probes of a dependency.
const probePause = 2 * time.Second

// waitFor waits indefinitely for a dependency of a role, because the order in which the parts of an installation start must not
// matter. It returns only the context's error.
func waitFor(ctx context.Context, name string, probe func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, probePause)
		err := probe(attempt)
		cancel()
		if err == nil {
			return nil
		}
		slog.WarnContext(ctx, "process.waiting", "for", name, "error", err.Error())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(probePause):
		}
	}
}

// requireMigrations waits for the database and refuses an outdated schema.
func (p *process) requireMigrations(ctx context.Context) error {
	if err := waitFor(ctx, "the database", p.store.Ping); err != nil {
		return err
	}
	have, want, err := migrations.Current(ctx, p.cfg.Database.URL.Reveal())
	if err != nil {
		return err
	}
	if have < want {
		return fmt.Errorf("the database is at migration %d and this program needs %d: run `holdfast migrate`", have, want)
	}
	return nil
}

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
		store, err := stores.OpenStore(ctx, cfg, p.telemetry)
		if err != nil {
			return err
		}
		p.side = store
		p.onStop("database", func(context.Context) error { store.Close(); return nil })
	}
	recorder := p.side.Errors.NewErrorRecorder()
	p.errors = recorder
	p.onStop("error log", recorder.Stop)
	counter := p.side.Duplicates.NewCounter()
	p.duplicates = counter
	p.onStop("count of duplicates", counter.Stop)
	return p.telemetry.ObserveErrorLog(recorder.Dropped)
}
