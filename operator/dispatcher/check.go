package dispatcher

import (
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/event"
)

// Check returns what is wrong with the events that one of the dispatcher's clients publishes, so that the publisher gets an
// error and nothing is stored. It returns "" for valid events and for other clients. Events that fail for another reason, such
// as the definition's deadline, are accepted.
func (s *Server) Check(provider, header string, body []byte) (problem string) {
	if provider != Provider || s.Authenticate(header) != nil {
		return ""
	}
	published, err := publishedIn(body)
	if err != nil {
		return err.Error()
	}
	if err := s.Parse(body); err != nil {
		var known *event.Error
		if errors.As(err, &known) && known.Class == event.ClassRejected {
			return fmt.Sprintf("%s: %s", known.Code, known.Text)
		}
	}
	for _, p := range published {
		s.recent.add(p.Source)
	}
	return ""
}

// published contains the fields that a publisher sets.
type published struct {
	ID, Type, Source string
	Data             json.RawMessage
}

// readPublished parses an event by the exact names of its fields, as definitions do: json.Unmarshal would also accept "ID" for
// "id". With an error it returns what it could parse.
func readPublished(body []byte) (p published, err error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields == nil {
		return p, errNoEvents
	}
	p.Data = fields["data"]
	for _, text := range []struct {
		name string
		into *string
	}{{"id", &p.ID}, {"type", &p.Type}, {"source", &p.Source}} {
		if value, ok := fields[text.name]; ok && json.Unmarshal(value, text.into) != nil && err == nil {
			err = fmt.Errorf("%s: must be a string", text.name)
		}
	}
	if p.Type == "" && err == nil {
		err = errors.New("type: is missing")
	}
	return p, err
}

var errNoEvents = errors.New("the body is not a JSON object, or a list of them")

// publishedIn parses an event or a list of events.
func publishedIn(body []byte) ([]published, error) {
	body = event.WithoutMark(body)
	var parts []json.RawMessage
	if json.Unmarshal(body, &parts) != nil {
		parts = []json.RawMessage{body}
	}
	all := make([]published, len(parts))
	for i, part := range parts {
		var err error
		if all[i], err = readPublished(part); err == nil {
			continue
		}
		if len(parts) > 1 && !errors.Is(err, errNoEvents) {
			err = fmt.Errorf("event %d: %w", i+1, err)
		}
		return nil, err
	}
	return all, nil
}
