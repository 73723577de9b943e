package writer

import (
	"encoding/json"
	"errors"
	"slices"

	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
)

// setChanges sets the changes of the event as they are stored, each with its order. A state that PostgreSQL can't store because
// of its size is left out.
func (w *write) setChanges() error {
	w.changes = make([]event.OrderedChange, 0, len(w.parsed.Changes))
	for i, c := range w.parsed.Changes {
		if c.Kind == "" || c.ExternalID == "" || !postgres.IsClean(c.Kind) || !postgres.IsClean(c.ExternalID) {
			return event.Rejectf("malformed_entity_id", "change %d has no usable kind or id", i)
		}
		state, err := postgres.StateColumn(c)
		if event.CodeOf(err) == string(event.StateTooLarge) {
			w.omit(c, event.StateTooLarge)
			continue
		}
		if err != nil {
			return err
		}
		c.State = state
		w.changes = append(w.changes, event.OrderedChange{Order: event.OrderOf(w.receipt, w.parsed, c), Change: c})
	}
	return nil
}

// omit marks the event as one that leaves out an entity.
func (w *write) omit(c event.Change, why event.OmitReason) {
	w.parsed.Omitted = w.parsed.Omitted.Add(event.OmittedEntity{Kind: c.Kind, ExternalID: c.ExternalID, Reason: why})
}

// omitLarge leaves out the entities that the transaction would have made too large. It reports whether there are any, so that the
// transaction can be tried again.
func (w *write) omitLarge(err error) (omits bool) {
	var large *entities.LargeError
	if !errors.As(err, &large) {
		return false
	}
	w.changes = slices.DeleteFunc(w.changes, func(c event.OrderedChange) bool {
		if !slices.Contains(large.Refs, w.refOf(c.Change)) {
			return false
		}
		w.omit(c.Change, event.EntityTooLarge)
		omits = true
		return true
	})
	return omits
}

// omitted returns the column with the entities that the event leaves out; NULL if there are none.
func (w *write) omitted() *string {
	if w.parsed.Omitted == nil {
		return nil
	}
	o := *w.parsed.Omitted
	o.Entities = slices.Clone(o.Entities)
	for i := range o.Entities {
		o.Entities[i].ExternalID = postgres.Clean(o.Entities[i].ExternalID)
	}
	text, _ := json.Marshal(o) //nolint:errchkjson // it has only numbers and text
	return textOrNull(text)
}
