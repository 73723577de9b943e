package importer

import (
	"bytes"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/operator/api"
	"holdfast/operator/httpapi"
)

// maxCompared is how many events of a file are remembered, to find stored ones that it doesn't have: 16 bytes each.
const maxCompared = 4_000_000

// comparison compares a file, part by part.
type comparison struct {
	list   *differences
	counts map[operation.ImportRecord]api.ComparedCount
	// extra counts the stored events that the file doesn't have.
	extra int64

	periods map[string]api.ComparedPeriod
	found   [][16]byte
}

// compare reads all pages of a part's differences.
func (o *comparison) compare(u upload, r *reading) error {
	for {
		var page api.ComparedLines
		if err := u.to("/compare", &page); err != nil {
			return err
		}
		o.add(page)
		r.add(page.ImportedLines)
		if page.Next == "" {
			return nil
		}
		u.query.Set("cursor", page.Next)
	}
}

func (o *comparison) add(page api.ComparedLines) {
	for _, d := range page.Differences {
		o.list.add(d)
	}
	for record, n := range page.Counts {
		sum := o.counts[record]
		o.counts[record] = api.ComparedCount{Same: sum.Same + n.Same, Missing: sum.Missing + n.Missing, Differ: sum.Differ + n.Differ}
	}
	if o.periods == nil {
		o.periods = map[string]api.ComparedPeriod{}
	}
	for provider, p := range page.Periods {
		if known, ok := o.periods[provider]; ok {
			p.Since, p.Until = earlier(p.Since, known.Since), later(p.Until, known.Until)
		}
		o.periods[provider] = p
	}
	for _, text := range page.EventIDs {
		if id, err := uuid.Parse(text); err == nil && len(o.found) <= maxCompared {
			o.found = append(o.found, id)
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func order(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) }

// findExtras looks for stored events that aren't in the file, within its period and providers. looked is false if the file has
// more events than can be remembered.
func (o *comparison) findExtras(c *cobra.Command, a *cli.API) (looked bool, err error) {
	if len(o.found) > maxCompared {
		return false, nil
	}
	slices.SortFunc(o.found, order)
	for _, provider := range slices.Sorted(maps.Keys(o.periods)) {
		p := o.periods[provider]
		query := url.Values{
			"provider": {provider}, "since": {p.Since.Format(time.RFC3339Nano)}, "until": {p.Until.Format(time.RFC3339Nano)},
		}
		for {
			var page httpapi.List[api.StoredEvent]
			if err := a.Read(c.Context(), "/compare/events", query, &page); err != nil {
				return false, err
			}
			for _, e := range page.Items {
				o.addStored(provider, e)
			}
			if page.Next == "" {
				break
			}
			query.Set("cursor", page.Next)
		}
	}
	return true, nil
}

// addStored lists an event unless the file has it.
func (o *comparison) addStored(provider string, e api.StoredEvent) {
	id, err := uuid.Parse(e.ID)
	if err == nil {
		if _, isFound := slices.BinarySearchFunc(o.found, [16]byte(id), order); isFound {
			return
		}
	}
	o.extra++
	o.list.add(operation.ImportDifference{
		Record: operation.ImportEvent, Differ: operation.DiffersExtra, Provider: provider, Name: e.Key, EventID: e.ID,
	})
}
