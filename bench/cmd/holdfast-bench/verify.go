package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"holdfast/bench/visibility"
	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/check"
	"holdfast/internal/stores"
)

// settleInterval is the pause between two checks for unfinished events.
const settleInterval = 250 * time.Millisecond

type verifyOptions struct {
	settle          time.Duration
	withoutTemporal bool
}

// verifyCommand returns `holdfast-bench verify-ledger`.
func verifyCommand() *cobra.Command {
	var o verifyOptions
	command := &cobra.Command{
		Use:     "verify-ledger FILE",
		Short:   "Check that no event of a ledger is lost (exit 1 if one is)",
		Long:    "Check that no event of a ledger is lost, duplicated or changed. Exit 1 if one is.",
		Example: "  holdfast-bench verify-ledger load.ledger --settle 1m",
		RunE: func(c *cobra.Command, args []string) error {
			l, err := ledger.ReadFile(args[0])
			if err != nil {
				return err
			}
			cfg, _, err := config.LoadBesideDev()
			if err != nil {
				return err
			}
			report, unfinished, err := o.verify(c.Context(), cfg, l)
			if err != nil {
				return err
			}
			if err := cli.Print(c, report, func(w io.Writer) error { return writeReport(w, report) }); err != nil {
				return err
			}
			return brokenError(report, unfinished)
		},
	}
	cli.AddJSONFlag(command)
	cli.AddDurationFlag(command, &o.settle, 0, "settle", "how long to wait until all events have ended")
	command.Flags().BoolVar(&o.withoutTemporal, "without-temporal", false, "don't check the workflows in Temporal")
	return command
}

// verify returns the report, and how many acknowledged events hadn't ended by then.
func (o verifyOptions) verify(
	ctx context.Context, cfg config.Config, l ledger.Ledger,
) (r ledger.Report, unfinished int, err error) {
	if err := cfg.RequireDatabase(); err != nil {
		return r, 0, err
	}
	stored, err := check.Open(ctx, stores.StoreConfig(cfg), l)
	if err != nil {
		return r, 0, err
	}
	defer stored.Close()
	deadline := time.Now().Add(o.settle)
	if unfinished, err = waitSettled(ctx, stored, deadline, func(int) {}); err != nil {
		return r, unfinished, err
	}
	if r, err = stored.Report(ctx); err != nil || o.withoutTemporal {
		return r, unfinished, err
	}
	found, err := inTemporal(ctx, cfg, deadline, stored, l)
	if err != nil {
		return r, unfinished, fmt.Errorf("%w (--without-temporal leaves it out)", err)
	}
	r.Findings = append(r.Findings, found...)
	return r, unfinished, nil
}

// inTemporal checks the ledger's workflows, again until the deadline while something is broken: Temporal's list of runs lags.
func inTemporal(
	ctx context.Context, cfg config.Config, deadline time.Time, stored *check.Check, l ledger.Ledger,
) (found []ledger.Finding, err error) {
	temporal, err := stores.NewTemporalClient(cfg, nil, nil)
	if err != nil {
		return nil, err
	}
	defer temporal.Close()
	return found, pollUntil(ctx, deadline, func() (done bool, err error) {
		found, err = visibility.Check(ctx, temporal, stored, l)
		return !slices.ContainsFunc(found, ledger.Finding.Broken), err
	})
}

// waitSettled waits until all acknowledged events have ended or the deadline, and returns how many haven't.
func waitSettled(ctx context.Context, c *check.Check, deadline time.Time, show func(int)) (left int, err error) {
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
