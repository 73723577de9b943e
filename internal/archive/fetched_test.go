package archive_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/retention"
	"holdfast/internal/archive"
	"holdfast/persistence"
)

// thin is an event that names a payment, and fetched is the state of the payment that was fetched for it.
func thin(t *testing.T, store *persistence.Store, n int, fetched event.Fetched) (r event.Receipt, body []byte) {
	t.Helper()
	r = receiptAt(n)
	r.Provider, r.Key, r.Type, r.Source, r.Root = "gocardless", fmt.Sprintf("EV%d", n), "payments.confirmed", "", json.RawMessage(`{}`)
	body = fmt.Appendf(nil, `{"id":"EV%d","created_at":%q,"resource_type":"payments","action":"confirmed","links":{"payment":"PM1"}}`,
		n, r.ReceivedAt.Format(time.RFC3339))
	fetched.At = r.ReceivedAt.Add(time.Second)
	_, err := store.Fetches.SaveFetched(t.Context(), r.ID, fetched)
	require.NoError(t, err)
	r.Fetched = &fetched
	process(t, store, r, body)
	return r, body
}

// The state that was fetched for an event is archived with it, byte for byte:
//   - an expunge folds the entity again with the fetched states of the archive
//   - a restored event has its state: its entity is the same as before, and no replay calls the API
//   - a state that was gone is gone again
func TestFetchedStatesAreArchived(t *testing.T) {
	for name, bucket := range buckets(t) {
		t.Run(name, func(t *testing.T) {
			old := open(t)
			a := &archive.Archiver{Store: old.Upkeep, Bucket: bucket}
			payment := event.EntityRef{Provider: "gocardless", Kind: "payment", ExternalID: "PM1"}
			first, _ := thin(t, old, 0, event.Fetched{State: json.RawMessage(`{"amount":  100, "description": "<A>"}`)})
			second, _ := thin(t, old, 1, event.Fetched{State: json.RawMessage(`{"amount": 200}`)})
			gone, _ := thin(t, old, 2, event.Fetched{Gone: true})
			require.EqualValues(t, 3, purge(t, a, retention.Events))
			left, err := old.Fetches.Fetched(t.Context(), first.ID)
			require.NoError(t, err)
			require.Nil(t, left)

			fresh := open(t)
			counts := bring(t, fresh, bucket)
			require.Equal(t, operation.ImportCounts{operation.ImportEvent: {New: 3}}, counts)
			for _, want := range []event.Receipt{first, second, gone} {
				back, err := fresh.Fetches.Fetched(t.Context(), want.ID)
				require.NoError(t, err)
				require.NotNil(t, back)
				require.Equal(t, string(want.Fetched.State), string(back.State))
				require.Equal(t, want.Fetched.Gone, back.Gone)
				require.Equal(t, want.Fetched.At, back.At)
			}
			for _, store := range []*persistence.Store{old, fresh} {
				e, err := store.Read.Entity(t.Context(), payment)
				require.NoError(t, err)
				require.JSONEq(t, `{"amount": 200, "description": "<A>", "status": "confirmed", "links": {"payment": "PM1"}}`, string(e.State))
			}

			history := historyOf(t, a, old, []event.EntityRef{payment})
			_, err = old.Upkeep.ExpungeWith(t.Context(), history, second.ID, 0, by)
			require.NoError(t, err)
			e, err := old.Read.Entity(t.Context(), payment)
			require.NoError(t, err)
			require.False(t, e.Incomplete)
			require.JSONEq(t, `{"amount": 100, "description": "<A>", "status": "confirmed", "links": {"payment": "PM1"}}`, string(e.State))
		})
	}
}
