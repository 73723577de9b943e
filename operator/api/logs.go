package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/word"
	"holdfast/operator/httpapi"
)

type rowCursor struct {
	ID int64 `json:"id"`
}

// rowBefore returns the row at which the previous page ended, or 0.
func rowBefore(q *httpapi.Query) int64 {
	if place := httpapi.CursorOf(q, func(c rowCursor) bool { return c.ID > 0 }); place != nil {
		return place.ID
	}
	return 0
}

var (
	auditParameters = []httpapi.Parameter{
		httpapi.TextParameter("actor", "Name of a token."),
		httpapi.ChoiceParameter("action", "What was done.", oversight.AuditActions()),
		httpapi.TextParameter("object", "Such as dead_letter:7."),
		httpapi.SinceParameter, httpapi.UntilParameter, httpapi.LimitParameter, httpapi.CursorParameter,
	}
	errorParameters = []httpapi.Parameter{
		httpapi.ChoiceParameter("phase", "Phase that failed.", event.Phases()),
		httpapi.ProviderParameter,
		httpapi.TextParameter("source", "Sender within the provider; needs provider. It only matches errors of single events."),
		classParameter, codeParameter,
		httpapi.UUIDParameter("event_id", "Errors of one event."),
		httpapi.SinceParameter, httpapi.UntilParameter, httpapi.LimitParameter, httpapi.CursorParameter,
	}
	errorID = httpapi.Parameter{
		Name: "id", About: "Number of the entry.", Schema: map[string]any{"type": "integer", "minimum": 1},
	}
	conflictParameters = []httpapi.Parameter{
		httpapi.ProviderParameter, httpapi.SourceParameter, keyParameter,
		httpapi.SinceParameter, httpapi.UntilParameter, httpapi.LimitParameter, httpapi.CursorParameter,
	}
)

func (a *API) auditRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Get("listAudit", "/audit", "Audit log, newest first", a.listAudit).
			With(auditParameters...).Returns(fiber.StatusOK, httpapi.List[oversight.AuditEntry]{}),
	}
}

func (a *API) errorRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Get("listErrors", "/errors", "Errors of all phases, newest first", a.listErrors).
			With(errorParameters...).Returns(fiber.StatusOK, httpapi.List[oversight.ErrorEntry]{}),
		httpapi.Get("showError", "/errors/:id", "One entry of the error log", a.showError).
			With(errorID).Returns(fiber.StatusOK, oversight.ErrorEntry{}),
	}
}

func (a *API) statsRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Get("showStats", "/stats", "Pending and completed work", a.showStats).
			With(windowParameter(defaultWindow)).Returns(fiber.StatusOK, oversight.Stats{}),
		httpapi.Get("showReport", "/report", "A period, compared with the one before it", a.showReport).
			Explain(httpapi.SlowDetails).With(windowParameter(reportWindow)).Returns(fiber.StatusOK, oversight.Report{}),
	}
}

func (a *API) conflictRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Get("listConflicts", "/conflicts", "Events dropped because another event has their key, last seen first",
			a.listConflicts).
			With(conflictParameters...).Returns(fiber.StatusOK, httpapi.List[event.Conflict]{}),
	}
}

func (a *API) listAudit(c *fiber.Ctx) error { return httpapi.RespondList(c, a.AuditQuery, a.ListAudit) }

// AuditQuery parses the query of a list of audit entries.
func (a *API) AuditQuery(c *fiber.Ctx) (oversight.AuditQuery, error) {
	q := httpapi.QueryOf(c, auditParameters...)
	wanted := oversight.AuditQuery{
		Actor: q.Text("actor"), Action: httpapi.Choose(q, "action", oversight.AuditActions()), Object: q.Text("object"),
		Limit: q.Limit(),
	}
	wanted.Since, wanted.Until = q.Period()
	wanted.Before = rowBefore(q)
	return wanted, q.Err
}

// ListAudit returns one page of the matching audit entries.
func (a *API) ListAudit(ctx context.Context, q oversight.AuditQuery) (list httpapi.List[oversight.AuditEntry], err error) {
	ctx, cancel := context.WithTimeout(ctx, httpapi.Timeout)
	defer cancel()
	q.Limit++ // one more shows whether there is a next page
	rows, err := a.Audit.AuditLog(ctx, q)
	if err != nil {
		return list, err
	}
	return httpapi.NewPage(rows, q.Limit-1, httpapi.Identity, func(e oversight.AuditEntry) rowCursor { return rowCursor{e.ID} }), nil
}

