package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/ledger"
	"holdfast/ledger/visibility"
	"holdfast/persistence"
)

// settleInterval is the pause between two looks at what is unfinished.
const settleInterval = 250 * time.Millisecond

func verifyLedgerCommand() *cobra.Command {
	var settle time.Duration
	var withoutTemporal bool
	command := &cobra.Command{
		Use:     "verify-ledger FILE",
		Short:   "Check that nothing of a ledger is lost, doubled or changed (exit 1 if something is)",
		GroupID: groupOperate,
		Args:    cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			l, err := ledger.ReadFile(args[0])
			if err != nil {
				return err
			}
			check, err := t.store.OpenLedgerCheck(c.Context(), l)
			if err != nil {
				return err
			}
			defer check.Close()
			deadline := time.Now().Add(settle)
			left, err := waitSettled(c.Context(), check, settle, func(int) {})
			if err != nil {
				return err
			}
			report, err := check.Report(c.Context())
			if err != nil {
				return err
			}
			if !withoutTemporal {
				found, err := waitAgreed(c.Context(), deadline, func(ctx context.Context) ([]ledger.Finding, error) {
					return visibility.Check(ctx, t.temporal, check, l)
				})
				if err != nil {
					return fmt.Errorf("%w (--without-temporal leaves it out)", err)
				}
				report.Findings = append(report.Findings, found...)
			}
			if err := t.print(c, report, func(w io.Writer) error { return writeReport(w, report) }); err != nil {
				return err
			}
			return brokenError(report, left)
		}),
	}
	addJSONFlag(command)
	command.Flags().DurationVar(&settle, "settle", 0, "how long to wait until all that was acknowledged is at its end")
	command.Flags().BoolVar(&withoutTemporal, "without-temporal", false, "do not ask Temporal about the workflows")
	return command
}

// waitSettled waits until all that was acknowledged is at its end, but no longer than it may, and gives how many are not.
func waitSettled(ctx context.Context, c *persistence.LedgerCheck, most time.Duration, show func(int)) (int, error) {
	deadline := time.Now().Add(most)
	ticker := time.NewTicker(settleInterval)
	defer ticker.Stop()
	for {
		left, err := c.Unfinished(ctx)
		if err != nil || left == 0 || time.Now().After(deadline) {
			return left, err
		}
		show(left)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return left, ctx.Err()
		}
	}
}

// waitAgreed asks Temporal until it agrees, or the time is over: its list of runs is behind what has happened.
func waitAgreed(
	ctx context.Context, deadline time.Time, check func(context.Context) ([]ledger.Finding, error),
) ([]ledger.Finding, error) {
	ticker := time.NewTicker(settleInterval)
	defer ticker.Stop()
	for {
		found, err := check(ctx)
		if err != nil || !slices.ContainsFunc(found, ledger.Finding.Broken) || time.Now().After(deadline) {
			return found, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return found, ctx.Err()
		}
	}
}

// brokenError says what is broken; nil if nothing is.
func brokenError(r ledger.Report, unfinished int) error {
	var broken []string
	for _, f := range r.Findings {
		if f.Broken() {
			broken = append(broken, fmt.Sprintf("%s %d", f.Invariant, f.Count))
		}
	}
	switch {
	case len(broken) == 0:
		return nil
	case unfinished > 0:
		return fmt.Errorf("%s; %d events are not at their end yet, so wait (--settle) and look again", strings.Join(broken, ", "),
			unfinished)
	default:
		return errors.New(strings.Join(broken, ", "))
	}
}

// explained says what each invariant means.
var explained = map[ledger.Invariant]string{
	ledger.Lost:        "acknowledged, and nowhere",
	ledger.Duplicated:  "stored, or dead, more than once",
	ledger.Unexpected:  "stored, and refused or never sent",
	ledger.Bytes:       "stored otherwise than it was sent",
	ledger.Fold:        "entity is not the fold of its events",
	ledger.Checkpoints: "checkpoint of an entity is not the fold of its events",
	ledger.TwoEnds:     "processed, and a dead letter",
	ledger.Stuck:       "neither processed nor a dead letter",
	ledger.Undone:      "given up by an operator, and not without effect",
	ledger.Leaks:       "connection idle in a transaction",
	ledger.Running:     "workflow still running",
	ledger.NoWorkflow:  "acknowledged, and no workflow",
	ledger.Undead:      "run failed, and no dead letter",
	ledger.Recovered:   "never acknowledged, accepted all the same",
}

func writeReport(w io.Writer, r ledger.Report) error {
	t := newTable(w, "INVARIANT", "COUNT", "", "MEANING", "FOR EXAMPLE")
	for _, f := range r.Findings {
		mark := "ok"
		switch {
		case f.Broken():
			mark = "BROKEN"
		case f.Count > 0:
			mark = "allowed"
		}
		t.row(string(f.Invariant), strconv.Itoa(f.Count), mark, explained[f.Invariant], strings.Join(f.Examples, " "))
	}
	if err := t.flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeFields(w,
		"sent", fmt.Sprintf("%d events: %d acknowledged, %d refused, %d unknown", r.Sent, r.Acknowledged, r.Refused, r.Unknown),
		"stored", fmt.Sprintf("%d processed, %d dead, %d not at their end", r.Processed, r.Dead, r.Waiting))
}

// writeTiming prints what the loss check knows about time.
func writeTiming(w io.Writer, t ledger.Timing) error {
	if t.PerSecond == 0 {
		return nil
	}
	return writeFields(w, "processed", fmt.Sprintf("%.1f/s from the first request to the last commit", t.PerSecond),
		"ack → processed", quantilesText(t.FromAck), "receipt → processed", quantilesText(t.FromReceipt))
}

func quantilesText(q ledger.Quantiles) string {
	return fmt.Sprintf("p50 %s  p90 %s  p99 %s  max %s", short(q.P50), short(q.P90), short(q.P99), short(q.Max))
}

// short is a time in three or four digits.
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	default:
		return d.Round(10 * time.Microsecond).String()
	}
}

// removeUnlessBroken keeps a ledger that somebody will want to look at.
func removeUnlessBroken(path string, err error) error {
	if err != nil {
		return fmt.Errorf("%w (the ledger is %s)", err, path)
	}
	return os.Remove(path)
}
