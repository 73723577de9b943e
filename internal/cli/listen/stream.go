package listen

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/internal/cli"
	"holdfast/operator/api"
)

// message is a server-sent event; one without data only moves the position.
type message struct{ name, id, data string }

// maxLine bounds a line of the stream, in bytes.
const maxLine = 1 << 20

// messages calls take for each message of a stream until it ends or take fails.
func messages(stream io.Reader, take func(message) error) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxLine)
	var m message
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if err := take(m); err != nil {
				return err
			}
			m = message{}
		case name == "event":
			m.name = value
		case name == "id":
			m.id = value
		case name == "data":
			m.data += value
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

var (
	errResync  = errors.New("the feed was reset")
	errSkipped = errors.New("some changes were skipped")
)

// change returns a message's change, if it has one. For skipped changes, place is where they begin.
func (m message) change() (c feed.Change, place string, err error) {
	switch m.name {
	case "resync":
		return c, "", errResync
	case "skipped":
		var gap api.Gap
		if err := json.Unmarshal([]byte(m.data), &gap); err != nil {
			return c, "", fmt.Errorf("read stream: %w", err)
		}
		return c, gap.After.String(), errSkipped
	}
	if m.data != "" {
		if err := json.Unmarshal([]byte(m.data), &c); err != nil {
			return c, "", fmt.Errorf("read stream: %w", err)
		}
	}
	return c, m.id, nil
}

// answerTimeout bounds each request to the developer's server.
const answerTimeout = 30 * time.Second

// sent is an event as received.
type sent struct {
	event.Receipt

	Type string
	Body []byte
}

var errNoBody = errors.New("the token may not read bodies: this needs the role operator")

func readEvent(ctx context.Context, server *cli.API, id string) (s sent, err error) {
	var shown api.EventDetail
	if err := server.Read(ctx, "/events/"+url.PathEscape(id), nil, &shown); err != nil {
		return s, fmt.Errorf("read event %s: %w", id, err)
	}
	s = sent{Receipt: shown.Receipt, Type: shown.Type, Body: shown.Body.Raw}
	if shown.Body.Truncated && !shown.Body.Redacted {
		if s.Body, err = readBody(ctx, server, id); err != nil {
			return s, fmt.Errorf("read body of event %s: %w", id, err)
		}
	}
	if shown.Body.Redacted || len(s.Body) != shown.Body.Size {
		return s, errNoBody
	}
	return s, nil
}

func readBody(ctx context.Context, server *cli.API, id string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	response, err := server.Get(ctx, "/events/"+url.PathEscape(id)+"/body", nil, "application/octet-stream")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// openChanges opens the stream of changes from a position.
func openChanges(ctx context.Context, server *cli.API, after string, f feed.Filter) (*http.Response, error) {
	query := url.Values{"after": {after}}
	if f.Subject != "" {
		query.Set("subject", string(f.Subject))
	}
	if f.Provider != "" {
		query.Set("provider", f.Provider)
	}
	if f.Kind != "" {
		query.Set("kind", f.Kind)
	}
	return server.Get(ctx, "/changes", query, "text/event-stream")
}
