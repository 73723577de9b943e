package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"holdfast/event"
)

// notFoundError is an event.ErrNotFound with its own text.
type notFoundError struct{ text string }

func (m *notFoundError) Error() string        { return m.text }
func (m *notFoundError) Is(target error) bool { return target == event.ErrNotFound }

// NotFound returns an event.ErrNotFound with a text that says where to find the right name.
func NotFound(format string, args ...any) error { return &notFoundError{fmt.Sprintf(format, args...)} }

// FindEvents returns the IDs of the events that a text identifies: one by its own ID, its workflow's, its key or its dead
// letter's number; all events of a request by the request's ID. They need not be stored any more. It returns event.ErrNotFound
// if there are none.
func (t *Tools) FindEvents(ctx context.Context, text string) ([]string, error) {
	var unsearched string
	for _, find := range []func(context.Context, string) ([]string, error){
		t.byNumber, t.byWorkflow, t.byKey, t.byID, t.Store.Read.EventsOfRequest, t.acceptedByKey,
	} {
		ids, err := find(ctx, text)
		switch {
		case len(ids) > 0:
			return ids, err
		case event.CodeOf(err) == event.CodeNoTemporal:
			unsearched = "; Temporal didn't respond, so events waiting for a worker were not searched"
		case err != nil && !errors.Is(err, event.ErrNotFound):
			return ids, err
		}
	}
	if uuid.Validate(text) == nil {
		return []string{text}, nil // an operator's decision about it may exist
	}
	return nil, NotFound("no event matches %q: use its ID, its workflow ID (provider:key), its key, the number of its dead "+
		"letter, or the ID of its request%s", text, unsearched)
}

// FindEvent returns the single event that a text identifies.
func (t *Tools) FindEvent(ctx context.Context, text string) (string, error) {
	ids, err := t.FindEvents(ctx, text)
	if err != nil {
		return "", err
	}
	if len(ids) > 1 {
		return "", fmt.Errorf("%q names %d events: %s", text, len(ids), strings.Join(ids, " "))
	}
	return ids[0], nil
}

// FindFiltered returns the event of a filter flag; "" for "".
func (t *Tools) FindFiltered(ctx context.Context, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	return t.FindEvent(ctx, text)
}

// byNumber also looks for an equal key, because either may be meant.
func (t *Tools) byNumber(ctx context.Context, text string) ([]string, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, event.ErrNotFound
	}
	ids, err := t.byKey(ctx, text)
	if err != nil {
		return nil, err
	}
	d, err := t.Store.DeadLetters.DeadLetter(ctx, n)
	switch {
	case errors.Is(err, event.ErrNotFound):
		return ids, nil
	case err == nil && !slices.Contains(ids, d.Receipt.ID):
		ids = append(ids, d.Receipt.ID)
	}
	return ids, err
}

func (t *Tools) byWorkflow(ctx context.Context, text string) ([]string, error) {
	provider, key, ok := event.SplitWorkflowID(text)
	if !ok || uuid.Validate(text) == nil {
		return nil, event.ErrNotFound
	}
	for _, one := range []string{key, event.CanonicalKey(provider, key)} {
		record, err := t.Store.Read.EventByKey(ctx, provider, one)
		if !errors.Is(err, event.ErrNotFound) {
			return []string{record.Receipt.ID}[:count(err)], err
		}
	}
	waiting, err := t.Store.Inbox.WaitingByWorkflow(ctx, text)
	if !errors.Is(err, event.ErrNotFound) {
		return []string{waiting.Receipt.ID}[:count(err)], err
	}
	id, err := t.Store.Upkeep.EventOfWorkflow(ctx, text)
	if errors.Is(err, event.ErrNotFound) {
		return t.acceptedOf(ctx, text)
	}
	return []string{id}[:count(err)], err
}

// acceptedOf finds the run of a workflow whose event still waits for a worker.
func (t *Tools) acceptedOf(ctx context.Context, workflowID string) ([]string, error) {
	accepted, err := t.Runs().AcceptedOf(ctx, workflowID)
	return []string{accepted.Receipt.ID}[:count(err)], err
}

// acceptedByKey looks among the newest open runs for events of all providers that still wait for a worker.
func (t *Tools) acceptedByKey(ctx context.Context, text string) (ids []string, err error) {
	if uuid.Validate(text) == nil {
		return nil, event.ErrNotFound
	}
	found, err := t.Runs().AcceptedEvents(ctx, event.RecordQuery{Key: text})
	for _, r := range found.Records {
		ids = append(ids, r.Receipt.ID)
	}
	return ids, err
}

// byKey searches all providers.
func (t *Tools) byKey(ctx context.Context, text string) (ids []string, err error) {
	if uuid.Validate(text) == nil {
		return nil, event.ErrNotFound
	}
	found, err := t.Store.Read.Events(ctx, event.RecordQuery{Key: text, Limit: completions})
	for _, r := range found {
		ids = append(ids, r.Receipt.ID)
	}
	return ids, err
}

func (t *Tools) byID(ctx context.Context, text string) ([]string, error) {
	if uuid.Validate(text) != nil {
		return nil, event.ErrNotFound
	}
	_, err := t.Store.Upkeep.WorkflowsOf(ctx, text)
	return []string{text}[:count(err)], err
}

func count(err error) int {
	if err != nil {
		return 0
	}
	return 1
}
