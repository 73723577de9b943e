package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/operator/api"
	"holdfast/operator/console/frame"
)

// A resend may span years, which are many nanoseconds.
func TestALongResendKeepsItsProgress(t *testing.T) {
	t.Parallel()
	since := time.Date(2006, 1, 1, 0, 0, 0, 0, time.UTC)
	until := since.AddDate(20, 0, 0)
	for percent, reached := range map[int]time.Time{
		0: {}, 25: since.Add(until.Sub(since) / 4), 99: until.Add(-time.Hour), 100: until,
	} {
		o := ofResend(operation.Resend{Base: operation.Base{State: operation.Running}, Since: since, Until: until, Reached: reached})
		require.Equal(t, percent, o.Percent)
	}
	require.Equal(t, 29, percent(0.29))
}

// The next rebuild replaces a rebuild's diff, and the page says so.
func TestADifferenceThatDisappeared(t *testing.T) {
	t.Parallel()
	v := frame.View{Page: frame.Page{Data: diffPage{ID: "20261123-070000-abcd", Gone: true}}}
	drawn, err := New(Options{API: &api.API{}}).Fragment("diff", "layout.html", v)
	require.NoError(t, err)
	require.Contains(t, string(drawn), "Only the latest rebuild keeps its differences")
	require.NotContains(t, string(drawn), "No entity would change")
}

// The list of imports names each file, and a resend names only what it includes.
func TestAnOperationNamesItsScope(t *testing.T) {
	t.Parallel()
	i := ofImport(operation.Import{Name: "voice.ndjson", Counts: operation.ImportCounts{operation.ImportEvent: {New: 7, There: 40}}})
	require.Equal(t, []frame.Fact{{"file", "voice.ndjson"}}, i.Filter)
	require.Contains(t, i.Counts, frame.Fact{"event", "7 new, 40 existing, 0 unreadable, 0 failed"})
	require.Len(t, ofResend(operation.Resend{Subscription: "crm"}).Filter, 3)
	require.Contains(t, ofResend(operation.Resend{Imported: true}).Filter, frame.Fact{"including", "imported events"})
}

// A finished rebuild leads to the entities that it counts.
func TestARebuildLeadsToItsEntities(t *testing.T) {
	t.Parallel()
	of := operation.Rebuild{Base: operation.Base{ID: "r1", State: operation.Completed}}
	of.Filter.Provider, of.Filter.Kind = "shop", "order"
	const entities = "/console/entities?kind=order&provider=shop"
	require.Contains(t, ofRebuild(of).Links, routeLink{"Entities of this filter", entities, entitiesPath})
}

// A finished rebuild, also a dry run, leads to the confirmation of a rebuild with the same values. While it runs, no other can.
func TestARebuildIsRepeatedWithItsValues(t *testing.T) {
	t.Parallel()
	of := operation.Rebuild{Base: operation.Base{ID: "r1", State: operation.Completed, Rate: 0.5}, Fetch: true}
	of.Filter.Provider = "shop"
	const again = "/console/operations/rebuild?dry_run=false&fetch=true&kind=&provider=shop&rate=0.5"
	require.Contains(t, ofRebuild(of).Links, routeLink{"Rebuild the same …", again, rebuildPath})
	of.State = operation.Running
	require.Len(t, ofRebuild(of).Links, 1)
}
