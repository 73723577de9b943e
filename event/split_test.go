package event_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// The parts of an event have IDs of its time, in the order of the parts, and the same ones each time: a repeated split makes no
// other events.
func TestPartsHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	whole := event.Receipt{ID: uuid.Must(uuid.NewV7()).String(), ReceivedAt: time.Now()}
	other := event.Receipt{ID: uuid.Must(uuid.NewV7()).String(), ReceivedAt: time.Now()}
	made, _ := event.TimeOfID(whole.ID)
	var ids []string
	seen := map[string]bool{}
	for n := range 10_000 {
		part := event.Receipt{Key: "same"}.PartOf(whole, n)
		require.Equal(t, part, event.Receipt{Key: "same"}.PartOf(whole, n))
		id, err := uuid.Parse(part.ID)
		require.NoError(t, err)
		require.EqualValues(t, 7, id.Version())
		require.Equal(t, uuid.RFC4122, id.Variant())
		at, ok := event.TimeOfID(part.ID)
		require.True(t, ok)
		require.Equal(t, made, at)
		ids = append(ids, part.ID)
		seen[part.ID] = true
		seen[event.Receipt{Key: "same"}.PartOf(other, n).ID] = true
		seen[event.Receipt{Key: "another"}.PartOf(whole, n).ID] = true
	}
	require.True(t, slices.IsSorted(ids))
	require.Len(t, seen, 30_000)
}

// A part has what the whole event has of its request and of the operators' decisions. What wasn't sent by the sender is compared
// with nothing.
func TestAPartInheritsTheFieldsOfItsEvent(t *testing.T) {
	t.Parallel()
	whole := event.Receipt{
		ID: "01a2229a-8ef3-79dc-a9af-36e043cfe260", Provider: "acme", Key: "whole", ReceivedAt: time.Unix(9, 0), RequestID: "r",
		CorrelationID: "c", Trace: "t", Copied: true, Undelivered: true, Replaces: "edited", Headers: map[string]string{"a": "b"},
	}
	part := event.Receipt{Key: "part", Fingerprint: "sha256:a", Definition: "now"}.PartOf(whole, 3)
	want := event.Receipt{
		ID: part.ID, SplitFrom: whole.ID, Provider: "acme", Key: "part", ReceivedAt: whole.ReceivedAt, RequestID: "r",
		CorrelationID: "c", Trace: "t", Copied: true, Undelivered: true, Fingerprint: "sha256:a", Definition: "now",
	}
	require.Equal(t, want, part)
	for _, change := range []func(*event.Receipt){
		func(r *event.Receipt) { r.Imported = &event.Imported{ID: "i"} }, func(r *event.Receipt) { r.Via = event.ViaRecover },
	} {
		imported := whole
		change(&imported)
		part := event.Receipt{Key: "part", Fingerprint: "sha256:a"}.PartOf(imported, 3)
		require.Empty(t, part.Fingerprint)
		require.Equal(t, imported.Imported, part.Imported)
		require.Equal(t, imported.Via, part.Via)
	}
}
