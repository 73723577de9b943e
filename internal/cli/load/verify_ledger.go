package load

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/visibility"
	"holdfast/persistence"
)

// settleInterval is the pause between two checks for unfinished events.
const settleInterval = 250 * time.Millisecond

// VerifyLedgerCommand returns `holdfast verify-ledger`.
func VerifyLedgerCommand() *cobra.Command {
	var settle time.Duration
	var withoutTemporal bool
	command := &cobra.Command{
		Use:     "verify-ledger FILE",
		Short:   "Check that no event of a ledger is lost (exit 1 if one is)",
		Long:    "Check that no event of a ledger is lost, duplicated or changed. Exit 1 if one is.",
		Example: "  holdfast verify-ledger load.ledger --settle 1m",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			l, err := ledger.ReadFile(args[0])
			if err != nil {
				return err
			}
			check, err := t.Store.Ledgers.OpenLedgerCheck(c.Context(), l)
			if err != nil {
				return err
			}
			defer check.Close()
			deadline := time.Now().Add(settle)
			left, err := waitSettled(c.Context(), check, deadline, func(int) {})
			if err != nil {
				return err
			}
			report, err := check.Report(c.Context())
			if err != nil {
				return err
			}
			if !withoutTemporal {
				var found []ledger.Finding
				err := pollUntil(c.Context(), deadline, func() (done bool, err error) { // Temporal's list of runs lags
					found, err = visibility.Check(c.Context(), t.Temporal, check, l)
					return !slices.ContainsFunc(found, ledger.Finding.Broken), err
				})
				if err != nil {
					return fmt.Errorf("%w (--without-temporal leaves it out)", err)
				}
				report.Findings = append(report.Findings, found...)
			}
			if err := cli.Print(c, report, func(w io.Writer) error { return writeReport(w, report) }); err != nil {
				return err
			}
			return brokenError(report, left)
		}),
	}
	cli.AddJSONFlag(command)
	cli.AddDurationFlag(command, &settle, 0, "settle", "how long to wait until all events have ended")
	command.Flags().BoolVar(&withoutTemporal, "without-temporal", false, "don't check the workflows in Temporal")
	return command
}

// waitSettled waits until all acknowledged events have ended or the deadline, and returns how many haven't.
func waitSettled(ctx context.Context, c *persistence.LedgerCheck, deadline time.Time, show func(int)) (left int, err error) {
	err = pollUntil(ctx, deadline, func() (done bool, err error) {
		if left, err = c.Unfinished(ctx); left > 0 {
			show(left)
		}
		return left == 0, err
	})
	return left, err
}

// pollUntil calls look at least once, and repeats it until it is done or the deadline.
func pollUntil(ctx context.Context, deadline time.Time, look func() (done bool, err error)) error {
	ticker := time.NewTicker(settleInterval)
	defer ticker.Stop()
	for {
		done, err := look()
		if err != nil || done || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// removeUnlessBroken keeps the ledger for inspection after an error.
func removeUnlessBroken(path string, err error) error {
	if err != nil {
		return fmt.Errorf("%w (the ledger is %s)", err, path)
	}
	return os.Remove(path)
}
