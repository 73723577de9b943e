package declared

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"holdfast/delivery"
	"holdfast/event"
)

// State has destinations and subscriptions by name: as they are declared, or as they are stored.
type State struct {
	Destinations  map[string]delivery.Destination `json:"destinations,omitempty" yaml:"destinations"`
	Subscriptions map[string]Subscription         `json:"subscriptions,omitempty" yaml:"subscriptions"`
}

// Subscription is active unless its declaration says otherwise.
type Subscription struct{ delivery.Subscription }

// UnmarshalYAML decodes over the defaults.
func (s *Subscription) UnmarshalYAML(read func(any) error) error {
	s.Subscription = delivery.Subscription{Active: true}
	return read(&s.Subscription)
}

// UnmarshalJSON decodes over the defaults, and refuses unknown fields.
func (s *Subscription) UnmarshalJSON(text []byte) error {
	s.Subscription = delivery.Subscription{Active: true}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	return strict.Decode(&s.Subscription)
}

// Stored returns the state of what is stored.
func Stored(destinations []delivery.Destination, subscriptions []delivery.Subscription) State {
	s := State{Destinations: map[string]delivery.Destination{}, Subscriptions: map[string]Subscription{}}
	for _, d := range destinations {
		s.Destinations[d.Name] = d
	}
	for _, one := range subscriptions {
		s.Subscriptions[one.Name] = Subscription{one}
	}
	return s
}

// SetNames sets each entry's name from its key, and refuses fields that only a stored row has.
func (s State) SetNames() error {
	for _, name := range sorted(s.Destinations) {
		d := s.Destinations[name]
		if d.ID != 0 || d.Version != 0 || d.Name != "" && d.Name != name {
			return fmt.Errorf("destinations.%s: remove id, name and version: its name is its key", name)
		}
		d.Name = name
		s.Destinations[name] = d
	}
	for _, name := range sorted(s.Subscriptions) {
		one := s.Subscriptions[name]
		if one.ID != 0 || one.Version != 0 || one.DestinationID != 0 || one.Name != "" && one.Name != name {
			return fmt.Errorf("subscriptions.%s: remove id, name, destination_id and version: its name is its key", name)
		}
		one.Name = name
		s.Subscriptions[name] = one
	}
	return nil
}

// Problem is a mistake in a declaration.
type Problem struct {
	// In is the declared object, such as destinations.crm.
	In string `json:"in"`
	// Field is its wrong field, if the problem is about one.
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
}

// Check finds every mistake. What isn't declared may be stored already.
func (s State) Check(stored State, checkSignature func(json.RawMessage) error) (all []Problem) {
	add := func(in, field string, err error) {
		if err == nil {
			return
		}
		p := Problem{In: in, Field: field, Reason: err.Error()}
		if classed := (*event.Error)(nil); errors.As(err, &classed) {
			p.Reason = classed.Text // the code adds nothing here
			if len(classed.Fields) > 0 {
				p.Field = classed.Fields[0].Field
			}
		}
		all = append(all, p)
	}
	for _, name := range sorted(s.Destinations) {
		d, in := s.Destinations[name], "destinations."+name
		add(in, "", d.Check())
		link := d.Link()
		if link == nil {
			continue
		}
		if link.Signature != nil {
			add(in, "http.signature", checkSignature(link.Signature))
		}
		if was := stored.Destinations[name].Link(); link.Secrets != "" && (was == nil || was.Secrets != link.Secrets) {
			add(in, d.Kind()+".secrets", delivery.CheckVariable(d.Kind(), link.Secrets))
		}
	}
	for _, name := range sorted(s.Subscriptions) {
		one, in := s.Subscriptions[name], "subscriptions."+name
		to, known := s.target(one, stored)
		if one.To != "" && !known {
			add(in, "to", fmt.Errorf("to: unknown destination %q", one.To))
			continue
		}
		add(in, "", one.CheckFor(to))
	}
	return all
}

// target returns the destination of a subscription, declared or stored.
func (s State) target(one Subscription, stored State) (to delivery.Destination, known bool) {
	if to, known = s.Destinations[one.To]; known {
		return to, true
	}
	to, known = stored.Destinations[one.To]
	return to, known
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
