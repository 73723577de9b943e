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
	d.add("large bodies", either(total == 0, resultWarn), detail,
		"if the provider sent them, set `body_limit: 5242880` (5 MiB; 25 MiB at most) in its definition; docs/refusal-causes.md "+
			"explains the rest")
}

// examineAuthentication reports providers that are refused each time, mostly because the secret here isn't that of the sender.
func (d *doctor) examineAuthentication(ctx context.Context) {
	refused, err := d.store.Minutes.Unauthenticated(ctx)
	if err != nil {
		d.failed("authentication", err, "run `holdfast migrate`")
		return
	}
	detail, advice := "no provider is refused each time", ""
	if len(refused) > 0 {
		var of []string
		for _, r := range refused {
			of = append(of, fmt.Sprintf("%s %d", r.Provider, r.Count))
		}
		detail = "requests that failed authentication in the last day, of providers without an event since: " + strings.Join(of, ", ")
		advice = "compare the secret here with the sender's: `holdfast provider refusals " + refused[0].Provider + "` has the cause"
	}
	d.add("authentication", either(len(refused) == 0, resultWarn), detail, advice)
}
