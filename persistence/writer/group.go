package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/event"
	"holdfast/internal/batch"
	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
)

// Bounds of a group.
const (
	maxGroup        = 100
	maxBytesOfGroup = 4 << 20
	// groupTimeout bounds a group with all its halves. A group has its own context, since it belongs to no single caller.
	groupTimeout = 2 * time.Second
	// defaultFoldFor leaves most of that time to the remaining events after a slow fold.
	defaultFoldFor = 500 * time.Millisecond
	// maxAlone is how many events at once wait for taken locks. Further ones don't queue, since they might not be stored in time.
	maxAlone = 4
)

// group lets concurrent events share a transaction. A single event doesn't wait: those that arrive while a transaction is in
// flight form the next group.
type group struct {
	store    *Store
	alone    chan struct{}
	together *batch.Group[member]
}

// member is an event that waits for its group.
type member struct {
	*eventWrite

	trace context.Context //nolint:containedctx // only its values, which say whose statements these are
}

type call = batch.Call[member]

func newGroup(s *Store, waiters int) *group {
	g := &group{store: s, alone: make(chan struct{}, waiters)}
	g.together = batch.New(batch.Config[member]{
		Run: g.run, AtOnce: 1, Apart: apart,
		MaxCalls: maxGroup, MaxBytes: maxBytesOfGroup, Size: func(m member) int { return len(m.row.body) },
	})
	return g
}

// write writes an event in a group, and on its own if another transaction holds a lock that it needs. If ctx ends first, the
// caller doesn't learn the outcome of a transaction that has started; its retry reads it from the rows.
func (g *group) write(ctx context.Context, w *eventWrite) error {
	err := g.together.Do(ctx, member{w, context.WithoutCancel(ctx)})
	if !postgres.IsLockFailure(err) {
		return err
	}
	select {
	case g.alone <- struct{}{}:
	default:
		return err
	}
	defer func() { <-g.alone }()
	return g.store.writeTogether(ctx, []*eventWrite{w}, alone, 0)
}

// apart keeps events with the same ID or a common key in different groups.
func apart() func(member) bool {
	ids, keys := map[string]bool{}, map[key]bool{}
	return func(m member) bool {
		claims := m.claims()
		if ids[m.receipt.ID] || slices.ContainsFunc(claims, func(k key) bool { return keys[k] }) {
			return false
		}
		ids[m.receipt.ID] = true
		for _, k := range claims {
			keys[k] = true
		}
		return true
	}
}

// run answers every member. The statements are in the trace of the first one only.
func (g *group) run(members []*call) error {
	ctx, cancel := context.WithTimeout(members[0].Of.trace, groupTimeout)
	defer cancel()
	g.writeMembers(ctx, members)
	return nil
}

// writeMembers writes members together. If the failure may be the fault of one of them, the blocked members leave, and the others
// are halved until the failing member is alone.
func (g *group) writeMembers(ctx context.Context, members []*call) {
	if len(members) == 0 {
		return
	}
	ws := postgres.Column(members, func(m *call) *eventWrite { return m.Of.eventWrite })
	err := g.writeSafely(ctx, ws)
	var slow *entities.SlowError
	if errors.As(err, &slow) {
		g.writeMembers(ctx, withoutSlow(members, slow))
		return
	}
	if len(members) == 1 || !isOfOne(err) {
		settle(members, err)
		return
	}
	if free := g.free(ctx, ws, members, err); len(free) < len(members) {
		g.writeMembers(ctx, free)
		return
	}
	middle := len(members) / 2
	g.writeMembers(ctx, members[:middle])
	g.writeMembers(ctx, members[middle:])
}

// withoutSlow returns the members that aren't out of order. The others get their answer, and are written on
// their own.
func withoutSlow(members []*call, slow *entities.SlowError) (others []*call) {
	for _, m := range members {
		if slow.IsOf(m.Of.receipt.ID) {
			m.Answer(slow)
		} else {
			others = append(others, m)
		}
	}
	return others
}

// writeSafely recovers panics, since this goroutine has no other recovery. The panic value may contain part of a payload.
func (g *group) writeSafely(ctx context.Context, ws []*eventWrite) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &event.Error{Class: event.ClassFailed, Code: "panic", Text: fmt.Sprintf("writing panicked with a %T", value)}
		}
	}()
	return g.store.writeTogether(ctx, ws, groupTimeouts, g.store.foldFor)
}

// free returns the members that aren't blocked. The others get their answer.
func (g *group) free(ctx context.Context, ws []*eventWrite, members []*call, err error) (free []*call) {
	if !postgres.IsLockFailure(err) {
		return members
	}
	blocked, lookErr := g.store.blocked(ctx, ws)
	if lookErr != nil {
		settle(members, lookErr)
		return nil
	}
	for _, m := range members {
		if blocked[m.Of.eventWrite] {
			m.Answer(err)
		} else {
			free = append(free, m)
		}
	}
	return free
}

func settle(members []*call, err error) {
	for _, m := range members {
		m.Answer(err)
	}
}
