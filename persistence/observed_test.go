package persistence_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
	"holdfast/event/shape"
	"holdfast/persistence/observed"
)

// observe adds the events of a type that weren't observed yet.
func (d *database) observe(o shape.Observed, reads ...shape.Read) shape.Observed {
	d.t.Helper()
	events, err := d.Observed.Sample(d.t.Context(), o.Provider, o.Type, o.LastEvent, 50)
	require.NoError(d.t, err)
	if o.Shape == nil {
		o.Shape = shape.New("salt")
	}
	for _, e := range events {
		var body any
		require.NoError(d.t, json.Unmarshal(e.Body, &body))
		o.Shape.Add(e.Receipt.ID, e.Receipt.ReceivedAt, body)
		o.LastEvent = e.Receipt.ID
	}
	o.At = time.Now()
	o.Shape.Relate(reads, o.At)
	require.NoError(d.t, d.Observed.Save(d.t.Context(), o))
	return o
}

// arrives stores an event of a type.
func (d *database) arrives(eventType, body string) event.Receipt {
	d.t.Helper()
	r, p := receipt(), parsed()
	r.Type, p.Type, r.ReceivedAt = eventType, eventType, time.Now()
	_, err := d.Writer.Write(d.t.Context(), event.RowOnly, r, []byte(body), p, runOf(r))
	require.NoError(d.t, err)
	return r
}

// A type is due while it has events that weren't observed, and those that waited for longest come first. What was observed is
// kept, an older observation doesn't replace a newer one, and an open change is found until the definition or time closes it.
func TestTypesAreObservedOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	for range 20 {
		db.arrives("order.paid", `{"id":1}`)
	}
	db.arrives("order.open", `{"id":1}`)
	due, err := db.Observed.DueTypes(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, due, 2)
	require.Equal(t, "order.open", due[0].Type)
	paid := db.observe(due[1])
	require.EqualValues(t, 20, paid.Shape.Events)

	due, err = db.Observed.DueTypes(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.Equal(t, "order.open", due[0].Type)
	db.observe(due[0])

	last := db.arrives("order.paid", `{"other":1}`)
	due, err = db.Observed.DueTypes(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.EqualValues(t, 20, due[0].Shape.Events)
	now := db.observe(due[0], shape.Read{Path: "id", Rule: "entities[0].id"})
	require.Equal(t, last.ID, now.LastEvent)
	require.NoError(t, db.Observed.Save(t.Context(), paid), "it is older")

	open, err := db.Observed.Breaking(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, open, 1)
	require.Len(t, open[0].Shape.Changes, 1)
	require.Equal(t, shape.SometimesMissing, open[0].Shape.Changes[0].Kind)
	require.Equal(t, last.ID, open[0].Shape.Changes[0].EventID)

	all, err := db.Observed.Types(t.Context(), last.Provider, "", 10)
	require.NoError(t, err)
	require.Len(t, all, 2)
	one, err := db.Observed.Types(t.Context(), last.Provider, "order.paid", 10)
	require.NoError(t, err)
	require.Equal(t, all[1:], one)
	require.EqualValues(t, 21, all[1].Shape.Events)
	none, err := db.Observed.Types(t.Context(), last.Provider+"-other", "", 10)
	require.NoError(t, err)
	require.Empty(t, none)

	db.arrives("order.paid", `{"id":1}`)
	due, err = db.Observed.DueTypes(t.Context(), 10)
	require.NoError(t, err)
	db.observe(due[0]) // the definition doesn't read it anymore
	open, err = db.Observed.Breaking(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, open)
}

// A sample has the newest events, oldest first, and is bounded in events and bytes. Large bodies are only counted.
func TestASampleIsBounded(t *testing.T) {
	t.Parallel()
	db := open(t)
	large := db.arrives("large", `"`+strings.Repeat("x", observed.MaxBody)+`"`)
	sample, err := db.Observed.Sample(t.Context(), large.Provider, "large", "", 10)
	require.NoError(t, err)
	require.Len(t, sample, 1)
	require.Nil(t, sample[0].Body)

	var last event.Receipt
	for range 20 {
		last = db.arrives("full", `"`+strings.Repeat("x", observed.MaxBody-2)+`"`)
	}
	sample, err = db.Observed.Sample(t.Context(), last.Provider, "full", "", 100)
	require.NoError(t, err)
	require.Len(t, sample, observed.MaxSample/observed.MaxBody)
	require.Equal(t, last.ID, sample[len(sample)-1].Receipt.ID)
	sample, err = db.Observed.Sample(t.Context(), last.Provider, "full", sample[len(sample)-3].Receipt.ID, 1)
	require.NoError(t, err)
	require.Len(t, sample, 1)
	require.Equal(t, last.ID, sample[0].Receipt.ID)
}

// A provider keeps a bounded number of types, and a type without events is purged.
func TestObservedTypesAreBoundedAndPurged(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := db.arrives("one.more", `{}`)
	due, err := db.Observed.DueTypes(t.Context(), 10)
	require.NoError(t, err)
	db.exec(`INSERT INTO observed_fields (provider, type, last_event, observed_at, shape)
		SELECT $1, 'old.' || n, $2, now() - interval '91 days', '{}' FROM generate_series(1, 500) AS n`, r.Provider, r.ID)
	db.observe(due[0])
	require.Equal(t, 500, value[int](db, "SELECT count(*) FROM observed_fields"))
	for removed := int64(1); removed > 0; {
		removed, err = db.Upkeep.PurgeBatch(t.Context(), retention.Keys, time.Now())
		require.NoError(t, err)
	}
	require.Zero(t, value[int](db, "SELECT count(*) FROM observed_fields"))
	db.observe(due[0])
	require.Equal(t, 1, value[int](db, "SELECT count(*) FROM observed_fields"))

	_, err = db.Upkeep.Expunge(t.Context(), r.ID, 0, ada)
	require.NoError(t, err)
	require.Zero(t, value[int](db, "SELECT count(*) FROM observed_fields"), "a field's name may have been a part of the event")
}

// Types of a provider that has too many are neither observed in vain each minute, nor do they keep those of other providers away.
func TestAProviderWithManyTypesDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := db.arrives("many.0", `{}`)
	db.exec(`INSERT INTO observed_fields (provider, type, last_event, observed_at, shape)
		SELECT $1, 'old.' || n, $2, now(), '{}' FROM generate_series(1, 500) AS n`, r.Provider, r.ID)
	due, err := db.Observed.DueTypes(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, due, "it couldn't be saved")

	db.exec("DELETE FROM observed_fields")
	for n := range 510 {
		db.arrives(fmt.Sprintf("many.%d", n), `{}`)
	}
	db.exec("UPDATE events SET provider = 'zzz' WHERE type = 'many.509'")
	due, err = db.Observed.DueTypes(t.Context(), 1000)
	require.NoError(t, err)
	require.Len(t, due, 501)
	require.Equal(t, "zzz", due[500].Provider)
}
