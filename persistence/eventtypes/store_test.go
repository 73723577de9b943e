package eventtypes_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/eventtype"
	"holdfast/persistence/persistencetest"
)

func typeOf(name, schema string) eventtype.EventType {
	return eventtype.EventType{
		Name: name, Check: eventtype.CheckRefuse,
		Versions: map[string]eventtype.TypeVersion{"1": {Schema: json.RawMessage(schema)}},
	}
}

// Types are created, changed and deleted. Each change has an audit entry and a new revision; what is equal is not written. A schema
// is stored as it was declared, whatever its numbers and texts are.
func TestEventTypesAreStored(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	ctx, store := t.Context(), db.EventTypes
	revisions := map[string]bool{}
	revision := func() int {
		text, err := store.Revision(ctx)
		require.NoError(t, err)
		revisions[text] = true
		return len(revisions)
	}
	require.Equal(t, 1, revision())
	const schema = `{"b":1e400,"a":9007199254740993.10,"description":"<&> \u0000"}`
	require.NoError(t, store.ApplyEventType(ctx, typeOf("order.paid", schema), persistencetest.Ada))
	require.NoError(t, store.ApplyEventType(ctx, typeOf("a", `true`), persistencetest.Ada))
	require.Equal(t, 2, revision())
	require.NoError(t, store.ApplyEventType(ctx, typeOf("order.paid", schema), persistencetest.Ada))
	require.Equal(t, 2, revision(), "nothing has changed")

	stored, err := store.EventType(ctx, "order.paid")
	require.NoError(t, err)
	require.Equal(t, typeOf("order.paid", schema), stored)
	all, err := store.EventTypes(ctx)
	require.NoError(t, err)
	require.Equal(t, []eventtype.EventType{typeOf("a", `true`), stored}, all)
	page, err := store.EventTypesAfter(ctx, "a", 1)
	require.NoError(t, err)
	require.Equal(t, []eventtype.EventType{stored}, page)

	require.NoError(t, store.ApplyEventType(ctx, typeOf("order.paid", `false`), persistencetest.Ada))
	require.Equal(t, 3, revision())
	require.NoError(t, store.DeleteEventType(ctx, "order.paid", persistencetest.Ada))
	require.Equal(t, 4, revision())
	require.ErrorIs(t, store.DeleteEventType(ctx, "order.paid", persistencetest.Ada), event.ErrNotFound)
	_, err = store.EventType(ctx, "order.paid")
	require.ErrorIs(t, err, event.ErrNotFound)
	require.Equal(t, 4, revision())
	require.Equal(t, []string{
		"event_type.delete event_type:order.paid", "event_type.apply event_type:order.paid",
		"event_type.apply event_type:a", "event_type.apply event_type:order.paid",
	}, db.Audited())
}

// An installation has a bounded number of types, of a bounded size.
func TestTheNumberOfEventTypesIsBounded(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	large := `{"description":"` + strings.Repeat("a", 60_000) + `"}`
	for i := range eventtype.MaxDeclared / 61_000 {
		require.NoError(t, db.EventTypes.ApplyEventType(t.Context(), typeOf("t"+strconv.Itoa(i), large), persistencetest.Ada))
	}
	var err error
	for i := range 3 {
		err = db.EventTypes.ApplyEventType(t.Context(), typeOf("more"+strconv.Itoa(i), large), persistencetest.Ada)
		if err != nil {
			break
		}
	}
	require.Equal(t, "too_many_event_types", event.CodeOf(err))
	require.NoError(t, db.EventTypes.DeleteEventType(t.Context(), "t0", persistencetest.Ada))
}
