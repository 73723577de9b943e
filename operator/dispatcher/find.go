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
	"holdfast/operator/exchange"
)

// maxSources bounds how many sources an ID is looked for under. Publishers are services of one company.
const maxSources = 200

// recentSources are those that were published to this process lately: of a new one nothing is stored yet.
type recentSources struct {
	mu  sync.Mutex
	all []string // the latest last
}

func (r *recentSources) add(source string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(slices.DeleteFunc(r.all, func(s string) bool { return s == source }), source)
	r.all = r.all[max(len(r.all)-maxSources, 0):]
}

func (r *recentSources) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// event is the one that a path names, by the ID that its publisher has given it. An event that came without one has Holdfast's.
func (s *Server) event(c *fiber.Ctx) (detail api.EventDetail, err error) {
	id, err := exchange.PathText(c, "id")
	if err != nil {
		return detail, err
	}
	q := exchange.QueryOf(c, "source")
	if q.Err != nil {
		return detail, q.Err
	}
	ctx, cancel := exchange.Within(c)
	defer cancel()
	if detail, err = s.find(ctx, id, q.Text("source")); !errors.Is(err, event.ErrNotFound) {
		return detail, err
	}
	if uuid.Validate(id) != nil || len(id) != 36 {
		return detail, err
	}
	detail, err = s.API.EventDetail(ctx, id, false)
	if err == nil && detail.Provider != Provider {
		return api.EventDetail{}, event.ErrNotFound
	}
	return detail, err
}

// find looks for an event by its own ID. Its key has the source in front, which few readers name: so it is looked for under each
// source that there is.
func (s *Server) find(ctx context.Context, id, source string) (detail api.EventDetail, err error) {
	if source != "" {
		return s.findUnder(ctx, id, []string{source})
	}
	stored, err := s.Sources(ctx, maxSources)
	if err != nil {
		return detail, err
	}
	detail, err = s.findUnder(ctx, id, append(append([]string{""}, s.recent.list()...), stored...))
	if errors.Is(err, event.ErrNotFound) {
		return s.findUnder(ctx, id, s.openSources(ctx))
	}
	return detail, err
}

// findUnder asks PostgreSQL for every source before it asks Temporal for one.
func (s *Server) findUnder(ctx context.Context, id string, sources []string) (detail api.EventDetail, err error) {
	var workflows []string
	for _, source := range sources {
		if key := s.Key(id, source); key != "" {
			workflows = append(workflows, event.WorkflowID(Provider, key))
		}
	}
	slices.Sort(workflows)
	workflows = slices.Compact(workflows)
	for _, look := range []func(context.Context, string) (string, error){s.API.Events.EventOfWorkflow, s.API.EventOfWorkflow} {
		found, err := only(ctx, workflows, look)
		if err != nil {
			return detail, err
		}
		if found != "" {
			return s.API.LatestOfWorkflow(ctx, found, false)
		}
	}
	return detail, event.ErrNotFound
}

// only is the one of some workflows that a look finds; "" if there is none. Two are refused: nobody knows which one is meant.
func only(
	ctx context.Context, workflows []string, look func(context.Context, string) (string, error),
) (found string, err error) {
	for _, workflow := range workflows {
		_, err := look(ctx, workflow)
		switch {
		case errors.Is(err, event.ErrNotFound):
		case err != nil:
			return "", err
		case found != "":
			return "", &exchange.RefusalError{
				Code: exchange.CodeRefused, Field: "source", Detail: "several sources have published this ID: name one with ?source=",
			}
		default:
			found = workflow
		}
	}
	return found, nil
}

// openSources are the sources of events that wait for a worker, which another process may have accepted.
func (s *Server) openSources(ctx context.Context) (sources []string) {
	accepted, err := s.API.Accepted.AcceptedEvents(ctx, event.RecordQuery{Provider: Provider})
	if err != nil {
		return nil // Temporal has just been asked by the workflow ID, and has answered that
	}
	for _, r := range accepted.Records {
		if source := r.Receipt.Source; !slices.Contains(sources, source) && len(sources) < maxSources {
			sources = append(sources, source)
		}
	}
	return sources
}
