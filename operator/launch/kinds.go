package launch

import (
	"context"
	"time"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// ReplayStore stores replays and plans them.
type ReplayStore interface {
	Store[operation.Replay]
	ReplayPlanner
}

// ReplayPlanner plans replays.
type ReplayPlanner interface {
	// Plan counts the dead letters that a replay of the filter would run again.
	Plan(ctx context.Context, f operation.ReplayFilter) (operation.ReplayPlan, error)
	// PlanKeys adds to a plan how the current definitions, whose digests it gets by provider, identify the events of the first dead
	// letters; 0 means the default bound.
	PlanKeys(ctx context.Context, f operation.ReplayFilter, first int, parse event.Parser, definitions map[string]string,
		plan *operation.ReplayPlan) error
}

// Replays manages bulk replays.
type Replays struct {
	Operations[operation.Replay]
	store  ReplayPlanner
	parse  event.Parser
	digest func(provider string) string
}

// NewReplays returns Replays on a store. parse uses the current definitions; digest returns the digest of a provider's.
func NewReplays(s ReplayStore, runs Waker, parse event.Parser, digest func(provider string) string) *Replays {
	return &Replays{Operations[operation.Replay]{s, operation.KindReplay, runs}, s, parse, digest}
}

// Count counts the dead letters that a replay of the filter would run again.
func (r *Replays) Count(ctx context.Context, f operation.ReplayFilter) (operation.ReplayPlan, error) {
	return r.store.Plan(ctx, f)
}

// Plan is Count, and also counts the events that the current definitions identify in another way, or split. It parses the
// bodies of the first dead letters; 0 means the default bound.
func (r *Replays) Plan(ctx context.Context, f operation.ReplayFilter, first int) (operation.ReplayPlan, error) {
	plan, err := r.store.Plan(ctx, f)
	if err != nil || plan.Count == 0 {
		return plan, err
	}
	definitions := map[string]string{}
	for provider := range plan.ByProvider {
		definitions[provider] = r.digest(provider)
	}
	err = r.store.PlanKeys(ctx, f, first, r.parse, definitions, &plan)
	return plan, err
}

// RebuildStore stores rebuilds and their diffs.
type RebuildStore interface {
	Store[operation.Rebuild]
	// Diff returns how a rebuild would change some of the entities that a dry run found.
	Diff(ctx context.Context, id string, parse event.Parser) ([]fold.EntityDiff, error)
}

// Rebuilds manages rebuilds.
type Rebuilds struct {
	Operations[operation.Rebuild]
	store RebuildStore
	parse event.Parser
}

// NewRebuilds returns Rebuilds on a store. parse uses the current definitions.
func NewRebuilds(s RebuildStore, runs Waker, parse event.Parser) *Rebuilds {
	return &Rebuilds{Operations[operation.Rebuild]{s, operation.KindRebuild, runs}, s, parse}
}

// Diff returns how a rebuild would change some of the entities that a dry run found, with their states. Only the latest rebuild
// has a diff, and only if it is a dry run.
func (r *Rebuilds) Diff(ctx context.Context, id string) ([]fold.EntityDiff, error) {
	return r.store.Diff(ctx, id, r.parse)
}

// ResendStore stores resends and plans them.
type ResendStore interface {
	Store[operation.Resend]
	Resender
}

// Resender plans resends, and resends one event.
type Resender interface {
	// Plan counts what a resend to a subscription (its name or number) would do with the first, newest events; 0 means all.
	Plan(ctx context.Context, subscription string, since, until time.Time, first int) (operation.ResendPlan, error)
	// ResendMissing queues an event for a subscription that selects it and hasn't got it, and reports whether it did.
	ResendMissing(ctx context.Context, k delivery.Key, by oversight.Actor) (isSent bool, err error)
}

// Resends manages resends.
type Resends struct {
	Operations[operation.Resend]
	Resender
}

// NewResends returns Resends on a store.
func NewResends(s ResendStore, runs Waker) *Resends {
	return &Resends{Operations[operation.Resend]{s, operation.KindResend, runs}, s}
}

// Imports manages imports.
type Imports = Operations[operation.Import]

// NewImports returns Imports on a store.
func NewImports(s Store[operation.Import], runs Waker) *Imports {
	return &Imports{s, operation.KindImport, runs}
}

// Recoveries manages recoveries.
type Recoveries struct {
	Operations[operation.Recovery]
	check func(provider string) error
}

// NewRecoveries returns Recoveries on a store. check returns an error if a provider has no list of events.
func NewRecoveries(s Store[operation.Recovery], runs Waker, check func(provider string) error) *Recoveries {
	return &Recoveries{Operations[operation.Recovery]{s, operation.KindRecovery, runs}, check}
}

// Start stores a recovery with an ID and a rate, and starts its workflow.
func (r *Recoveries) Start(ctx context.Context, wanted operation.Recovery, by oversight.Actor) (operation.Recovery, error) {
	if err := r.check(wanted.Provider); err != nil {
		return operation.Recovery{}, err
	}
	return r.Operations.Start(ctx, wanted, by)
}
