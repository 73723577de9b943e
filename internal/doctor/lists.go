package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/event/operation"
	"holdfast/internal/word"
)

// missedFor is how long missed events are reported; a time of which nothing can be known is reported for operation.GapsFor.
const missedFor = 24 * time.Hour

// examineLists reports events that never arrived, by the lists of their providers.
func (d *doctor) examineLists(ctx context.Context) {
	lists, err := d.store.Recoveries.Health(ctx)
	if err != nil {
		d.failed("recovery", err, "run `holdfast migrate`")
		return
	}
	isComplete := true
	for _, h := range lists {
		isComplete = d.examineList(h) && isComplete
	}
	switch {
	case len(lists) == 0:
		d.add("recovery", resultOK, "no credential for a provider's list of events was ever configured", "")
	case isComplete:
		d.add("recovery", resultOK, fmt.Sprintf("%s, and no event has been missed", word.Count(len(lists), "list", "lists")), "")
	}
}

// examineList reports whether a list has nothing to report.
func (d *doctor) examineList(h operation.ListHealth) (isComplete bool) {
	name := strings.TrimSpace(h.Provider + " " + h.Target)
	result, texts, advice := resultOK, []string{}, ""
	for _, gap := range h.Gaps {
		switch {
		case gap.HasUnknown():
			result, advice = resultFail, "compare with the provider's own records for that time: no list has it"
		case time.Since(gap.StartedAt) > missedFor:
			continue
		case result == resultOK:
			result, advice = resultWarn, "see why they didn't arrive: `holdfast recover show "+gap.ID+"`, and docs/refusals.md"
		}
		texts = append(texts, gap.GapText())
	}
	if h.Blocked != nil {
		if result == resultOK {
			result = resultWarn
		}
		texts = append(texts, "a recovery is paused: "+h.Blocked.Problem)
		advice = "fix it, then: holdfast recover resume " + h.Blocked.ID
	}
	if len(texts) == 0 {
		return true
	}
	const most = 3
	if more := len(texts) - most; more > 0 {
		texts = append(texts[:most], fmt.Sprintf("and %d more: holdfast recover list", more))
	}
	d.add("recovery of "+name, result, name+": "+strings.Join(texts, ". "), advice)
	return false
}
