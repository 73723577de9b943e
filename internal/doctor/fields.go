package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/internal/word"
)

// observedFields is the name of a check.
const observedFields = "fields of events"

// maxBreaking bounds the types that a finding counts.
const maxBreaking = 200

// examineFields reports fields that have gone or changed their type in the last 7 days, and that rules of a definition need.
func (d *doctor) examineFields(ctx context.Context) {
	found, err := d.store.Observed.Breaking(ctx, maxBreaking)
	if err != nil {
		d.failed(observedFields, err, "run `holdfast migrate`")
		return
	}
	detail, provider := "none that a definition needs has changed in the last 7 days", "PROVIDER"
	if len(found) > 0 {
		provider = found[0].Provider
		detail = fmt.Sprintf("%s changed at fields that the definition needs", word.Count(int64(len(found)), "event type", "event types"))
		for _, o := range found[:min(len(found), maxNamed)] {
			c := o.Shape.Changes[len(o.Shape.Changes)-1]
			detail += fmt.Sprintf("; %s %s: %s (for %s), %s since %s", o.Provider, o.Type, c.Path, strings.Join(c.ReadBy, ", "),
				c.Text(), c.Since.UTC().Format(time.RFC3339))
		}
	}
	d.add(observedFields, either(len(found) == 0, resultWarn), detail,
		"see `holdfast types "+provider+"`, and correct the definition if its rules should read something else")
}
