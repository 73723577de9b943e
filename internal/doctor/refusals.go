package doctor

import (
	"context"
	"fmt"
	"strings"

	"holdfast/event/oversight"
	"holdfast/internal/word"
)

// examineTooLarge reports bodies over a limit: a provider that really sends them gives up in the end, and the events are lost.
func (d *doctor) examineTooLarge(ctx context.Context) {
	refused, err := d.store.Errors.Refused(ctx, oversight.ReasonTooLarge)
	if err != nil {
		d.failed("large bodies", err, "run `holdfast migrate`")
		return
	}
	var of []string
	var total int64
	for _, r := range refused {
		of = append(of, fmt.Sprintf("%s %d", r.Provider, r.Count))
		total += r.Count
	}
	detail := word.Count(total, "request", "requests") + " refused for size in the last day"
	if total > 0 {
		detail += ": " + strings.Join(of, ", ")
	}
	d.found("large bodies", either(total == 0, resultWarn), detail,
		"if the provider sent them, raise body_limit in its definition; docs/refusal-causes.md explains the rest")
}
