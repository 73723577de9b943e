package dispatcher

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/operator/api"
	"holdfast/operator/httpapi"
)

const (
	// maxSources bounds under how many sources an ID is looked up. Publishers are services of one company.
	maxSources = 200
	// maxAsked bounds how many workflows are queried in Temporal one by one.
	maxAsked = 20
)

// recentSources are the sources that this process has recently seen: a new source has no stored event yet.
type recentSources struct {
	mu  sync.Mutex
	all []string // latest first
}

// add ignores a source that no request can contain.
func (r *recentSources) add(source string) {
	if source == "" || len(source) > httpapi.MaxText || !httpapi.IsText(source) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append([]string{source}, slices.DeleteFunc(r.all, func(s string) bool { return s == source })...)
	r.all = r.all[:min(len(r.all), maxSources)]
}

func (r *recentSources) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// event returns the event that a path names by its publisher's ID, or by Holdfast's ID if the publisher gave none. For an event
// of another provider it returns event.ErrNotFound.
func (s *Server) event(c *fiber.Ctx) (detail api.EventDetail, err error) {
	id, err := httpapi.PathText(c, "id")
	if err != nil {
		return detail, err
	}
	q := httpapi.QueryOf(c, httpapi.SourceParameter)
	if q.Err != nil {
		return detail, q.Err
	}
	ctx := httpapi.RequestContext(c)
	if detail, err = s.find(ctx, id, q.Text("source")); !errors.Is(err, event.ErrNotFound) {
		return detail, err
	}
	if uuid.Validate(id) != nil || len(id) != 36 {
		return detail, err
	}
	detail, err = s.API.EventDetail(ctx, id, false)
	var decided *event.DecisionError
	var refused *httpapi.RefusalError
	if errors.As(err, &decided) || errors.As(err, &refused) || err == nil && detail.Provider != Provider {
		return api.EventDetail{}, event.ErrNotFound
	}
	return detail, err
}

// find looks up an event by its own ID. Its key starts with its source, which few requests name: without one, find tries each
// known source.
func (s *Server) find(ctx context.Context, id, source string) (detail api.EventDetail, err error) {
	sources := []string{source}
	if source == "" {
		stored, err := s.API.Events.SourcesOf(ctx, Provider, maxSources)
		if err != nil {
			return detail, err
		}
		sources = slices.Concat(s.recent.list(), sources, stored)
	}
	var workflows []string
	for _, one := range sources {
		key := s.Key(id, one)
		if workflow := event.WorkflowID(Provider, key); key != "" && !slices.Contains(workflows, workflow) {
			workflows = append(workflows, workflow)
		}
	}
	found, err := s.API.Events.EventsOfWorkflows(ctx, workflows)
	if err == nil && len(found) == 0 && s.API.Accepted != nil {
		found, err = s.accepted(ctx, id, source, workflows)
		if err == nil && len(found) == 0 { // its run may have ended in the meantime
			found, err = s.API.Events.EventsOfWorkflows(ctx, workflows)
		}
	}
	switch {
	case err != nil:
		return detail, err
	case len(found) > 1:
		return detail, &httpapi.RefusalError{
			Code: httpapi.CodeRefused, Field: "source", Detail: "several sources have published this ID: name one with ?source=",
		}
	}
	for workflow := range found {
		return s.API.LatestOfWorkflow(ctx, workflow, false)
	}
	return detail, event.ErrNotFound
}

// accepted returns the events that wait for a worker, by workflow. It queries Temporal for the first workflows one by one, and
// then lists the open runs, where events of other sources appear with a delay.
func (s *Server) accepted(ctx context.Context, id, source string, workflows []string) (found map[string]string, err error) {
	found = map[string]string{}
	for _, workflow := range workflows[:min(len(workflows), maxAsked)] {
		accepted, err := s.API.Accepted.AcceptedOf(ctx, workflow)
		if err == nil {
			found[workflow] = accepted.Receipt.ID
		} else if !errors.Is(err, event.ErrNotFound) {
			return nil, err
		}
	}
	if len(found) > 0 || source != "" {
		return found, nil
	}
	open, err := s.API.Accepted.AcceptedEvents(ctx, event.RecordQuery{Provider: Provider})
	keys := map[string]string{}
	for _, r := range open.Records {
		from := r.Receipt.Source
		if _, ok := keys[from]; !ok {
			keys[from] = s.Key(id, from)
		}
		if r.Receipt.Key == keys[from] {
			found[r.Run.WorkflowID] = r.Receipt.ID
		}
	}
	return found, err
}
