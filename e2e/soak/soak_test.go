package soak

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
)

// Lengths of a round.
const (
	longLoad  = 30 * time.Second
	shortLoad = 6 * time.Second
	// Faults of each list are at most this far apart.
	longPeace  = 8 * time.Second
	shortPeace = 4 * time.Second
)

// TestSoak plays a short round, or rounds for hours. It ends with the first round that isn't right.
func TestSoak(t *testing.T) {
	stacktest.SkipIfShort(t)
	w := newWorld(t, build(t))
	load, peace := shortLoad, shortPeace
	if *hours > 0 {
		load, peace = longLoad, longPeace
	}
	until := time.Now().Add(time.Duration(*hours * float64(time.Hour)))
	var results []result
	defer func() { writeReport(t, results) }()
	for n := 1; ; n++ {
		r := w.play(fmt.Sprintf("round%d", n), load, peace, *seed+uint64(n))
		results = append(results, r)
		t.Log(r)
		require.NotZero(t, r.keys)
		if len(r.violations) > 0 {
			t.Fatalf("%d keys have a history that can't be right (SEED=%d):\n%s", len(r.violations), *seed, r.violations[0])
		}
		if !time.Now().Before(until) {
			return
		}
	}
}

func (r result) String() string {
	return fmt.Sprintf("%s: %d keys, %d operations, %d violations, faults %v, %s", r.name, r.keys, r.operations,
		len(r.violations), r.faults, r.took)
}

func writeReport(t *testing.T, results []result) {
	t.Helper()
	if *report == "" {
		return
	}
	text := fmt.Sprintf("Seed %d\n\n| Round | Keys | Operations | Faults | Took | Violations |\n|---|--:|--:|--:|--:|--:|\n", *seed)
	for _, r := range results {
		faults := 0
		for _, n := range r.faults {
			faults += n
		}
		text += fmt.Sprintf("| %s | %d | %d | %d | %s | %d |\n", r.name, r.keys, r.operations, faults, r.took, len(r.violations))
	}
	require.NoError(t, os.WriteFile(*report, []byte(text), 0o644))
}
