package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast/activities/operations"
	"holdfast/delivery"
)

// The pauses between two looks at a receiver: short at first, then long. An update ends them early.
const (
	freshLook  = time.Minute
	staleLook  = 5 * time.Minute
	freshLooks = 10
)

// Receiver is a destination in trouble. Since, Told and Looks are for a run that continues another one.
type Receiver struct {
	DestinationID int64     `json:"destination_id"`
	Destination   string    `json:"destination"`
	Since         time.Time `json:"since,omitzero"`
	Told          rung      `json:"told,omitempty"`
	Looks         int       `json:"looks,omitempty"`
}

// ReceiverResult says how the trouble has ended: recovered, disabled, resumed (by somebody) or deleted.
type ReceiverResult struct {
	Outcome string    `json:"outcome"`
	Since   time.Time `json:"since,omitzero"`
}

// ReceiverOrder is what an update of people brings.
type ReceiverOrder struct {
	// By is who wants it, for the audit log.
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// The longest texts of an order, in bytes.
const maxOrderBy, maxOrderReason = 100, 500

// receiver is the state of one run.
type receiver struct {
	Receiver

	// asked says that somebody has changed something since the last look.
	asked bool
}

// ReceiverInTrouble is there for people: it tells them of a destination in trouble, step by step, takes their orders as updates
// (pause, resume, probe), and disables the destination when it has lasted for too long. It delivers nothing, and rows alone
// decide. If it is terminated while the trouble lasts, it is started again within a minute.
func ReceiverInTrouble(ctx workflow.Context, in Receiver) (ReceiverResult, error) {
	r := &receiver{Receiver: in}
	if err := r.takeOrders(ctx); err != nil {
		return ReceiverResult{}, err
	}
	for n := 0; !isLong(ctx, n); n++ {
		outcome, pause, err := r.look(ctx)
		if err != nil {
			return ReceiverResult{}, err
		}
		if outcome != "" {
			return ReceiverResult{outcome, r.Since}, finish(ctx)
		}
		if _, err := workflow.AwaitWithTimeout(ctx, pause, func() bool { return r.asked }); err != nil {
			return ReceiverResult{}, err
		}
	}
	if err := finish(ctx); err != nil {
		return ReceiverResult{}, err
	}
	return ReceiverResult{}, continueAsNew(ctx, TypeReceiverInTrouble, r.Receiver)
}

// look reads how the destination does, tells what is new, and says how it has ended or when to look again.
func (r *receiver) look(ctx workflow.Context) (outcome string, pause time.Duration, err error) {
	r.asked = false
	var look operations.ReceiverLook
	err = workflow.ExecuteActivity(withOperationLane(ctx, "look"), operate.LookAtReceiver, r.DestinationID).Get(ctx, &look)
	if err != nil {
		return "", 0, err
	}
	outcome, tell, over := ending(look, r.Since)
	if over {
		if r.Told == "" {
			return outcome, 0, nil // nobody knows of it
		}
		return outcome, 0, r.tell(ctx, tell, look)
	}
	r.Looks++
	c, now := look.Condition, workflow.Now(ctx)
	r.Since = *c.TroubleSince
	pause = staleLook
	if r.Looks <= freshLooks {
		pause = freshLook
	}
	if c.State == delivery.DestinationPaused {
		return "", pause, nil
	}
	next, at := climb(r.Since, time.Duration(look.DisableAfter), now)
	if next.height() > r.Told.height() {
		if err := r.tell(ctx, next, look); err != nil {
			return "", 0, err
		}
	}
	if until := at.Sub(now); until > 0 {
		pause = min(pause, until)
	}
	return "", pause, nil
}

func (r *receiver) tell(ctx workflow.Context, what rung, look operations.ReceiverLook) error {
	if what == "" {
		return nil
	}
	r.Told = what
	return workflow.ExecuteActivity(withOperationLane(ctx, "tell"), operate.TellOfReceiver, operations.ReceiverNews{
		WorkflowID: ReceiverWorkflowID(r.Destination), Code: string(what),
		Text: newsOf(what, r.Destination, look.Condition, time.Duration(look.DisableAfter)),
	}).Get(ctx, nil)
}

// takeOrders lets people pause the destination, let it go on, or try again at once.
func (r *receiver) takeOrders(ctx workflow.Context) error {
	for _, order := range []struct {
		name string
		to   delivery.DestinationState
	}{{UpdatePause, delivery.DestinationPaused}, {UpdateResume, delivery.DestinationReady}, {UpdateProbe, ""}} {
		handler := func(ctx workflow.Context, o ReceiverOrder) (c delivery.Condition, err error) {
			err = workflow.ExecuteActivity(withOrderLane(ctx, order.name), operate.ChangeReceiver, operations.ReceiverChange{
				DestinationID: r.DestinationID, To: order.to, By: o.By, Reason: o.Reason,
			}).Get(ctx, &c)
			r.asked = true
			return c, err
		}
		options := workflow.UpdateHandlerOptions{Validator: checkOrder}
		if err := workflow.SetUpdateHandlerWithOptions(ctx, order.name, handler, options); err != nil {
			return err
		}
	}
	return nil
}

func checkOrder(o ReceiverOrder) error {
	if o.By == "" || len(o.By) > maxOrderBy || len(o.Reason) > maxOrderReason {
		return temporal.NewApplicationError(`an order is {"by": "your name", "reason": "…"}, of at most 100 and 500 bytes`, "BadOrder")
	}
	return nil
}

// finish waits for orders that are being carried out.
func finish(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}
