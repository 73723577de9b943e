package intake

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"holdfast/event"
	"holdfast/workflows/runs"
)

type counted []event.Duplicate

func (c *counted) Count(d event.Duplicate) { *c = append(*c, d) }

// A duplicate that only its content identifies is counted as undecidable. Duplicates with a delivery ID or a certain key,
// conflicts, new events, and events redelivered while they start aren't.
func TestUndecidableDuplicatesAreCounted(t *testing.T) { //nolint:paralleltest // it sets the meters of the process
	reader, before := metric.NewManualReader(), otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	defer otel.SetMeterProvider(before)
	hour := event.Duration(time.Hour)
	byContent := event.Receipt{ID: "2", Provider: "acme", Content: "c", DedupeWindow: hour}
	processed := runs.Started{EventID: "1", State: runs.StateProcessed}
	all := &counted{}
	for _, c := range []struct {
		receipt event.Receipt
		started runs.Started
	}{
		{byContent, processed}, {byContent, runs.Started{EventID: "1", State: runs.StateProcessing}},
		{event.Receipt{ID: "2", Provider: "acme", Content: "c"}, processed},
		{event.Receipt{ID: "2", Provider: "acme", DedupeWindow: hour}, processed},
		{byContent, runs.Started{EventID: "1", State: runs.StateProcessed, Conflict: &event.Conflict{}}},
		{byContent, runs.Started{EventID: "2", State: runs.StateAccepted}}, {byContent, runs.Started{EventID: "2", State: StateSpooled}},
		{byContent, runs.Started{EventID: "2", State: runs.StateProcessing}},
	} {
		countRedelivery(t.Context(), all, c.receipt, c.started)
	}
	require.Len(t, *all, 4)
	var found metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &found))
	require.Len(t, found.ScopeMetrics, 1)
	require.Equal(t, "holdfast_undecidable_duplicates_total", found.ScopeMetrics[0].Metrics[0].Name)
	require.EqualValues(t, 2, found.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints[0].Value)
}

// Without committing anything, an event is found by its key and its content. None is while the database doesn't answer, and no caller
// waits for it longer than for other look-ups.
func TestRedeliveriesAreFoundInTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		same, other, unknown := imported("events", "same"), imported("events", "other"), imported("events", "unknown")
		old := imported("events", "old")
		owners := &fakeOwners{owners: map[string]event.Owner{
			"same":  {ID: "1", Fingerprint: "f", ReceivedAt: time.Now()},
			"other": {ID: "2", Fingerprint: "g", ReceivedAt: time.Now()},
			"old":   {ID: "3", Fingerprint: "f", ReceivedAt: time.Now().Add(-2 * time.Hour)},
		}}
		all := []event.Received{same, other, unknown, old}
		i := owners.intake(newFakeStarter())
		require.Equal(t, []bool{true, false, false, false}, i.Redeliveries(t.Context(), all))
		require.Empty(t, i.Redeliveries(t.Context(), nil))
		require.Len(t, owners.asked, 1)

		owners.hangs = true
		begin := time.Now()
		require.Equal(t, make([]bool, 4), i.Redeliveries(t.Context(), all))
		require.Equal(t, ownersTimeout, time.Since(begin))
		require.Equal(t, make([]bool, 4), New(Options{Starter: newFakeStarter()}).Redeliveries(t.Context(), all))
	})
}
