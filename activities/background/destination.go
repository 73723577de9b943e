package background

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
)

// DestinationStore stores destinations and their health.
type DestinationStore interface {
	// Destination returns one by its name or ID. The error is event.ErrNotFound if there is none.
	Destination(ctx context.Context, nameOrID string) (delivery.Destination, error)
	Condition(ctx context.Context, destinationID int64) (delivery.Condition, error)
	// SetDestinationState pauses, disables or resumes a destination, and audits it.
	SetDestinationState(
		ctx context.Context, nameOrID string, to delivery.DestinationState, by oversight.Actor,
	) (delivery.Condition, error)
	// ProbeDestination makes a destination's open breaker retry now.
	ProbeDestination(ctx context.Context, nameOrID string, by oversight.Actor) (delivery.Condition, error)
}

// DestinationCheck is a snapshot of a destination.
type DestinationCheck struct {
	// Deleted means that nothing else is set.
	Deleted   bool               `json:"gone,omitempty"`
	Condition delivery.Condition `json:"condition"`
	// DisableAfter is how long it may be failing before it is disabled.
	DisableAfter event.Duration `json:"disable_after"`
}

// CheckDestination reads a destination's health. It disables one that has been failing for too long, with the reason, and keeps
// its queued deliveries.
func (a *Activities) CheckDestination(ctx context.Context, destinationID int64) (check DestinationCheck, err error) {
	d, err := a.Destinations.Destination(ctx, strconv.FormatInt(destinationID, 10))
	if errors.Is(err, event.ErrNotFound) {
		return DestinationCheck{Deleted: true}, nil
	}
	if err != nil {
		return check, err
	}
	check.DisableAfter = d.DisableAfter
	if check.DisableAfter == 0 {
		check.DisableAfter = delivery.DefaultDisableAfter
	}
	if check.Condition, err = a.Destinations.Condition(ctx, destinationID); err != nil {
		return check, err
	}
	c, limit := check.Condition, time.Duration(check.DisableAfter)
	if c.State != delivery.DestinationReady || c.FailingSince == nil || time.Since(*c.FailingSince) < limit {
		return check, nil
	}
	check.Condition, err = a.Destinations.SetDestinationState(ctx, d.Name, delivery.DestinationDisabled, oversight.Actor{
		Name:   SystemActor,
		Reason: fmt.Sprintf("failing since %s: %s", c.FailingSince.UTC().Format(time.RFC3339), c.Failure),
	})
	return check, err
}

// SystemActor is the actor in the audit log for changes that Holdfast makes automatically.
const SystemActor = "holdfast"

// DestinationUpdate is an operator's change to a destination.
type DestinationUpdate struct {
	DestinationID int64 `json:"destination_id"`
	// To is the new state; "" means to retry at once.
	To     delivery.DestinationState `json:"to,omitempty"`
	By     string                    `json:"by"`
	Reason string                    `json:"reason,omitempty"`
}

// UpdateDestination makes the same change as the API.
func (a *Activities) UpdateDestination(ctx context.Context, u DestinationUpdate) (delivery.Condition, error) {
	actor := oversight.Actor{Name: u.By, Reason: u.Reason}
	id := strconv.FormatInt(u.DestinationID, 10)
	if u.To == "" {
		return a.Destinations.ProbeDestination(ctx, id, actor)
	}
	return a.Destinations.SetDestinationState(ctx, id, u.To, actor)
}

// DestinationNotification is a notification about a destination.
type DestinationNotification struct {
	WorkflowID string `json:"workflow_id"`
	// Code is a short, stable name: notifications with the same code share one line.
	Code string `json:"code"`
	Text string `json:"text"`
}

// NotifyAboutDestination notifies operators. It is grouped with other notifications: a storm is one line with a count.
func (a *Activities) NotifyAboutDestination(_ context.Context, n DestinationNotification) error {
	a.Errors.Record(oversight.ErrorEntry{
		Phase: event.PhaseDeliver, Class: event.ClassTransient, Code: n.Code, Message: n.Text, Alert: true,
		Meta: map[string]string{"workflow_id": n.WorkflowID},
	})
	return nil
}
