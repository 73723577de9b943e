package background

import (
	"context"
	"time"

	"holdfast/delivery"
)

// FormerNames provides activities under the names that they had until November 2026. Runs that began under these names keep using
// them. It can go together with the version of the workflows, once no such run is open or kept as a recorded history.
type FormerNames struct {
	Activities *Activities
	Upkeep     *Upkeep
}

// FormerCondition also has the names by which the workflow code of older workers reads two fields.
type FormerCondition struct {
	delivery.Condition

	TroubleSince *time.Time `json:"trouble_since,omitempty"`
	Trouble      string     `json:"trouble,omitempty"`
}

func formerly(c delivery.Condition) FormerCondition {
	return FormerCondition{c, c.FailingSince, c.Failure}
}

// FormerCheck is a DestinationCheck for older workers.
type FormerCheck struct {
	DestinationCheck

	Condition FormerCondition `json:"condition"`
}

// LookAtReceiver is CheckDestination.
func (f *FormerNames) LookAtReceiver(ctx context.Context, destinationID int64) (FormerCheck, error) {
	check, err := f.Activities.CheckDestination(ctx, destinationID)
	return FormerCheck{check, formerly(check.Condition)}, err
}

// ChangeReceiver is UpdateDestination.
func (f *FormerNames) ChangeReceiver(ctx context.Context, u DestinationUpdate) (FormerCondition, error) {
	condition, err := f.Activities.UpdateDestination(ctx, u)
	return formerly(condition), err
}

// TellOfReceiver is NotifyAboutDestination.
func (f *FormerNames) TellOfReceiver(ctx context.Context, n DestinationNotification) error {
	return f.Activities.NotifyAboutDestination(ctx, n)
}

// WakeReplays is SignalReplays.
func (f *FormerNames) WakeReplays(ctx context.Context) (int, error) {
	return f.Activities.SignalReplays(ctx)
}

// TellReport is SendReport.
func (f *FormerNames) TellReport(ctx context.Context, text string) (Notification, error) {
	return f.Upkeep.SendReport(ctx, text)
}
