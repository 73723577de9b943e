package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"holdfast/internal/movein"
)

// lines writes events in the format of import files.
type lines struct{ to *json.Encoder }

func newLines(w io.Writer) lines {
	l := lines{json.NewEncoder(w)}
	l.to.SetEscapeHTML(false)
	return l
}

// publishedEvent is an event as a publisher would send it to the provider "events".
type publishedEvent struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Source   string          `json:"source"`
	Time     time.Time       `json:"time"`
	Channels []string        `json:"channels,omitempty"`
	Data     json.RawMessage `json:"data"`
}

type eventLine struct {
	Record     string    `json:"record"`
	Provider   string    `json:"provider"`
	ReceivedAt time.Time `json:"received_at"`
	Attempts   int       `json:"attempts,omitempty"`
	Body       string    `json:"body"`
}

func (l lines) write(e movein.Event) error {
	var body bytes.Buffer
	text := json.NewEncoder(&body)
	text.SetEscapeHTML(false)
	if err := text.Encode(publishedEvent{e.ID, e.Type, e.Source, e.At, e.Channels, e.Data}); err != nil {
		return fmt.Errorf("event %s: its payload is not JSON", e.ID)
	}
	return l.to.Encode(eventLine{"event", "events", e.At, e.Attempts, body.String()})
}
