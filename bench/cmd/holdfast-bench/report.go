package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/cli"
	"holdfast/internal/ledger"
)

// brokenError lists the broken invariants; nil if there are none.
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
		return fmt.Errorf("%s; %d events have not ended yet: wait (--settle) and check again", strings.Join(broken, ", "),
			unfinished)
	default:
		return errors.New(strings.Join(broken, ", "))
	}
}

var explained = map[ledger.Invariant]string{
	ledger.Lost:        "acknowledged but not found",
	ledger.Duplicated:  "stored or dead-lettered more than once",
	ledger.Unexpected:  "stored, but refused or never sent",
	ledger.Bytes:       "stored with different bytes",
	ledger.Fold:        "entity isn't the fold of its events",
	ledger.Checkpoints: "checkpoint isn't the fold of its entity's events",
	ledger.Names:       "entity not found by one of its names",
	ledger.TwoEnds:     "both processed and a dead letter",
	ledger.Stuck:       "neither processed nor a dead letter",
	ledger.Undone:      "discarded by an operator, but with effects",
	ledger.Untold:      "missing or duplicated in the change feed",
	ledger.Leaks:       "connection idle in a transaction",
	ledger.Running:     "workflow still running",
	ledger.NoWorkflow:  "acknowledged, but without a workflow",
	ledger.Undead:      "run failed without a dead letter",
	ledger.Recovered:   "accepted, although never acknowledged",
}

func writeReport(w io.Writer, r ledger.Report) error {
	t := cli.NewTable(w, "INVARIANT", "COUNT", "", "MEANING", "EXAMPLES")
	for _, f := range r.Findings {
		mark := "ok"
		switch {
		case f.Broken():
			mark = "BROKEN"
		case f.Count > 0:
			mark = "allowed"
		}
		t.Row(string(f.Invariant), strconv.Itoa(f.Count), mark, explained[f.Invariant], strings.Join(f.Examples, " "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return cli.WriteFields(w,
		"sent", fmt.Sprintf("%d events: %d acknowledged, %d refused, %d unknown", r.Sent, r.Acknowledged, r.Refused, r.Unknown),
		"stored", fmt.Sprintf("%d processed, %d dead, %d not ended", r.Processed, r.Dead, r.Waiting))
}

// writeTiming prints the loss check's timings.
func writeTiming(w io.Writer, t ledger.Timing) error {
	if t.PerSecond == 0 {
		return nil
	}
	return cli.WriteFields(w, "processed", fmt.Sprintf("%.1f/s from the first request to the last commit", t.PerSecond),
		"ack → processed", quantilesText(t.FromAck), "receipt → processed", quantilesText(t.FromReceipt))
}

func quantilesText(q ledger.Quantiles) string {
	return fmt.Sprintf("p50 %s  p90 %s  p99 %s  max %s", short(q.P50), short(q.P90), short(q.P99), short(q.Max))
}

// short formats a duration with three or four digits.
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
