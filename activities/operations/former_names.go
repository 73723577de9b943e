package operations

import (
	"context"

	"holdfast/delivery"
)

// FormerNames provides activities under the names that they had until November 2026. Runs that began under these names keep using
// them. It can go together with the version of the workflows, once no such run is open or kept as a recorded history.
type FormerNames struct {
	Activities *Activities
	Upkeep     *Upkeep
}

// LookAtReceiver is CheckDestination.
func (f *FormerNames) LookAtReceiver(ctx context.Context, destinationID int64) (DestinationCheck, error) {
	return f.Activities.CheckDestination(ctx, destinationID)
}

// ChangeReceiver is UpdateDestination.
func (f *FormerNames) ChangeReceiver(ctx context.Context, u DestinationUpdate) (delivery.Condition, error) {
	return f.Activities.UpdateDestination(ctx, u)
}

// TellOfReceiver is NotifyAboutDestination.
func (f *FormerNames) TellOfReceiver(ctx context.Context, n DestinationNotification) error {
	return f.Activities.NotifyAboutDestination(ctx, n)
}

// WakeRedrives is SignalRedrives.
func (f *FormerNames) WakeRedrives(ctx context.Context) (int, error) {
	return f.Activities.SignalRedrives(ctx)
}

// TellReport is SendReport.
func (f *FormerNames) TellReport(ctx context.Context, text string) (Notification, error) {
	return f.Upkeep.SendReport(ctx, text)
}
