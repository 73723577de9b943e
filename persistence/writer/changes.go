package writer

import (
	"cmp"
	"fmt"

	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/persistence/postgres"
)

// eventChanges returns the change events of the transaction: one when an event gets its row and one when it is finished, however
// often it runs.
func eventChanges(ws []*eventWrite) (told []feed.Change) {
	for _, w := range ws {
		if action := w.changeAction(); action != "" {
			told = append(told, feed.Change{
				Subject: feed.Event, Action: action, Provider: w.provider(), Kind: postgres.Clean(w.parsed.Type), ID: w.receipt.ID,
			})
		}
	}
	return told
}

// changeAction returns "" if nothing is new.
func (w *eventWrite) changeAction() feed.Action {
	switch {
	case !w.owns() || w.isRebuild || w.imported != "" || w.current.status == event.StatusProcessed:
		return ""
	case w.Outcome == event.OutcomeIgnored:
		return feed.Ignored
	case w.finishes():
		return feed.Processed
	case w.current.status == "":
		return feed.Persisted
	default:
		return ""
	}
}

// maxNamed is how many entities an event's result names. It is small because Temporal's history outlives an expunge.
const maxNamed = 3

// nameEntities records for each processed event what the transaction, with all its events, does to the event's entities.
func (t *transaction) nameEntities(folded []feed.Change) {
	actions := map[event.EntityRef]feed.Action{}
	for _, c := range folded {
		actions[event.EntityRef{Provider: c.Provider, Kind: c.Kind, ExternalID: c.ID}] = c.Action
	}
	for _, w := range t.events {
		if w.Outcome == event.OutcomeProcessed {
			w.Entities = w.nameEntities(actions)
		}
	}
}

func (w *eventWrite) nameEntities(actions map[event.EntityRef]feed.Action) (named []string) {
	seen := map[event.EntityRef]bool{}
	for _, c := range w.changes {
		ref := w.refOf(c.Change)
		if seen[ref] {
			continue
		}
		seen[ref] = true
		if len(seen) <= maxNamed {
			named = append(named, fmt.Sprintf("%s %s %s", cmp.Or(actions[ref], "unchanged"), ref.Kind, ref.ExternalID))
		}
	}
	switch {
	case len(seen) == 0:
		return []string{"no entities"}
	case len(seen) > maxNamed:
		named = append(named, fmt.Sprintf("and %d more", len(seen)-maxNamed))
	}
	return named
}
