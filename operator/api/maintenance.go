package api

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/activities/reconcile"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/operator/httpapi"
	"holdfast/operator/maintenance"
)

// Maintenance purges, expunges and reconciles. Each change writes an audit entry.
type Maintenance interface {
	// Purge removes what is past its retention, and returns the numbers of rows, also with an error.
	Purge(ctx context.Context, by oversight.Actor) (map[retention.Kind]int64, error)
	// PlanPurge returns the time before which a purge removes each kind of data; kinds that are kept forever are missing.
	PlanPurge(ctx context.Context) (map[retention.Kind]time.Time, error)
	PlanExpunge(ctx context.Context, id string) (retention.Expunged, error)
	// Expunge removes an event's content. With a *maintenance.ArchiveError, the event is expunged.
	Expunge(ctx context.Context, id string, by oversight.Actor) (retention.Expunged, error)
	PlanReconcile(ctx context.Context, since, until time.Time) (reconcile.Comparison, error)
	Reconcile(ctx context.Context, since, until time.Time, by oversight.Actor) (reconcile.Comparison, error)
}

// PurgeRequest is the body of a purge.
type PurgeRequest struct {
	httpapi.Reasoned

	// DryRun removes nothing, and returns the times before which data would be removed.
	DryRun bool `json:"dry_run,omitempty"`
}

// Purged counts what a purge has removed.
type Purged struct {
	// Removed counts rows by kind of data; kinds that are kept forever are missing. It is empty after a dry run.
	Removed map[retention.Kind]int64 `json:"removed"`
	// Before has the time before which each kind of data would be removed; only of a dry run.
	Before map[retention.Kind]time.Time `json:"before,omitempty"`
	// Problem says why a part couldn't be purged.
	Problem string `json:"problem,omitempty"`
}

// ExpungeRequest is the body of an expunge.
type ExpungeRequest struct {
	httpapi.Reasoned

	// DryRun counts what would be removed, and removes nothing. It needs no reason.
	DryRun bool `json:"dry_run,omitempty"`
}

// ExpungedEvent says what was removed with an event, or would be.
type ExpungedEvent struct {
	retention.Expunged

	DryRun bool `json:"dry_run,omitempty"`
	// Problem says where content of the event may still be.
	Problem string `json:"problem,omitempty"`
}

// ReconcileRequest is the body of a reconciliation.
type ReconcileRequest struct {
	httpapi.Reasoned

	// Since is the time of the older backup: RFC 3339, or a duration that counts back from now (48h, 7d).
	Since string `json:"since"`
	// Until is the end of the compared period; by default it is now.
	Until string `json:"until,omitempty"`
	// DryRun only compares.
	DryRun bool `json:"dry_run,omitempty"`
}

func (a *API) maintenanceRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Post("purge", "/purge", "Remove what is past its retention, as the schedule does", a.purge).
			Explain(httpapi.SlowDetails).MayTake(PurgeRequest{}).Returns(fiber.StatusOK, Purged{}),
		httpapi.Post("expungeEvent", "/events/:id/expunge",
			"Remove the content of an event from PostgreSQL, Temporal and the archive, for a reason", a.expunge).
			Explain("Its key stays, so that a redelivery is a duplicate. Entities are folded again without the event. "+
				httpapi.SlowDetails).
			With(eventID).MayTake(ExpungeRequest{}).Returns(fiber.StatusOK, ExpungedEvent{}),
		httpapi.Post("reconcile", "/reconcile", "Compare Temporal and PostgreSQL, and repair what a restore of one of them has lost",
			a.reconcile).
			Explain(httpapi.SlowDetails).Takes(ReconcileRequest{}, "since").Returns(fiber.StatusOK, reconcile.Comparison{}),
	}
}

func (a *API) purge(c *fiber.Ctx) error {
	var body PurgeRequest
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	by := httpapi.Actor(c, body.Reason)
	return httpapi.RespondSlowly(c, func(ctx context.Context) (done Purged, err error) {
		if body.DryRun {
			done.Removed = map[retention.Kind]int64{}
			done.Before, err = a.Maintenance.PlanPurge(ctx)
			return done, explained(err)
		}
		done.Removed, err = a.Maintenance.Purge(ctx, by)
		if err != nil && done.Removed != nil && event.ClassOf(err) != event.ClassTransient {
			done.Problem, err = err.Error(), nil // the rest was purged
		}
		return done, explained(err)
	})
}

func (a *API) expunge(c *fiber.Ctx) error {
	ctx := httpapi.RequestContext(c)
	id, _, err := a.pathEvent(ctx, c)
	if err != nil {
		return err
	}
	var body ExpungeRequest
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	if body.Reason == "" && !body.DryRun {
		return httpapi.MissingField("reason")
	}
	by := httpapi.Actor(c, body.Reason)
	return httpapi.RespondSlowly(c, func(ctx context.Context) (done ExpungedEvent, err error) {
		if done.DryRun = body.DryRun; done.DryRun {
			done.Expunged, err = a.Maintenance.PlanExpunge(ctx, id)
			return done, explained(err)
		}
		done.Expunged, err = a.Maintenance.Expunge(ctx, id, by)
		var archived *maintenance.ArchiveError
		if errors.As(err, &archived) {
			done.Problem, err = archived.Error(), nil
		}
		return done, explained(err)
	})
}

func (a *API) reconcile(c *fiber.Ctx) error {
	var body ReconcileRequest
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	since, until, err := body.period()
	if err != nil {
		return err
	}
	by := httpapi.Actor(c, body.Reason)
	return httpapi.RespondSlowly(c, func(ctx context.Context) (report reconcile.Comparison, err error) {
		if body.DryRun {
			report, err = a.Maintenance.PlanReconcile(ctx, since, until)
		} else {
			report, err = a.Maintenance.Reconcile(ctx, since, until, by)
		}
		return report, explained(err)
	})
}

func (r ReconcileRequest) period() (since, until time.Time, err error) {
	if r.Since == "" {
		return since, until, httpapi.MissingField("since")
	}
	until = time.Now().UTC()
	for name, given := range map[string]struct {
		text string
		into *time.Time
	}{"since": {r.Since, &since}, "until": {r.Until, &until}} {
		if given.text == "" {
			continue
		}
		if *given.into, err = httpapi.ParseTime(given.text); err != nil {
			return since, until, &httpapi.RefusalError{Code: httpapi.CodeBadField, Field: name, Detail: err.Error()}
		}
	}
	return since, until, httpapi.CheckPeriod(httpapi.CodeBadField, since, until)
}

// explained shows why maintenance failed, unless a store is unavailable: only admins get here, and these errors quote no event.
func explained(err error) error {
	var classed *event.Error
	switch {
	case err == nil, errors.Is(err, event.ErrNotFound), errors.Is(err, context.Canceled), event.ClassOf(err) == event.ClassTransient:
		return err
	case errors.As(err, &classed) && classed.Text != "":
		return &httpapi.RefusalError{Code: httpapi.CodeRefused, Detail: classed.Text}
	}
	return &httpapi.RefusalError{Code: httpapi.CodeRefused, Detail: err.Error()}
}
