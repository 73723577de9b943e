package activities

import (
	"context"

	"holdfast/event"
	"holdfast/event/tally"
)

// asRedelivery stores an event again that another one's key made a conflict, as a redelivery of that one, if both bodies are one
// JSON value that is written in different ways. ok is false if they aren't, or the other one's body can't be read: then the event
// stays a conflict. An operator who has accepted the conflict isn't asked, since such an event isn't held.
//
// The ingress compares the two before, unless it can't read the owner's body at once.
func (a *Activities) asRedelivery(
	ctx context.Context, r event.Receipt, body []byte, p event.Parsed, conflict *event.Conflict,
) (persisted event.Persisted, ok bool) {
	owner := r.ConflictsWith
	if conflict != nil {
		owner = conflict.Owner
	}
	if !a.isRewritten(ctx, r, body, p, owner) {
		return persisted, false
	}
	if r.ConflictsWith != "" {
		r.Key, r.ConflictsWith, r.Earlier = r.Earlier.Key, "", nil
	}
	r.Fingerprint = "" // the bytes aren't compared again
	persisted, err := a.Events.Write(ctx, event.RowOnly, r, body, p, currentRun(ctx))
	if err != nil || !persisted.Duplicate || persisted.Owner != owner {
		return persisted, err == nil && !persisted.Duplicate // the owner is gone, and the key is this event's
	}
	persisted.OwnerWaits = false // a failed owner runs again with its own bytes
	tally.Rewritten(ctx, r.Provider)
	a.countDuplicate(ctx, r, owner, true)
	return persisted, true
}

// isRewritten reports whether the body is the body of the key's owner, written in another way.
func (a *Activities) isRewritten(ctx context.Context, r event.Receipt, body []byte, p event.Parsed, owner string) bool {
	if a.Bodies == nil || owner == "" || r.Replaces != "" || p.Identity != nil || r.ConflictsWith != "" && r.Earlier == nil {
		return false
	}
	provider, ok := a.Catalogue.Lookup(r.Provider)
	if !ok {
		return false
	}
	first, err := a.Bodies.EventBody(ctx, owner)
	return err == nil && len(first) > 0 && provider.SameValue(ctx, p.Type, first, body)
}
