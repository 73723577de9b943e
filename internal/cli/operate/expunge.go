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
	"holdfast/internal/stores"
	"holdfast/operator/importer"
	"holdfast/persistence/archive"
	"holdfast/providers"
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
	keeper, err := stores.NewArchiveKeeper(t.Cfg, t.Store)
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
		n, err := runs.Namespace{Client: t.Temporal, Name: t.Cfg.Temporal.Namespace}.Delete(ctx, workflowID)
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

// planExpunge returns what an expunge would do. It reads the archive only for entities that can't be folded without it.
func planExpunge(c *cobra.Command, t *cli.Tools, id string) (plan retention.Expunged, of retention.Archived, err error) {
	if plan, err = t.Store.Upkeep.PlanExpunge(c.Context(), nil, id); err != nil {
		return plan, nil, err
	}
	var refs []event.EntityRef
	for _, ref := range append(slices.Clone(plan.Incomplete), plan.Collapsed...) {
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	keeper, err := stores.NewArchiveKeeper(t.Cfg, t.Store)
	if keeper == nil || err != nil || len(refs) == 0 {
		return plan, nil, err
	}
	if of, err = readHistory(c, t, keeper, refs); err != nil {
		return plan, nil, fmt.Errorf("nothing was expunged: read the archive to recompute %d entities: %w",
			len(refs), err)
	}
	plan, err = t.Store.Upkeep.PlanExpunge(c.Context(), of, id)
	return plan, of, err
}

// readHistory reads the effects of archived events on entities.
func readHistory(c *cobra.Command, t *cli.Tools, k *archive.Archiver, refs []event.EntityRef) (retention.Archived, error) {
	catalogue, err := providers.Load(t.Cfg.Providers.Dir)
	if err != nil {
		return nil, err
	}
	var all []event.Entity
	for _, ref := range refs {
		e, err := t.Store.Read.Entity(c.Context(), ref)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	in, err := k.Read(c.Context())
	if err != nil {
		return nil, err
	}
	defer in.Close()
	reader := importer.Reader{Lookup: catalogue.Lookup, Format: importer.FormatJSON}
	return reader.History(in, all)
}

func printPlan(c *cobra.Command, plan retention.Expunged) error {
	return cli.Print(c, plan, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "would expunge event %s: %d row(s), %d dead letter(s), %d change(s) of %d entities\n",
			plan.EventID, plan.Events, plan.DeadLetters, plan.Changes, plan.Entities)
		if err != nil {
			return err
		}
		return writeEntities(w, plan, "would be", "would be")
	})
}

// writeEntities lists the entities that couldn't be folded again from the database alone.
func writeEntities(w io.Writer, e retention.Expunged, were, are string) error {
	for _, ref := range e.Recomputed {
		if _, err := fmt.Fprintf(w, "%s %s recomputed from the archive\n", nameOf(ref), were); err != nil {
			return err
		}
	}
	for _, ref := range e.Incomplete {
		text := "it lacks changes that a purge removed"
		if slices.Contains(e.Collapsed, ref) {
			text = "it may still contain the event's changes, collapsed with those of others"
		}
		if _, err := fmt.Fprintf(w, "%s %s incomplete: %s\n", nameOf(ref), are, text); err != nil {
			return err
		}
	}
	for _, ref := range e.Collapsed {
		if slices.Contains(e.Incomplete, ref) {
			continue
		}
		const text = "%s %s complete, but its collapsed history may still contain the event's changes\n"
		if _, err := fmt.Fprintf(w, text, nameOf(ref), are); err != nil {
			return err
		}
	}
	if len(e.Incomplete) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(w, "Check each incomplete entity with holdfast entity show. Its next snapshot or delete makes it "+
		"complete.")
	return err
}

// nameOf formats an entity as `holdfast entity show` accepts it.
func nameOf(ref event.EntityRef) string {
	return "entity " + cli.Printable(ref.Provider) + " " + cli.Printable(ref.Kind) + " " + cli.Printable(ref.ExternalID)
}
