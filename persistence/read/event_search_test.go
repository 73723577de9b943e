package read_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

// A text is found in bodies of any kind: unchanged, or escaped as JSON.
func TestEventsAreFoundByAText(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	bodies := []string{
		`{"name":"Zoë"}`, `{"name":"Zo\u00eb"}`, "\xff\x00binary Zo\xeb \xfe", `name=Zo%C3%AB&note=100%25`, `{"emoji":"\ud83d\ude00"}`,
		`{"say":"a \"quoted\" word"}`,
	}
	var all []event.Receipt
	for _, b := range bodies {
		all = append(all, db.Stored([]byte(b)))
	}
	db.Stored([]byte(`{"name":"Zoë"}`), func(r *event.Receipt) { r.Provider = "bolt" })
	for text, want := range map[string][]int{
		"Zoë": {1, 0}, "binary": {2}, "100%25": {3}, "%": {3}, "😀": {4}, `a "quoted" word`: {5}, "zoë": nil, "nowhere": nil,
	} {
		found, err := db.Read.SearchEvents(t.Context(), event.RecordQuery{Provider: "acme", Text: text, Limit: 10})
		require.NoError(t, err)
		var ids, wanted []string
		for _, r := range found.Records {
			ids = append(ids, r.Receipt.ID)
		}
		for _, i := range want {
			wanted = append(wanted, all[i].ID)
		}
		require.Equal(t, wanted, ids, text)
		require.Empty(t, found.SearchedTo, "all were looked at")
	}
	found, err := db.Read.SearchEvents(t.Context(), event.RecordQuery{Text: "Zoë", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "bolt", found.Records[0].Receipt.Provider)
	require.Equal(t, found.Records[0].Receipt.ID, found.SearchedTo)
	found, err = db.Read.SearchEvents(t.Context(), event.RecordQuery{Text: "Zoë", Before: found.SearchedTo, Limit: 5})
	require.NoError(t, err)
	require.Len(t, found.Records, 2)
}
