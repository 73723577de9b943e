package maintenance

import (
	"context"
	"encoding/json"
	"time"

	"holdfast/activities/reconcile"
	"holdfast/event/oversight"
)

// PlanReconcile returns what Reconcile would repair.
func (s *Service) PlanReconcile(ctx context.Context, since, until time.Time) (reconcile.Comparison, error) {
	return s.Stores.Compare(ctx, since, until, true)
}

// Reconcile repairs what one of the two stores lacks. It writes the audit entry, with the plan, before it begins: if it is
// stopped, completed repairs stay.
func (s *Service) Reconcile(
	ctx context.Context, since, until time.Time, by oversight.Actor,
) (done reconcile.Comparison, err error) {
	plan, err := s.PlanReconcile(ctx, since, until)
	if err != nil || plan.Repairs() == 0 {
		return plan, err
	}
	detail, err := json.Marshal(plan)
	if err != nil {
		return done, err
	}
	if err := s.Audit.Audit(ctx, by.Did(oversight.AuditReconcile, "events", detail)); err != nil {
		return done, err
	}
	return s.Stores.Compare(ctx, since, until, false)
}
