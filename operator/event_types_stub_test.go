package operator_test

import (
	"context"
	"encoding/json"
	"slices"

	"holdfast/event/eventtype"
	"holdfast/event/oversight"
)

func someEventType() eventtype.EventType {
	return eventtype.EventType{
		Name: "crm", Description: "A contact changed.", Check: eventtype.CheckWarn,
		Versions: map[string]eventtype.TypeVersion{
			"1": {Schema: json.RawMessage(`{"type":"object"}`), Example: json.RawMessage(`{"id":1}`), Deprecated: true},
			"2": {Schema: json.RawMessage(`{"required":["id"]}`)},
		},
	}
}

func (s *stub) EventTypes(context.Context) ([]eventtype.EventType, error) {
	return []eventtype.EventType{someEventType()}, s.call("event types")
}

func (s *stub) EventTypesAfter(_ context.Context, name string, limit int) ([]eventtype.EventType, error) {
	all := slices.DeleteFunc([]eventtype.EventType{someEventType()}, func(t eventtype.EventType) bool { return t.Name <= name })
	return all[:min(limit, len(all))], s.call("event types")
}

func (s *stub) EventType(_ context.Context, name string) (eventtype.EventType, error) {
	if err := s.missing(name); err != nil {
		return eventtype.EventType{}, err
	}
	return someEventType(), s.call("event type")
}

func (s *stub) ApplyEventType(_ context.Context, t eventtype.EventType, by oversight.Actor) error {
	return s.changed("apply event type "+t.Name, by)
}

func (s *stub) DeleteEventType(_ context.Context, name string, by oversight.Actor) error {
	if err := s.missing(name); err != nil {
		return err
	}
	return s.changed("delete event type "+name, by)
}
