package dispatcher

import (
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/event"
)

// Check says what is wrong with the events that one of the dispatcher's clients publishes, so that the publisher gets an error
// and nothing is stored. It is "" if nothing is wrong with them, or if another client publishes. Events that the definition can't
// process for another reason, such as a deadline, aren't at fault: they are accepted like any other.
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
		if p.Source != "" {
			s.recent.add(p.Source)
		}
	}
	return ""
}

// published is what a publisher says of an event.
type published struct {
	ID     string          `json:"id"`
	Type   string          `json:"type"`
	Source string          `json:"source"`
	Data   json.RawMessage `json:"data"`
}

var errNoEvents = errors.New("the body is not a JSON object, or a list of them")

// publishedIn reads one event, or a list of them.
func publishedIn(body []byte) ([]published, error) {
	var parts []json.RawMessage
	if json.Unmarshal(body, &parts) != nil {
		parts = []json.RawMessage{body}
	}
	all := make([]published, 0, len(parts))
	for i, part := range parts {
		var fields map[string]json.RawMessage
		if json.Unmarshal(part, &fields) != nil || fields == nil {
			return nil, errNoEvents
		}
		at := ""
		if len(parts) > 1 {
			at = fmt.Sprintf("event %d: ", i+1)
		}
		for _, name := range []string{"id", "type", "source"} {
			if !isText(fields[name]) {
				return nil, fmt.Errorf("%s%s: must be a string", at, name)
			}
		}
		var one published
		if err := json.Unmarshal(part, &one); err != nil {
			return nil, errNoEvents
		}
		if one.Type == "" {
			return nil, fmt.Errorf("%stype: is missing", at)
		}
		all = append(all, one)
	}
	return all, nil
}

// isText is also true where there is nothing.
func isText(value json.RawMessage) bool {
	var text *string
	return value == nil || json.Unmarshal(value, &text) == nil
}
