package chaos

import (
	"fmt"
	"strings"
	"time"
)

// table formats the results as Markdown.
func table(results []result) string {
	var b strings.Builder
	b.WriteString("| Fault | Scenario | Acknowledged | of these during the fault | 5xx | No answer | Lost | Duplicated | Recovered " +
		"| Heals in | Result |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n")
	sum, counted := result{}, 0
	for _, r := range results {
		if !r.checked { // it never became idle, so its numbers would mean nothing
			fmt.Fprintf(&b, "| %s | %s | – | %d | %d | %d | – | – | – | – | %s, not checked |\n", r.scenario.id,
				strings.ReplaceAll(r.scenario.name, "_", " "), r.acknowledged, r.unavailable, r.silent, r.verdict)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %s | %s |\n", r.scenario.id,
			strings.ReplaceAll(r.scenario.name, "_", " "), r.total, r.acknowledged, r.unavailable, r.silent, r.lost,
			r.duplicated, r.recovered, r.heal.Round(100*time.Millisecond), strings.TrimSpace(r.verdict+" "+r.note))
		if r.scenario.loses != nil {
			continue
		}
		counted++
		sum.total += r.total
		sum.acknowledged += r.acknowledged
		sum.unavailable += r.unavailable
		sum.silent += r.silent
		sum.lost += r.lost
		sum.duplicated += r.duplicated
		sum.recovered += r.recovered
	}
	fmt.Fprintf(&b, "| | %d scenarios | %d | %d | %d | %d | %d | %d | %d | | |\n", counted, sum.total, sum.acknowledged,
		sum.unavailable, sum.silent, sum.lost, sum.duplicated, sum.recovered)
	return b.String()
}
