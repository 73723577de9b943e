package operatorapi

import (
	"context"
	"io"
	"time"

	"holdfast/activities/reconcile"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/internal/stores"
	"holdfast/operator/importer"
	"holdfast/operator/maintenance"
	"holdfast/persistence"
	"holdfast/workflows/runs"
)

// maintained opens a store for each action: unlike other requests, they take long, and the statements have the timeouts of the
// workers' statements.
type maintained struct{ Side }

func (s maintained) Purge(ctx context.Context, by oversight.Actor) (map[retention.Kind]int64, error) {
	return maintain(ctx, s, func(m *maintenance.Service) (map[retention.Kind]int64, error) { return m.Purge(ctx, by) })
}

func (s maintained) PlanPurge(ctx context.Context) (map[retention.Kind]time.Time, error) {
	return maintain(ctx, s, func(m *maintenance.Service) (map[retention.Kind]time.Time, error) { return m.PlanPurge(ctx) })
}

func (s maintained) PlanExpunge(ctx context.Context, id string) (retention.Expunged, error) {
	return maintain(ctx, s, func(m *maintenance.Service) (retention.Expunged, error) { return m.PlanExpunge(ctx, id) })
}

func (s maintained) Expunge(ctx context.Context, id string, by oversight.Actor) (retention.Expunged, error) {
	return maintain(ctx, s, func(m *maintenance.Service) (retention.Expunged, error) { return m.Expunge(ctx, id, by) })
}

func (s maintained) PlanReconcile(ctx context.Context, since, until time.Time) (reconcile.Comparison, error) {
	return maintain(ctx, s, func(m *maintenance.Service) (reconcile.Comparison, error) { return m.PlanReconcile(ctx, since, until) })
}

func (s maintained) Reconcile(ctx context.Context, since, until time.Time, by oversight.Actor) (reconcile.Comparison, error) {
	return maintain(ctx, s, func(m *maintenance.Service) (reconcile.Comparison, error) { return m.Reconcile(ctx, since, until, by) })
}

// maintenanceConns is enough for one action.
const maintenanceConns = 4

func maintain[T any](ctx context.Context, s maintained, work func(*maintenance.Service) (T, error)) (done T, err error) {
	c := stores.StoreConfig(s.Config)
	c.MaxConns, c.ApplicationName = maintenanceConns, "holdfast-operator"
	store, err := persistence.Open(ctx, c)
	if err != nil {
		return done, err
	}
	defer store.Close()
	return work(s.service(store))
}

func (s maintained) service(store *persistence.Store) *maintenance.Service {
	namespace := runs.Namespace{Client: s.Temporal, Name: s.Config.Temporal.Namespace}
	letters := store.DeadLetters
	return &maintenance.Service{
		Keep: func(ctx context.Context) (retention.Times, error) { return s.keep(ctx, namespace) },
		Purger: func() (maintenance.Purger, error) {
			return stores.NewPurger(s.Config, store)
		},
		Events: store.EventView(), Runs: namespace, Audit: store.Audit,
		Archive: func() (maintenance.Archive, error) {
			keeper, err := stores.NewArchiveKeeper(s.Config, store)
			if keeper == nil {
				return nil, err
			}
			return keeper, err
		},
		History: func(in io.Reader, of []event.Entity) (retention.Archived, error) {
			reader := importer.Reader{Lookup: s.lookup, Format: importer.FormatJSON}
			return reader.History(in, of)
		},
		Stores: &reconcile.Service{
			Runs: runs.NewReader(s.Temporal, s.Codec.DataConverter()), Events: letters, Rows: letters, Keys: letters,
		},
	}
}

// keep keeps events until Temporal has deleted their runs.
func (s maintained) keep(ctx context.Context, namespace runs.Namespace) (retention.Times, error) {
	keep := stores.Retention(s.Config)
	if keep[retention.Events] == 0 {
		return keep, nil
	}
	ofRuns, err := namespace.Retention(ctx)
	if err != nil {
		return nil, err
	}
	return keep.OutlastingRuns(ofRuns), nil
}
