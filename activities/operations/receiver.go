package operations

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

// ReceiverStore stores destinations and their health.
type ReceiverStore interface {
	// Destination returns one by its name or ID. The error is event.ErrNotFound if there is none.
	Destination(ctx context.Context, nameOrID string) (delivery.Destination, error)
	Condition(ctx context.Context, destinationID int64) (delivery.Condition, error)
	// SetDestinationState pauses, disables or resumes a destination, and audits it.
	SetDestinationState(
		ctx context.Context, nameOrID string, to delivery.DestinationState, by oversight.Actor,
	) (delivery.Condition, error)
	// ProbeDestination lets an open breaker retry now.
	ProbeDestination(ctx context.Context, nameOrID string, by oversight.Actor) (delivery.Condition, error)
}

// ReceiverLook is a snapshot of a destination.
type ReceiverLook struct {
	// Gone means that it was deleted; nothing else is set then.
	Gone      bool               `json:"gone,omitempty"`
	Condition delivery.Condition `json:"condition"`
	// DisableAfter is how long it may be failing before it is disabled.
	DisableAfter event.Duration `json:"disable_after"`
}

// LookAtReceiver reads a destination's health. It disables one that has been failing for too long, with the reason, and keeps
// its queued deliveries.
func (a *Activities) LookAtReceiver(ctx context.Context, destinationID int64) (look ReceiverLook, err error) {
	d, err := a.Receivers.Destination(ctx, strconv.FormatInt(destinationID, 10))
	if errors.Is(err, event.ErrNotFound) {
		return ReceiverLook{Gone: true}, nil
	}
	if err != nil {
		return look, err
	}
	look.DisableAfter = d.DisableAfter
	if look.DisableAfter == 0 {
		look.DisableAfter = delivery.DefaultDisableAfter
	}
	if look.Condition, err = a.Receivers.Condition(ctx, destinationID); err != nil {
		return look, err
	}
	c, limit := look.Condition, time.Duration(look.DisableAfter)
	if c.State != delivery.DestinationReady || c.FailingSince == nil || time.Since(*c.FailingSince) < limit {
		return look, nil
	}
	look.Condition, err = a.Receivers.SetDestinationState(ctx, d.Name, delivery.DestinationDisabled, oversight.Actor{
		Name:   ByItself,
		Reason: fmt.Sprintf("in trouble since %s: %s", c.FailingSince.UTC().Format(time.RFC3339), c.Failure),
	})
	return look, err
}

// ByItself is the actor of Holdfast's own decisions.
const ByItself = "holdfast"

// ReceiverChange is an operator's change to a destination.
type ReceiverChange struct {
	DestinationID int64 `json:"destination_id"`
	// To is the new state; "" means to retry at once.
	To     delivery.DestinationState `json:"to,omitempty"`
	By     string                    `json:"by"`
	Reason string                    `json:"reason,omitempty"`
}

// ChangeReceiver makes the same change as the API.
func (a *Activities) ChangeReceiver(ctx context.Context, c ReceiverChange) (delivery.Condition, error) {
	actor := oversight.Actor{Name: c.By, Reason: c.Reason}
	id := strconv.FormatInt(c.DestinationID, 10)
	if c.To == "" {
		return a.Receivers.ProbeDestination(ctx, id, actor)
	}
	return a.Receivers.SetDestinationState(ctx, id, c.To, actor)
}

// ReceiverNews is a notification about a destination.
type ReceiverNews struct {
	WorkflowID string `json:"workflow_id"`
	// Code is a short, stable name: notifications with the same code share one line.
	Code string `json:"code"`
	Text string `json:"text"`
}

// TellOfReceiver notifies operators. It is grouped with other notifications: a storm is one line with a count.
func (a *Activities) TellOfReceiver(_ context.Context, n ReceiverNews) error {
	a.Errors.Record(oversight.ErrorEntry{
		Phase: event.PhaseDeliver, Class: event.ClassTransient, Code: n.Code, Message: n.Text, Alert: true,
		Meta: map[string]string{"workflow_id": n.WorkflowID},
	})
	return nil
}
