package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/internal/cli"
	"holdfast/internal/installation"
	"holdfast/workflows/runs"
)

// expungeEvent begins with Temporal: if it fails half-way, the database still lists the runs, and the command can be repeated.
func expungeEvent(c *cobra.Command, t *cli.Tools, argument string, dryRun bool, by oversight.Actor) error {
	if by.Reason == "" && !dryRun {
		return cli.UsageError(c, errors.New("missing --reason \"…\", which the audit log stores"))
	}
	id, err := t.FindEvent(c.Context(), argument)
	if err != nil {
		return err
	}
	plan, archived, err := planExpunge(c, t, id)
	if err != nil {
		return err
	}
	if dryRun {
		return printPlan(c, plan)
	}
	runs, err := forgetRuns(c.Context(), t, id)
	if err != nil {
		return err
	}
	gone, err := t.Store.Upkeep.ExpungeWith(c.Context(), archived, id, runs, by)
	if err != nil {
		return err
	}
	return errors.Join(printExpunged(c, gone), cleanArchive(c, t, gone))
}

// cleanArchive removes the event from the archive's files. The next purge finishes what fails now.
func cleanArchive(c *cobra.Command, t *cli.Tools, gone retention.Expunged) error {
	if gone.ArchiveFiles == 0 {
		return nil
	}
	keeper, err := installation.NewArchiveKeeper(t.Cfg, t.Store)
	switch {
	case err == nil && keeper == nil:
		err = errors.New("HOLDFAST_ARCHIVE is not set here")
	case err == nil:
		err = keeper.Clean(c.Context())
	}
	if err != nil {
		return fmt.Errorf("it may still be in %d file(s) of the archive until the next successful purge: %w",
			gone.ArchiveFiles, err)
	}
	fmt.Fprintf(cli.StatusWriter(c), "searched %d file(s) of the archive for it\n", gone.ArchiveFiles)
	return nil
}

func printExpunged(c *cobra.Command, gone retention.Expunged) error {
	return cli.Print(c, gone, func(w io.Writer) error {
		if gone.Earlier != nil {
			fmt.Fprintf(w, "%s\n", &event.DecisionError{Decision: *gone.Earlier})
		}
		_, err := fmt.Fprintf(w, "event %s is expunged: %d row(s), %d dead letter(s), %d change(s) of %d entities, %d run(s)\n",
			gone.EventID, gone.Events, gone.DeadLetters, gone.Changes, gone.Entities, gone.Runs)
		if gone.ImportLines > 0 && err == nil {
			_, err = fmt.Fprintf(w, "%d line(s) of imports that had not been applied are removed\n", gone.ImportLines)
		}
		return errors.Join(err, writeEntities(w, gone, "was", "is"))
	})
}

func forgetRuns(ctx context.Context, t *cli.Tools, id string) (total int, err error) {
	workflowIDs, err := t.Store.Upkeep.WorkflowsOf(ctx, id)
	if err != nil && !errors.Is(err, event.ErrNotFound) {
		return 0, err // not found: its rows are purged, but its effects on entities may remain
	}
	slices.Sort(workflowIDs)
	for _, workflowID := range slices.Compact(workflowIDs) {
		n, err := runs.Delete(ctx, t.Temporal, t.Cfg.Temporal.Namespace, workflowID)
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}
