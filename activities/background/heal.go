package background

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// HealStore stores the marks of sweeps, and finds what a setback of the database affects.
type HealStore interface {
	// SweepMark returns the mark that the last sweep left, with the database's present identity.
	SweepMark(ctx context.Context) (operation.Mark, error)
	// LeaveSweepMark replaces the mark seen. ok is false, and nothing changes, if it isn't the database's mark any more.
	LeaveSweepMark(ctx context.Context, seen operation.Mark, counter int64) (left operation.Mark, ok bool, err error)
	// HoldOpen leaves dead letters to operators that the policy would replay, and whose last failure is before a time.
	HoldOpen(ctx context.Context, p operation.AutomaticReplay, before time.Time) (held int64, err error)
	// Gone returns the events that the database doesn't have in any form.
	Gone(ctx context.Context, eventIDs []string) (gone map[string]bool, err error)
}

// AuditLog writes audit entries.
type AuditLog interface {
	Audit(ctx context.Context, e oversight.AuditEntry) error
}

// MarkComparison is the result of CompareMarks.
type MarkComparison struct {
	// Seen is the database's mark.
	Seen    operation.Mark    `json:"seen"`
	Setback operation.Setback `json:"setback,omitzero"`
}

// CompareMarks compares the mark in the last sweep's result with that in the database.
func (a *Activities) CompareMarks(ctx context.Context, last operation.Mark) (MarkComparison, error) {
	seen, err := a.Healing.SweepMark(ctx)
	if err != nil {
		return MarkComparison{}, err
	}
	return MarkComparison{Seen: seen, Setback: operation.CompareMarks(seen, last, time.Now().UTC())}, nil
}

// LeaveMark leaves the mark of a sweep in the database, and returns it for the sweep's result. If the database isn't the seen
// one any more, it leaves none and returns the last sweep's, so that the next sweep notices.
func (a *Activities) LeaveMark(ctx context.Context, seen, last operation.Mark) (operation.Mark, error) {
	left, ok, err := a.Healing.LeaveSweepMark(ctx, seen, max(seen.Counter, last.Counter)+1)
	if err == nil && !ok {
		logRefusedMark(ctx, seen)
		return last, nil
	}
	return left, err
}

// isSeen reports whether the database is still the one that the sweep has compared. If it was set back since, this sweep doesn't
// know what it lacks, nor that decisions may be lost: the next one does.
func (a *Activities) isSeen(ctx context.Context, seen operation.Mark) (bool, error) {
	if seen.Identity == "" {
		return true, nil // an older worker has begun the sweep
	}
	now, err := a.Healing.SweepMark(ctx)
	if err == nil && !seen.Is(now) {
		logRefusedMark(ctx, seen)
	}
	return err == nil && seen.Is(now), err
}

func logRefusedMark(ctx context.Context, seen operation.Mark) {
	slog.WarnContext(ctx, "sweep.mark_refused", "counter", seen.Counter, "identity", seen.Identity)
}

// HealOrder says what a sweep has found out about a setback.
type HealOrder struct {
	Setback operation.Setback `json:"setback"`
	// From is the start of the comparison.
	From   time.Time        `json:"from"`
	Healed operation.Healed `json:"healed"`
	// First marks the sweep that noticed the setback. Those after it only look for runs that ended late.
	First bool `json:"first,omitempty"`
}

// healer is the actor of what a sweep does about a setback.
const healer = "holdfast sweep"

// Heal starts the processing of what a sweep has restored, leaves to operators what they may have decided about, and reports
// both. Nothing is reported if only the database's identity has changed and nothing is missing.
func (a *Activities) Heal(ctx context.Context, o HealOrder) (operation.Healed, error) {
	h := o.Healed
	if o.First && o.Setback.MayLackCommits() {
		lost, err := a.lostFromBulkLane(ctx, operation.SweepPage{Since: o.From, Until: o.Setback.NoticedAt})
		if err != nil {
			return h, err
		}
		h = h.With(lost)
	}
	by := oversight.Actor{Name: healer, Reason: o.Setback.Text(h)}
	if o.First || h.Again > 0 {
		again, err := a.replayRestored(ctx, o, by)
		if err != nil {
			return h, err
		}
		h.Again = max(h.Again, again)
	}
	isProven := o.Setback.Store == operation.StorePostgreSQL || o.Setback.MayLackCommits() && !h.IsZero()
	if o.First && isProven {
		held, err := a.Healing.HoldOpen(ctx, a.Automatic(), o.Setback.NoticedAt)
		if err != nil {
			return h, err
		}
		h.Held = int(held)
	}
	if h.IsZero() && (!o.First || o.Setback.Store == "") {
		slog.InfoContext(ctx, "sweep.compared", "from", o.From, "first", o.First)
		return h, nil
	}
	return h, a.reportHealed(ctx, o.Setback, h)
}

