package admin

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/activities/reconcile"
	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/operator/api"
)

// ReconcileCommand returns `holdfast reconcile`.
func ReconcileCommand() *cobra.Command {
	var o reconcileOptions
	command := cli.WithAPI(&cobra.Command{
		Use:   "reconcile",
		Short: "Find and repair what a restore of one store has lost",
		Long: `Compares the runs in Temporal with the rows in PostgreSQL, since the time of the
older backup.

An event that one of the two lacks becomes a dead letter of the step "run", with its
bytes; a replay processes it. A processed event without its key gets the key back.
The command shows the plan and asks first; --dry-run only shows it. It can be stopped
and repeated at any time.`,
		Example: "  holdfast reconcile --since 2026-11-22T10:00:00Z --dry-run\n" +
			"  holdfast reconcile --since 3h --yes --reason INC-42\n" +
			"  holdfast dlq replay --step run --code lost --yes",
	}, func(c *cobra.Command, a *cli.API, _ []string) error { return o.run(c, a) })
	cli.AddPeriodFlags(command, &o.since, &o.until)
	cli.AddDryRunFlag(command, &o.dryRun)
	cli.AddYesFlag(command, "do not ask")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

type reconcileOptions struct {
	since, until time.Time
	dryRun       bool
}

func (o *reconcileOptions) run(c *cobra.Command, a *cli.API) error {
	if o.since.IsZero() {
		return cli.UsageError(c, errors.New("missing --since: use the time of the older backup"))
	}
	if o.until.IsZero() {
		o.until = time.Now()
	}
	plan, err := o.compare(c, a, true)
	if err != nil {
		return err
	}
	shown := func(w io.Writer) error { return writeComparison(w, plan) }
	question := fmt.Sprintf("Repair %d?", plan.Repairs())
	if ok, err := cli.ConfirmPlan(c, plan, shown, o.dryRun || plan.Repairs() == 0, question); !ok {
		return err
	}
	done, err := o.compare(c, a, false)
	if err != nil {
		return err
	}
	return cli.Print(c, done, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "repaired %d; next, run `holdfast dlq replay` for the new dead letters\n", done.Repairs())
		return err
	})
}

func (o *reconcileOptions) compare(c *cobra.Command, a *cli.API, dry bool) (found reconcile.Comparison, err error) {
	err = a.Change(c.Context(), http.MethodPost, "/reconcile", api.ReconcileRequest{
		Reasoned: cli.Reasoned(c), Since: o.since.UTC().Format(time.RFC3339Nano), Until: o.until.UTC().Format(time.RFC3339Nano),
		DryRun: dry,
	}, &found)
	return found, err
}

// whatBecomes describes each kind and its repair.
var whatBecomes = map[reconcile.Kind][2]string{
	reconcile.RunWithoutRow: {"ended runs whose event has no row", "dead letters, with the bytes of the run"},
	reconcile.RowWithoutRun: {"stored events without a run", "dead letters with the code " + operation.CodeNoRun},
	reconcile.RowWithoutKey: {"processed events without their key", "restore the key"},
	reconcile.Unreadable:    {"unreadable runs and events", "none: see below"},
}

func writeComparison(w io.Writer, r reconcile.Comparison) error {
	table := cli.NewTable(w, "FOUND", "COUNT", "REPAIR", "EXAMPLES")
	var errs []string
	for _, f := range r.Findings {
		repair := whatBecomes[f.Kind][1]
		if f.Count == 0 {
			repair = ""
		}
		table.Row(whatBecomes[f.Kind][0], strconv.Itoa(f.Count), repair, strings.Join(f.Examples, ", "))
		errs = append(errs, f.Errors...)
	}
	err := table.Flush()
	for _, e := range errs {
		fmt.Fprintln(w, cli.Printable(e))
	}
	return err
}
