package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/internal/word"
)

// examineOmitted reports events of the last day that left out entities because of a limit. A rebuild with a corrected definition
// changes them.
func (d *doctor) examineOmitted(ctx context.Context) {
	counts, err := d.store.Read.Omitting(ctx, time.Now().Add(-24*time.Hour))
	if err != nil {
		d.failed("entities left out", err, "run `holdfast migrate`")
		return
	}
	var total int64
	var of []string
	for _, c := range counts {
		total += c.Count
		of = append(of, fmt.Sprintf("%s %d", c.Provider, c.Count))
	}
	detail := word.Count(total, "event", "events") + " left out entities beyond a limit in the last day"
	if total > 0 {
		detail += ": " + strings.Join(of, ", ")
	}
	d.add("entities left out", either(total == 0, resultWarn), detail,
		"`holdfast event list --omitted` lists them; "+event.OmittedAdvice)
}
