package archive_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
	"holdfast/internal/archive"
	"holdfast/operator/importer"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
)

// namedBody is a snapshot of one customer with a name of its own.
func namedBody(n int) []byte {
	return bytes.Replace(bodyOf(3*n), []byte("A\\u0000da"), fmt.Appendf(nil, "name%d", n), 1)
}

// historyOf reads from the archive what events did to entities.
func historyOf(t *testing.T, a *archive.Archiver, store *persistence.Store, refs []event.EntityRef) retention.Archived {
	t.Helper()
	var all []event.Entity
	for _, ref := range refs {
		e, err := store.Read.Entity(t.Context(), ref)
		require.NoError(t, err)
		all = append(all, e)
	}
	in, err := a.Read(t.Context())
	require.NoError(t, err)
	defer in.Close()
	reader := importer.Reader{Lookup: catalogue(t).Lookup, Format: importer.FormatJSON}
	history, err := reader.History(in, all)
	require.NoError(t, err)
	return history
}

// An event is expunged that was purged into the archive: its entity is folded again from what the archive has, and the event is in
// neither any more. Events that were purged without the archive are missed: then the entity is incomplete.
func TestAnExpungeFoldsEntitiesFromTheArchive(t *testing.T) {
	for _, isWhole := range []bool{true, false} {
		for name, bucket := range buckets(t) {
			t.Run(fmt.Sprint(name, " whole ", isWhole), func(t *testing.T) {
				store := open(t)
				a := &archive.Archiver{Store: store.Upkeep, Bucket: bucket}
				var ids []string
				for n := range 4 {
					r := receiptAt(n)
					process(t, store, r, namedBody(n))
					ids = append(ids, r.ID)
					if n == 0 && !isWhole {
						removed, err := store.Upkeep.PurgeBatch(t.Context(), retention.Events, persistencetest.Soon())
						require.NoError(t, err)
						require.EqualValues(t, 1, removed)
					}
				}
				purge(t, a, retention.Events)

				plan, err := store.Upkeep.PlanExpunge(t.Context(), nil, ids[3])
				require.NoError(t, err)
				require.Len(t, plan.Incomplete, 1)
				history := historyOf(t, a, store, plan.Incomplete)
				gone, err := store.Upkeep.ExpungeWith(t.Context(), history, ids[3], 0, by)
				require.NoError(t, err)
				require.NoError(t, a.Clean(t.Context()))
				require.NotContains(t, content(t, bucket), "name3")
				e, err := store.Read.Entity(t.Context(), plan.Incomplete[0])
				require.NoError(t, err)
				require.Equal(t, !isWhole, e.Incomplete)
				if !isWhole {
					require.Equal(t, plan.Incomplete, gone.Incomplete)
					require.JSONEq(t, `{}`, string(e.State))
					return
				}
				require.Equal(t, plan.Incomplete, gone.Recomputed)
				require.Contains(t, string(e.State), "name2")
				require.Equal(t, ids[2], e.Last.EventID)

				// A later one, which the base covers now.
				history = historyOf(t, a, store, gone.Recomputed)
				gone, err = store.Upkeep.ExpungeWith(t.Context(), history, ids[2], 0, by)
				require.NoError(t, err)
				require.Equal(t, plan.Incomplete, gone.Recomputed)
				e, err = store.Read.Entity(t.Context(), plan.Incomplete[0])
				require.NoError(t, err)
				require.Contains(t, string(e.State), "name1")
			})
		}
	}
}
