package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/word"
)

// examineMapped reports events that changed no entity although their definition has rules for them.
func (d *doctor) examineMapped(ctx context.Context) {
	counts, err := d.store.Minutes.Mapped(ctx)
	if err != nil {
		d.failed("entities", err, "run `holdfast migrate`")
		return
	}
	d.judgeMapped(counts)
}

// judgeMapped warns of providers none of whose events changed an entity: then a path in the rules is probably wrong. Some events
// of a provider may be about no entity.
func (d *doctor) judgeMapped(counts []oversight.MappedEvents) {
	var total, unmapped int64
	var of, all []string
	for _, c := range counts {
		total += c.Mapped + c.Unmapped
		unmapped += c.Unmapped
		if c.Unmapped > 0 {
			of = append(of, fmt.Sprintf("%s %d of %d", c.Provider, c.Unmapped, c.Mapped+c.Unmapped))
		}
		if c.Mapped == 0 && c.Unmapped > 0 {
			all = append(all, c.Provider)
		}
	}
	detail := fmt.Sprintf("rules found none in %d of %s in the last day", unmapped, word.Count(total, "event", "events"))
	if len(of) > 0 {
		detail += ": " + strings.Join(of, ", ")
	}
	d.add("entities", either(len(all) == 0, resultWarn), detail,
		"no event of "+strings.Join(all, ", ")+" changed an entity: `holdfast provider explain` shows for a body what each rule "+
			"gives; correct the definition, then rebuild (`holdfast entity rebuild`)")
}

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
		types := word.Count(int64(len(found)), "event type", "event types")
		detail = types + " changed at fields that the definition needs"
		for _, o := range found[:min(len(found), maxNamed)] {
			c := o.Shape.Changes[len(o.Shape.Changes)-1]
			detail += fmt.Sprintf("; %s %s: %s (for %s), %s since %s", o.Provider, o.Type, c.Path, strings.Join(c.ReadBy, ", "),
				c.Text(), c.Since.UTC().Format(time.RFC3339))
		}
	}
	d.add(observedFields, either(len(found) == 0, resultWarn), detail,
		"see `holdfast types "+provider+"`, and correct the definition if its rules should read something else")
}
