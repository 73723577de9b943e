package persistence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// The data of one source of a provider is listed and replayed separately:
//   - events, and dead letters, whether or not they have a row
//   - an edited dead letter keeps the source of its original
//   - the existing sources are listed
func TestASourceIsListedAndReplayedAlone(t *testing.T) {
	t.Parallel()
	db := open(t)
	of := func(source string) event.Receipt {
		r := receipt()
		r.Source = source
		return r
	}
	var letters []event.DeadLetter
	for _, source := range []string{"shop-a", "shop-b", "", "shop-a"} {
		db.process(of(source), parsed())
		r := of(source)
		db.record(deadLetter(r))
		letters = append(letters, db.deadLetterOf(r))
	}
	known, err := db.Read.SourcesOf(t.Context(), "acme", 100)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"shop-a", "shop-b"}, known)
	stored, err := db.Read.Events(t.Context(), event.RecordQuery{Provider: "acme", Source: "shop-a"})
	require.NoError(t, err)
	require.Len(t, stored, 2)
	for _, record := range stored {
		require.Equal(t, "shop-a", record.Receipt.Source)
	}
	dead := func(source string) (ids []int64) {
		page, err := db.DeadLetters.DeadLetters(t.Context(), event.DeadLetterQuery{Provider: "acme", Source: source})
		require.NoError(t, err)
		for _, d := range page {
			ids = append(ids, d.ID)
		}
		return ids
	}
	require.Equal(t, []int64{letters[3].ID, letters[0].ID}, dead("shop-a"))
	require.Equal(t, []int64{letters[1].ID}, dead("shop-b"))
	require.Len(t, dead(""), 4)

	filter := operation.ReplayFilter{Provider: "acme", Source: "shop-a"}
	plan, err := db.Replays.Plan(t.Context(), filter)
	require.NoError(t, err)
	require.EqualValues(t, 2, plan.Count)
	require.EqualValues(t, 2, db.shared().CreateReplay("one", filter).Total)
	require.Equal(t, []int64{letters[0].ID, letters[3].ID}, db.shared().ClaimAll("one", 10))

	edited, err := db.DeadLetters.EditDeadLetter(t.Context(),
		operation.Edit{DeadLetter: letters[1].ID, EventID: receipt().ID, Body: []byte(`{}`)}, oversight.Actor{Name: "ada"})
	require.NoError(t, err)
	require.Equal(t, []int64{edited.ID, letters[1].ID}, dead("shop-b"))
}