func (a *API) listErrors(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, errorParameters...)
	wanted := oversight.ErrorQuery{
		Phase: httpapi.Choose(q, "phase", event.Phases()), Provider: q.Text("provider"), Source: q.Source(),
		Code:    q.Text("code"),
		Class:   httpapi.Choose(q, "class", event.Classes()),
		EventID: q.Text("event_id"), Limit: q.Limit() + 1,
	}
	wanted.Since, wanted.Until = q.Period()
	if wanted.EventID != "" && uuid.Validate(wanted.EventID) != nil {
		q.Refuse("event_id")
	}
	wanted.Before = rowBefore(q)
	if q.Err != nil {
		return q.Err
	}
	rows, err := a.Errors.Errors(httpapi.RequestContext(c), wanted)
	if err != nil {
		return err
	}
	return c.JSON(httpapi.NewPage(rows, wanted.Limit-1, httpapi.Identity, func(e oversight.ErrorEntry) rowCursor {
		return rowCursor{e.ID}
	}))
}

func (a *API) showError(c *fiber.Ctx) error {
	n, err := httpapi.PathNumber(c)
	if err != nil {
		return err
	}
	if q := httpapi.QueryOf(c); q.Err != nil {
		return q.Err
	}
	return httpapi.RespondWith(c, func(ctx context.Context) (e oversight.ErrorEntry, err error) {
		rows, err := a.Errors.Errors(ctx, oversight.ErrorQuery{Before: n + 1, Limit: 1})
		if err == nil && (len(rows) == 0 || rows[0].ID != n) {
			err = event.ErrNotFound
		}
		if err != nil {
			return e, err
		}
		return rows[0], nil
	})
}

// Statistics and reports look back this far.
const (
	defaultWindow = time.Hour
	reportWindow  = 24 * time.Hour
	maxWindow     = 31 * 24 * time.Hour
)

func windowParameter(usual time.Duration) httpapi.Parameter {
	return httpapi.Parameter{
		Name: "window", About: "How far back, from 1m to 31d.",
		Schema: map[string]any{"type": "string", "default": word.Duration(usual)},
	}
}

func windowOf(c *fiber.Ctx, usual time.Duration) (time.Duration, error) {
	q := httpapi.QueryOf(c, windowParameter(usual))
	return q.Duration("window", usual, time.Minute, maxWindow), q.Err
}

func (a *API) showStats(c *fiber.Ctx) error {
	window, err := windowOf(c, defaultWindow)
	if err != nil {
		return err
	}
	return httpapi.RespondWith(c, func(ctx context.Context) (oversight.Stats, error) {
		stats, err := a.Stats.Stats(ctx, window)
		if err != nil {
			return stats, err
		}
		day, _ := oversight.SpanOf(time.Time{}, time.Time{}, time.Now())
		buckets, err := a.Stats.EventHistory(ctx, "", day)
		stats.LastDay = &oversight.EventHistory{Span: day, Buckets: buckets}
		return stats, err
	})
}

func (a *API) showReport(c *fiber.Ctx) error {
	window, err := windowOf(c, reportWindow)
	if err != nil {
		return err
	}
	return httpapi.RespondSlowly(c, func(ctx context.Context) (oversight.Report, error) {
		until := time.Now().UTC()
		return a.Stats.Report(ctx, until.Add(-window), until)
	})
}

// ConflictList reads events that were dropped because another one has their key.
type ConflictList interface {
	Conflicts(ctx context.Context, q event.ConflictQuery) ([]event.Conflict, error)
}

func (a *API) listConflicts(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, conflictParameters...)
	wanted := event.ConflictQuery{
		Provider: q.Text("provider"), Source: q.Source(), Key: q.Text("key"),
		Since: q.Time("since"), Until: q.Time("until"), Limit: q.Limit() + 1,
	}
	wanted.Before = rowBefore(q)
	if q.Err != nil {
		return q.Err
	}
	rows, err := a.Conflicts.Conflicts(httpapi.RequestContext(c), wanted)
	if err != nil {
		return err
	}
	cursor := func(e event.Conflict) rowCursor { return rowCursor{e.ID} }
	return c.JSON(httpapi.NewPage(rows, wanted.Limit-1, httpapi.Identity, cursor))
}
