package providers

import (
	"holdfast/event"
	"holdfast/providers/recovery"
)

// ListOf returns a provider and its list of events. The error is an event.Error of class rejected: unknown_provider, or no_list
// if the definition describes none.
func ListOf(lookup func(name string) (*Provider, bool), name string) (*Provider, *recovery.List, error) {
	p, ok := lookup(name)
	if !ok {
		return nil, nil, event.Rejectf("unknown_provider", "there is no definition of %q", name)
	}
	list := p.Recovery()
	if list == nil {
		return nil, nil, event.Rejectf("no_list", "the events of %s can't be recovered: its definition describes no list of events "+
			"(`recover`)", name)
	}
	return p, list, nil
}
