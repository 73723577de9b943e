package operate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/activities/reconcile"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/internal/cli"
)

// ReconcileCommand returns `holdfast reconcile`.
func ReconcileCommand() *cobra.Command {
	var o reconcileOptions
	command := &cobra.Command{
		Use:   "reconcile",
		Short: "Find and repair what a restore of one store has lost",
		Long: `It compares the runs that Temporal has with the rows that PostgreSQL has, from a
moment on: that of the older backup.

An event that one of them lacks becomes a dead letter with its bytes, of the
step run, which a redrive processes. A processed event whose key is missing gets
its key back. It shows what it would do, and asks; --dry-run only shows. It can
be stopped and given again at any time.`,
		Example: "  holdfast reconcile --since 2026-11-22T10:00:00Z --dry-run\n" +
			"  holdfast reconcile --since 3h --yes --reason INC-42\n" +
			"  holdfast dlq redrive --step run --code lost --yes",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error { return o.run(c, t) }),
	}
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

func (o *reconcileOptions) run(c *cobra.Command, t *cli.Tools) error {
	if o.since.IsZero() {
		return cli.Misuse(c, errors.New("say since when they may disagree, with --since: the moment of the older backup"))
	}
	if o.until.IsZero() {
		o.until = time.Now().UTC()
	}
	letters := t.Store.DeadLetters
	s := &reconcile.Service{Runs: t.Runs(), Events: letters, Rows: letters, Keys: letters}
	plan, err := s.Compare(c.Context(), o.since, o.until, true)
	if err != nil {
		return err
	}
	shown := func(w io.Writer) error { return writeComparison(w, plan) }
	question := fmt.Sprintf("Repair %d?", plan.Repairs())
	if ok, err := cli.Agree(c, plan, shown, o.dryRun || plan.Repairs() == 0, question); !ok {
		return err
	}
	return o.repair(c, t, s, plan)
}

// repair writes the audit entry, with the plan, before it begins: if it is stopped, completed repairs stay.
func (o *reconcileOptions) repair(c *cobra.Command, t *cli.Tools, s *reconcile.Service, plan reconcile.Report) error {
	detail, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	if err := t.Store.Audit.Audit(c.Context(), cli.ActorOf(c).Did(oversight.AuditReconcile, "events", detail)); err != nil {
		return err
	}
	done, err := s.Compare(c.Context(), o.since, o.until, false)
	if cli.AsksJSON(c) {
		return errors.Join(cli.Print(c, done, nil), err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "repaired %d; the dead letters among them wait for `holdfast dlq redrive`\n",
		done.Repairs())
	return err
}

// whatBecomes describes each kind and its repair.
var whatBecomes = map[reconcile.Kind][2]string{
	reconcile.RunWithoutRow: {"runs that have ended, of events without a row", "dead letters, with the bytes of the run"},
	reconcile.RowWithoutRun: {"stored events that no run works on", "dead letters of the code " + operation.CodeNoRun},
	reconcile.RowWithoutKey: {"processed events without their key", "they get it back"},
	reconcile.Unreadable:    {"runs and events that cannot be read", "nothing: see below"},
}

func writeComparison(w io.Writer, r reconcile.Report) error {
	table := cli.NewTable(w, "FOUND", "COUNT", "REPAIR", "SUCH AS")
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
