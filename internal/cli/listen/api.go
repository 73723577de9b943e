package listen

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/internal/cli"
)

// answerTimeout bounds each request to the developer's server.
const answerTimeout = 30 * time.Second

// sent is an event as received.
type sent struct {
	event.Receipt

	Type string
	Body []byte
}

var errNoBody = errors.New("the token may not read bodies: this needs the role operator")

func readEvent(ctx context.Context, api *cli.API, id string) (s sent, err error) {
	var shown struct {
		Type    string        `json:"type"`
		Receipt event.Receipt `json:"receipt"`
		Body    struct {
			Size     int    `json:"size"`
			Raw      []byte `json:"raw"`
			Redacted bool   `json:"redacted"`
		} `json:"body"`
	}
	if err := api.Read(ctx, "/events/"+url.PathEscape(id), nil, &shown); err != nil {
		return s, fmt.Errorf("read event %s: %w", id, err)
	}
	if shown.Body.Redacted || len(shown.Body.Raw) != shown.Body.Size {
		return s, errNoBody
	}
	return sent{Receipt: shown.Receipt, Type: shown.Type, Body: shown.Body.Raw}, nil
}

// openChanges opens the stream of changes from a position.
func openChanges(ctx context.Context, api *cli.API, after string, f feed.Filter) (*http.Response, error) {
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
	return api.Get(ctx, "/changes", query, "text/event-stream")
}
