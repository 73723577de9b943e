package persistence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/persistence/persistencetest"
)

// withBody gives a stored row a body of n MiB.
func (d *database) withBody(table, column, id string, n int) {
	d.t.Helper()
	d.exec(`UPDATE `+table+` SET raw_body = convert_to(repeat('x', $2), 'UTF8') WHERE `+column+` = $1::uuid`, id, n<<20)
}

// A rebuild's pages are limited by their bytes:
//   - as many events as fit into 16 MiB, however many rows the page may have
//   - a larger event is a page of its own
func TestRebuildPagesAreLimitedByBytes(t *testing.T) {
	t.Parallel()
	d, def := open(t), definition{}
	for _, n := range []int{7, 8, 6, 20, 1} {
		r := receipt()
		d.process(r, parsed())
		d.withBody("events", "id", r.ID, n)
		def.reads(r)
	}
	d.createRebuild("rebuild", operation.RebuildFilter{}, false)
	for _, read := range []int64{2, 3, 4, 5} {
		unfetched, err := d.Rebuilds.Unfetched(t.Context(), "rebuild", 500)
		require.NoError(t, err)
		r, err := d.Rebuilds.Page(t.Context(), "rebuild", 500, def.parse)
		require.NoError(t, err)
		require.Equal(t, read, r.Read)
		require.Equal(t, operation.Running, r.State)
		require.LessOrEqual(t, len(unfetched), 2)
	}
	require.Equal(t, operation.Completed, d.goOn("rebuild", 500, def.parse).State)
}

// Reconciliation reads unfinished events by their bytes, and reaches each.
func TestUnfinishedEventsAreReadByBytes(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, n := range []int{7, 8, 6, 20, 1} {
		d.withBody("events", "id", d.shared().Stored(body).ID, n)
	}
	page := persistencetest.AllRows(200)
	for _, rows := range []int{2, 1, 1, 1, 0} {
		found, err := d.DeadLetters.Unfinished(t.Context(), page)
		require.NoError(t, err)
		require.Equal(t, rows, len(found)) //nolint:testifylint // Len prints the bodies
		if rows > 0 {
			page.After = found[rows-1].Receipt.ID
		}
	}
}
