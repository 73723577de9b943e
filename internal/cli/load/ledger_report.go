package load

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
		return fmt.Errorf("%s; %d events are not at their end yet, so wait (--settle) and look again", strings.Join(broken, ", "),
			unfinished)
	default:
		return errors.New(strings.Join(broken, ", "))
	}
}

var explained = map[ledger.Invariant]string{
	ledger.Lost:        "acknowledged, and nowhere",
	ledger.Duplicated:  "stored, or dead, more than once",
	ledger.Unexpected:  "stored, and refused or never sent",
	ledger.Bytes:       "stored otherwise than it was sent",
	ledger.Fold:        "entity is not the fold of its events",
	ledger.Checkpoints: "checkpoint of an entity is not the fold of its events",
	ledger.Names:       "name of an entity that does not lead to it",
	ledger.TwoEnds:     "processed, and a dead letter",
	ledger.Stuck:       "neither processed nor a dead letter",
	ledger.Undone:      "given up by an operator, and not without effect",
	ledger.Untold:      "not told, or told twice, by the change feed",
	ledger.Leaks:       "connection idle in a transaction",
	ledger.Running:     "workflow still running",
	ledger.NoWorkflow:  "acknowledged, and no workflow",
	ledger.Undead:      "run failed, and no dead letter",
	ledger.Recovered:   "never acknowledged, accepted all the same",
}

func writeReport(w io.Writer, r ledger.Report) error {
	t := cli.NewTable(w, "INVARIANT", "COUNT", "", "MEANING", "FOR EXAMPLE")
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
		"stored", fmt.Sprintf("%d processed, %d dead, %d not at their end", r.Processed, r.Dead, r.Waiting))
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
