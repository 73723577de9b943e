package admin

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/retention"
	"holdfast/internal/cli"
	"holdfast/operator/api"
)

func expungeEvent(c *cobra.Command, a *cli.API, argument string, dryRun bool) error {
	body := api.ExpungeRequest{Reasoned: cli.Reasoned(c), DryRun: dryRun}
	if body.Reason == "" && !dryRun {
		return cli.UsageError(c, errors.New("missing --reason \"…\", which the audit log stores"))
	}
	id, err := a.FindEvent(c.Context(), argument)
	if err != nil {
		return err
	}
	if cli.Asks(c) && !dryRun {
		var plan api.ExpungedEvent
		path := cli.Path("events", id, "expunge")
		if err := a.Change(c.Context(), http.MethodPost, path, api.ExpungeRequest{DryRun: true}, &plan); err != nil {
			return err
		}
		shown := func(w io.Writer) error { return writeExpungePlan(w, plan.Expunged) }
		if ok, err := cli.ConfirmPlan(c, plan.Expunged, shown, false, "Expunge the event permanently?"); !ok {
			return err
		}
	}
	var done api.ExpungedEvent
	if err := a.Change(c.Context(), http.MethodPost, cli.Path("events", id, "expunge"), body, &done); err != nil {
		return err
	}
	if dryRun {
		return printPlan(c, done.Expunged)
	}
	return errors.Join(printExpunged(c, done.Expunged), reportArchive(c, done))
}

func reportArchive(c *cobra.Command, done api.ExpungedEvent) error {
	if done.Problem == "" && done.ArchiveFiles > 0 {
		fmt.Fprintf(cli.StatusWriter(c), "searched %d file(s) of the archive for it\n", done.ArchiveFiles)
	}
	return problemOf(done.Problem)
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

func printPlan(c *cobra.Command, plan retention.Expunged) error {
	return cli.Print(c, plan, func(w io.Writer) error { return writeExpungePlan(w, plan) })
}

func writeExpungePlan(w io.Writer, plan retention.Expunged) error {
	_, err := fmt.Fprintf(w, "would expunge event %s: %d row(s), %d dead letter(s), %d change(s) of %d entities\n",
		plan.EventID, plan.Events, plan.DeadLetters, plan.Changes, plan.Entities)
	if err != nil {
		return err
	}
	return writeEntities(w, plan, "would be", "would be")
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
