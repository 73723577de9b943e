package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"holdfast/event"
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
	store *Store
	alone chan struct{}

	mu      sync.Mutex
	busy    bool
	waiting []*member
}

// member is an event that waits for its group.
type member struct {
	*write

	trace context.Context //nolint:containedctx // only its values, which say whose statements these are
	done  chan error      // buffered, so that a send never blocks if the caller has left
}

func newGroup(s *Store, waiters int) *group {
	return &group{store: s, alone: make(chan struct{}, waiters)}
}

// write writes an event in a group, and on its own if another transaction holds a lock that it needs.
func (g *group) write(ctx context.Context, w *write) error {
	m := g.join(ctx, w)
	var err error
	select {
	case err = <-m.done:
	case <-ctx.Done():
		g.leave(m)
		return ctx.Err()
	}
	if !postgres.IsLockFailure(err) {
		return err
	}
	select {
	case g.alone <- struct{}{}:
	default:
		return err
	}
	defer func() { <-g.alone }()
	return g.store.writeTogether(ctx, []*write{w}, alone, 0)
}

func (g *group) join(ctx context.Context, w *write) *member {
	m := &member{write: w, trace: context.WithoutCancel(ctx), done: make(chan error, 1)}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, m)
	if !g.busy {
		g.busy = true
		go g.run()
	}
	return m
}

// leave removes a member whose transaction has not started. Once it has started, the caller doesn't learn the outcome; its retry
// reads it from the rows.
func (g *group) leave(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.waiting {
		if g.waiting[i] == m {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return
		}
	}
}

func (g *group) run() {
	for {
		members := g.take()
		if len(members) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(members[0].trace, groupTimeout) // other members' traces don't show the statements
		g.writeMembers(ctx, members)
		cancel()
	}
}

// take pops the next group, with no duplicate ID or key.
func (g *group) take() (members []*member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ids, keys, bytes := map[string]bool{}, map[key]bool{}, 0
	var rest []*member
	for _, m := range g.waiting {
		r := m.receipt
		claims := m.claims()
		if len(members) == maxGroup || len(members) > 0 && bytes+len(m.row.body) > maxBytesOfGroup || ids[r.ID] ||
			slices.ContainsFunc(claims, func(k key) bool { return keys[k] }) {
			rest = append(rest, m)
			continue
		}
		ids[r.ID] = true
		for _, k := range claims {
			keys[k] = true
		}
		bytes += len(m.row.body)
		members = append(members, m)
	}
	g.waiting = rest
	g.busy = len(members) > 0
	return members
}

// writeMembers writes members together. If the failure may be the fault of one of them, the blocked members leave, and the others
// are halved until the failing member is alone.
func (g *group) writeMembers(ctx context.Context, members []*member) {
	if len(members) == 0 {
		return
	}
	ws := postgres.Column(members, func(m *member) *write { return m.write })
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

// withoutSlow returns the members that aren't out of order. The others get their answer, and go on with Persist and
// UpsertEntities.
func withoutSlow(members []*member, slow *entities.SlowError) (others []*member) {
	for _, m := range members {
		if slow.IsOf(m.receipt.ID) {
			m.done <- slow
		} else {
			others = append(others, m)
		}
	}
	return others
}

// writeSafely recovers panics, since this goroutine has no other recovery. The panic value may contain part of a payload.
func (g *group) writeSafely(ctx context.Context, ws []*write) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &event.Error{Class: event.ClassFailed, Code: "panic", Text: fmt.Sprintf("writing panicked with a %T", value)}
		}
	}()
	return g.store.writeTogether(ctx, ws, groupTimeouts, g.store.foldFor)
}

// free returns the members that aren't blocked. The others get their answer.
func (g *group) free(ctx context.Context, ws []*write, members []*member, err error) (free []*member) {
	if !postgres.IsLockFailure(err) {
		return members
	}
	blocked, lookErr := g.store.blocked(ctx, ws)
	if lookErr != nil {
		settle(members, lookErr)
		return nil
	}
	for _, m := range members {
		if blocked[m.write] {
			m.done <- err
		} else {
			free = append(free, m)
		}
	}
	return free
}

func settle(members []*member, err error) {
	for _, m := range members {
		m.done <- err
	}
}
