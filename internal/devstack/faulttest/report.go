package faulttest

import (
	"slices"
	"testing"
	"time"

	"holdfast/internal/ledger"
)

// Print writes a line of a page.
type Print func(format string, args ...any)

// Steps are the subtests that ran, in their order.
type Steps []step

type step struct {
	name   string
	passed bool
	took   time.Duration
}

// Run runs a subtest, unless -run leaves it out. The next one runs even if it fails, since what it tested may have recovered.
func (s *Steps) Run(t *testing.T, name string, run func(*testing.T)) {
	t.Helper()
	began := time.Now()
	ran := false
	passed := t.Run(name, func(t *testing.T) { ran = true; run(t) })
	if ran {
		*s = append(*s, step{name, passed, time.Since(began)})
	}
}

// Ran reports whether a step ran.
func (s *Steps) Ran(name string) bool {
	return slices.ContainsFunc(*s, func(done step) bool { return done.name == name })
}

// Write writes a table of the steps.
func (s *Steps) Write(p Print) {
	p("| Step | Result | Took |\n|---|---|--:|")
	for _, s := range *s {
		p("| %s | %s | %.0f s |", s.name, map[bool]string{true: "passed", false: "FAILED"}[s.passed], s.took.Seconds())
	}
	p("")
}

// WriteOutcomes writes a table of loads.
func WriteOutcomes(p Print, outcomes []Outcome) {
	p("| Load | Requests | 2xx | 5xx | No answer | Acknowledged events | Processed | Lost | Duplicated | Up in |")
	p("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, o := range outcomes {
		p("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %s |", o.Name, o.sent.Requests, o.sent.OK, o.failed(), o.sent.NoAnswer,
			o.report.Acknowledged, o.report.Processed, o.report.Finding(ledger.Lost).Count,
			o.report.Finding(ledger.Duplicated).Count, o.Note)
	}
	p("")
}
