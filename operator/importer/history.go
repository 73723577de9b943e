package importer

import (
	"io"
	"slices"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/retention"
	"holdfast/providers"
)

// History reads from an archive how events changed some entities, according to the current definitions. An event that occurs
// more than once counts once. What can't be read is left out: the caller must check that the history is complete.
func (r *Reader) History(in io.Reader, of []event.Entity) (retention.Archived, error) {
	h := history{parse: providers.Parser(r.Lookup), named: map[event.EntityRef]event.EntityRef{}, of: retention.Archived{}}
	for _, e := range of {
		for _, name := range append(slices.Clone(e.Names), e.ExternalID) {
			h.named[event.EntityRef{Provider: e.Provider, Kind: e.Kind, ExternalID: name}] = e.EntityRef
		}
	}
	err := r.Each(in, func(l Line) error {
		for _, item := range l.Items {
			if item.Record == operation.ImportEvent && item.Stored != nil && item.Stored.Event.Status == event.StatusProcessed {
				h.add(item)
			}
		}
		return nil
	})
	return h.of, err
}

type history struct {
	parse event.Parser
	named map[event.EntityRef]event.EntityRef // the entities by each of their names
	of    retention.Archived
}

func (h *history) add(item operation.ImportItem) {
	p, err := h.parse(item.Receipt, item.Body)
	if err != nil || p.Outcome == event.OutcomeIgnored {
		return
	}
	before := map[event.EntityRef]bool{}
	for _, c := range p.Changes {
		ref, is := h.entityOf(item.Receipt.Provider, c)
		if !is {
			continue
		}
		if _, looked := before[ref]; !looked {
			before[ref] = slices.ContainsFunc(h.of[ref], func(o event.OrderedChange) bool { return o.Order.EventID == item.Receipt.ID })
		}
		if before[ref] {
			continue
		}
		c.ExternalID = ref.ExternalID
		h.of[ref] = append(h.of[ref], event.OrderedChange{Order: event.OrderOf(item.Receipt, p, c), Change: c})
	}
}

// entityOf returns the entity of a change, whichever of its names is used.
func (h *history) entityOf(provider string, c event.Change) (ref event.EntityRef, is bool) {
	for _, name := range append([]event.Name{{Name: c.ExternalID}}, c.Names...) {
		if ref, is = h.named[event.EntityRef{Provider: provider, Kind: c.Kind, ExternalID: name.Name}]; is {
			return ref, true
		}
	}
	return ref, false
}
