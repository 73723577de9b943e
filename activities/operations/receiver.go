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

// ReceiverStore keeps destinations, and how they do.
type ReceiverStore interface {
	// Destination reads one by its name or ID. The error is event.ErrNotFound if there is none.
	Destination(ctx context.Context, nameOrID string) (delivery.Destination, error)
	Condition(ctx context.Context, destinationID int64) (delivery.Condition, error)
	// SetDestinationState pauses a destination, disables it or lets it go on, and audits it.
	SetDestinationState(
		ctx context.Context, nameOrID string, to delivery.DestinationState, by oversight.Actor,
	) (delivery.Condition, error)
	// ProbeDestination lets an open breaker try again now.
	ProbeDestination(ctx context.Context, nameOrID string, by oversight.Actor) (delivery.Condition, error)
}

// ReceiverLook is a destination at a moment.
type ReceiverLook struct {
	// Gone says that it was deleted; nothing else is set then.
	Gone      bool               `json:"gone,omitempty"`
	Condition delivery.Condition `json:"condition"`
	// DisableAfter is how long it may be in trouble before it is disabled.
	DisableAfter event.Duration `json:"disable_after"`
}

// LookAtReceiver reads how a destination does. One that has been in trouble for too long it disables, with the reason: what waits
// for it is kept.
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
	if c.State != delivery.DestinationReady || c.TroubleSince == nil || time.Since(*c.TroubleSince) < limit {
		return look, nil
	}
	look.Condition, err = a.Receivers.SetDestinationState(ctx, d.Name, delivery.DestinationDisabled, oversight.Actor{
		Name:   ByItself,
		Reason: fmt.Sprintf("in trouble since %s: %s", c.TroubleSince.UTC().Format(time.RFC3339), c.Trouble),
	})
	return look, err
}

// ByItself is the actor of what Holdfast decides.
const ByItself = "holdfast"

// ReceiverChange is what somebody wants of a destination.
type ReceiverChange struct {
	DestinationID int64 `json:"destination_id"`
	// To is the state that it is to have; "" is to be tried again at once.
	To     delivery.DestinationState `json:"to,omitempty"`
	By     string                    `json:"by"`
	Reason string                    `json:"reason,omitempty"`
}

// ChangeReceiver does what the API does.
func (a *Activities) ChangeReceiver(ctx context.Context, c ReceiverChange) (delivery.Condition, error) {
	actor := oversight.Actor{Name: c.By, Reason: c.Reason}
	id := strconv.FormatInt(c.DestinationID, 10)
	if c.To == "" {
		return a.Receivers.ProbeDestination(ctx, id, actor)
	}
	return a.Receivers.SetDestinationState(ctx, id, c.To, actor)
}

// ReceiverNews is something that people are told of a destination.
type ReceiverNews struct {
	WorkflowID string `json:"workflow_id"`
	// Code is a short, stable name: equal ones are told in one line.
	Code string `json:"code"`
	Text string `json:"text"`
}

// TellOfReceiver has people told, together with what else they are told of: a storm is a line with a count.
func (a *Activities) TellOfReceiver(_ context.Context, n ReceiverNews) error {
	a.Errors.Record(oversight.ErrorEntry{
		Phase: event.PhaseDeliver, Class: event.ClassTransient, Code: n.Code, Message: n.Text, Alert: true,
		Meta: map[string]string{"workflow_id": n.WorkflowID},
	})
	return nil
}