// replayRestored starts a replay of the dead letters of restored events, and returns their number. A bulk replay works
// whether or not the automatic replay is on, at its rate, and operators can watch and pause it.
func (a *Activities) replayRestored(ctx context.Context, o HealOrder, by oversight.Actor) (total int, err error) {
	filters := []operation.ReplayFilter{{Step: event.StepRun, Code: operation.CodeLost, Since: o.From}}
	if o.Setback.Store == operation.StoreTemporal {
		filters = append(filters, operation.ReplayFilter{
			Step: event.StepRun, Code: operation.CodeNoRun, State: event.DeadLetterOpen, Since: o.From,
		})
	}
	for _, f := range filters {
		plan, err := a.Replays.Plan(ctx, f)
		if err != nil {
			return total, err
		}
		if plan.Count == 0 {
			continue
		}
		if _, err := a.Replays.Create(ctx, operation.Replay{Base: operation.New(a.RestoreRate), Filter: f}, by); err != nil {
			return total, err
		}
		total += int(plan.Count)
	}
	return total, nil
}

// maxBulkComparison keeps Heal shorter than its timeout. The latest batches come first.
const maxBulkComparison = 3 * time.Minute

// lostFromBulkLane compares the events in the results of batches with the database.
func (a *Activities) lostFromBulkLane(ctx context.Context, page operation.SweepPage) (lost operation.Healed, err error) {
	for began := time.Now(); ; {
		batched, next, err := a.Runs.BatchedEvents(ctx, page)
		if err != nil {
			return lost, err
		}
		ids := make([]string, len(batched))
		for i, e := range batched {
			ids[i] = e.EventID
		}
		gone, err := a.Healing.Gone(ctx, ids)
		if err != nil {
			return lost, err
		}
		for _, e := range batched {
			if gone[e.EventID] {
				lost = lost.With(operation.Healed{Bulk: 1, BulkKeys: []string{e.WorkflowID}})
			}
		}
		if page.Token = next; len(next) == 0 {
			return lost, nil
		}
		if time.Since(began) > maxBulkComparison {
			slog.WarnContext(ctx, "sweep.bulk_incomplete", "since", page.Since)
			return lost, nil
		}
	}
}

// reportHealed writes the audit entry, the log, and an alert if something was missing.
func (a *Activities) reportHealed(ctx context.Context, s operation.Setback, h operation.Healed) error {
	text := s.Text(h)
	detail, err := json.Marshal(struct {
		operation.Setback
		operation.Healed
	}{s, h})
	if err != nil {
		return fmt.Errorf("report setback: %w", err)
	}
	by := oversight.Actor{Name: healer, Reason: text}
	if err := a.Audit.Audit(ctx, by.Did(oversight.AuditReconcile, "events", detail)); err != nil {
		return err
	}
	slog.WarnContext(ctx, "sweep.healed", "report", text, "store", string(s.Store), "since", s.Since, "restored", h.Again,
		"waiting", h.Waiting+h.Held, "unknown", h.Unknown, "bulk_lost", h.Bulk)
	for result, n := range map[string]int{"restored": h.Again, "waiting": h.Waiting + h.Held, "unknown": h.Unknown, "lost": h.Bulk} {
		healedEvents().Add(ctx, int64(n), metric.WithAttributes(attribute.String("result", result)))
	}
	if a.Errors != nil && !h.IsZero() {
		a.Errors.Record(oversight.ErrorEntry{
			Phase: event.PhaseUpkeep, Class: event.ClassFailed, Code: "store_set_back", Message: text, Alert: true,
			Meta: map[string]string{"bulk_lost": strings.Join(h.BulkKeys, " ")},
		})
	}
	return nil
}

// healedEvents ignores errors, like sweepCounters.
var healedEvents = sync.OnceValue(func() metric.Int64Counter {
	counter, _ := otel.Meter("holdfast/activities").Int64Counter("holdfast_sweep_healed_events_total",
		metric.WithDescription("Events that a store lacked after a failover or restore, by what the sweep has done about them."))
	return counter
})
