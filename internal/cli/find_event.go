package cli

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"holdfast/operator/httpapi"
)

// FindEvents returns the IDs of the events that a text identifies; see the route.
func (a *API) FindEvents(ctx context.Context, text string) ([]string, error) {
	var found struct {
		EventIDs []string `json:"event_ids"`
	}
	err := a.Read(ctx, Path("find", text), nil, &found)
	return found.EventIDs, err
}

// FindEvent returns the single event that a text identifies.
func (a *API) FindEvent(ctx context.Context, text string) (string, error) {
	ids, err := a.FindEvents(ctx, text)
	if err != nil {
		return "", err
	}
	if len(ids) != 1 {
		return "", fmt.Errorf("%q names %d events: %s", text, len(ids), strings.Join(ids, " "))
	}
	return ids[0], nil
}

// FindDeadLetter returns the number of a dead letter: the given one, or the latest of the event that a text identifies.
func (a *API) FindDeadLetter(ctx context.Context, text string) (string, error) {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return text, nil
	}
	id, err := a.FindEvent(ctx, text)
	if err != nil {
		return "", err
	}
	var letters httpapi.List[struct{ ID int64 }]
	err = a.Read(ctx, "/dead-letters", url.Values{"event_id": {id}, "limit": {"1"}}, &letters)
	switch {
	case err != nil:
		return "", err
	case len(letters.Items) == 0:
		return "", NotFound("event %s has no dead letter", id)
	}
	return strconv.FormatInt(letters.Items[0].ID, 10), nil
}
