package stores

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// earlierSchedule is a schedule that migrate of a build from before 0.9.0 has made in each namespace, and that no release has.
const earlierSchedule = "holdfast-redrive-due"

// ErrEarlierNamespace rejects the namespace of a build from before 0.9.0: its runs and schedules have names that no worker of
// this program has.
var ErrEarlierNamespace = errors.New("belongs to a build from before 0.9.0, which can't be upgraded: archive its events with " +
	"that build, use a new database and a new namespace, and import the archive (docs/upgrades.md)")

// RefuseEarlierNamespace returns ErrEarlierNamespace for such a namespace, and no error if Temporal doesn't say.
func RefuseEarlierNamespace(ctx context.Context, c client.Client, namespace string) error {
	_, err := c.ScheduleClient().GetHandle(ctx, earlierSchedule).Describe(ctx)
	var missing *serviceerror.NotFound
	switch {
	case err == nil:
		return fmt.Errorf("namespace %s %w", namespace, ErrEarlierNamespace)
	case errors.As(err, &missing) || isRefused(err):
		return nil
	default:
		return fmt.Errorf("look for schedules of an earlier build: %w", err)
	}
}
