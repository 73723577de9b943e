package redrive

import (
	"context"
	"time"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
)

// RedriveStore keeps redrives, and says what one would do.
type RedriveStore interface {
	Store[operation.Redrive]
	// Plan counts the dead letters that a redrive of the filter would run again.
	Plan(ctx context.Context, f operation.RedriveFilter) (operation.RedrivePlan, error)
}

// Redrives runs many dead letters again.
type Redrives struct {
	Operations[operation.Redrive]
	store RedriveStore
}

// NewRedrives returns the redrives of a store.
func NewRedrives(s RedriveStore, runs Waker) *Redrives {
	return &Redrives{Operations[operation.Redrive]{operation.KindRedrive, s, runs}, s}
}

// Plan counts the dead letters that a redrive of the filter would run again.
func (r *Redrives) Plan(ctx context.Context, f operation.RedriveFilter) (operation.RedrivePlan, error) {
	return r.store.Plan(ctx, f)
}

// RebuildStore keeps rebuilds, and shows what one would change.
type RebuildStore interface {
	Store[operation.Rebuild]
	// Diff shows what would become of some entities that a dry run has found to differ.
	Diff(ctx context.Context, id string, parse event.Parser) ([]fold.EntityDiff, error)
}

// Rebuilds reads stored events again, with the definitions of the moment.
type Rebuilds struct {
	Operations[operation.Rebuild]
	store RebuildStore
	parse event.Parser
}

// NewRebuilds returns the rebuilds of a store. Parse reads events with the definitions of the moment.
func NewRebuilds(s RebuildStore, runs Waker, parse event.Parser) *Rebuilds {
	return &Rebuilds{Operations[operation.Rebuild]{operation.KindRebuild, s, runs}, s, parse}
}

// Diff shows what would become of some of the entities that a dry run has found to differ. It holds their states. Only the latest
// rebuild has one, and only if it is a dry run.
func (r *Rebuilds) Diff(ctx context.Context, id string) ([]fold.EntityDiff, error) {
	return r.store.Diff(ctx, id, r.parse)
}

// ResendStore keeps resends, and says what one would do.
type ResendStore interface {
	Store[operation.Resend]
	// Plan counts what a resend to a subscription (its name or number) would do.
	Plan(ctx context.Context, subscription string, since, until time.Time) (operation.ResendPlan, error)
}

// Resends sends the events of a time again.
type Resends struct {
	Operations[operation.Resend]
	store ResendStore
}

// NewResends returns the resends of a store.
func NewResends(s ResendStore, runs Waker) *Resends {
	return &Resends{Operations[operation.Resend]{operation.KindResend, s, runs}, s}
}

// Plan counts what a resend to a subscription (its name or number) would do.
func (r *Resends) Plan(ctx context.Context, subscription string, since, until time.Time) (operation.ResendPlan, error) {
	return r.store.Plan(ctx, subscription, since, until)
}

// Imports applies what was read from another system.
type Imports = Operations[operation.Import]

// NewImports returns the imports of a store.
func NewImports(s Store[operation.Import], runs Waker) *Imports {
	return &Imports{operation.KindImport, s, runs}
}
