package persistence

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// Persist claims the event's key and stores the event, in one transaction and one round trip. If another event owns
// the key it stores nothing, and resolves the open dead letter that this event may have: there is nothing left to
// rescue. An event that its definition ignores is finished here.
func (s *Store) Persist(
	ctx context.Context, r event.Receipt, body []byte, p event.Parsed, run event.Run,
) (event.Persisted, error) {
	persisted, err := s.persist(ctx, r, body, p, run)
	return persisted, failure("persist event "+clean(r.ID), err)
}

func (s *Store) persist(
	ctx context.Context, r event.Receipt, body []byte, p event.Parsed, run event.Run,
) (event.Persisted, error) {
	var (
		owner          string
		stored, linked bool
		ignored        = outcomeOf(p) == event.OutcomeIgnored
		b              = &pgx.Batch{}
	)
	b.Queue(eventLock, r.ID)
	queueClaim(b, r)
	if err := queueEvent(b, r, body, p, run); err != nil {
		return event.Persisted{}, err
	}
	if ignored {
		queueFinish(b, r, p, run, &stored)
		queueIsLinked(b, r, &linked)
	}
	b.Queue(resolveIfNotStored, r.ID, clean(run.RunID))
	queueOwner(b, r, &owner, &stored)
	if err := s.sendOnly(ctx, b); err != nil {
		return event.Persisted{}, err
	}
	switch {
	case !stored && owner == "":
		return event.Persisted{}, errKeyVanished
	case !stored:
		return event.Persisted{Duplicate: true, Owner: owner}, nil
	case linked:
		// An earlier parse did not ignore the event. The second transaction takes its changes back; should it fail,
		// the retry comes here again.
		p.Changes = nil
		return event.Persisted{}, s.upsert(ctx, r, p, run)
	default:
		return event.Persisted{}, nil
	}
}

// errKeyVanished: the key was purged between the claim that it refused and the look at its owner.
var errKeyVanished = &event.Error{
	Class: event.ClassTransient, Code: "key_vanished", Text: "the idempotency key was purged while it was claimed",
}
