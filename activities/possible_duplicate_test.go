package activities

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"holdfast/event"
)

// decided is an event store that returns fixed results.
type decided struct {
	persisted event.Persisted
	err       error
	times     int
}

func (d *decided) Write(
	context.Context, event.Scope, event.Receipt, []byte, event.Parsed, event.Run,
) (event.Persisted, error) {
	d.times++
	return d.persisted, d.err
}

// meters reads the meters of the process: some of them are made once.
var meters = sync.OnceValue(func() *metric.ManualReader {
	reader := metric.NewManualReader()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	return reader
})

// sums are the values of a provider's counter, by an attribute.
func sums(t *testing.T, reader *metric.ManualReader, name, provider string, by attribute.Key) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	values := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
				if of, _ := point.Attributes.Value("provider"); of.AsString() == provider {
					value, _ := point.Attributes.Value(by)
					values[value.AsString()] += point.Value
				}
			}
		}
	}
	return values
}

// Counters have each possible duplicate once, by what was decided, and each duplicate that only its content tells, whichever lane
// the event took. A held event is not tried again step by step.
func TestPossibleDuplicatesAreCounted(t *testing.T) { //nolint:paralleltest // it sets the meters of the process
	reader := meters()
	first := event.Persisted{PossibleDuplicateOf: "first"}
	held := &event.Error{Class: event.ClassInDoubt, Code: "possible_duplicate"}
	flood := &event.Error{Class: event.ClassInDoubt, Code: "repeat_flood"}
	guessed := event.Receipt{ID: "2", Provider: "acme", Key: "k", Content: "c", DedupeWindow: event.Duration(time.Hour)}
	byID := guessed
	byID.DedupeWindow = 0
	duplicate := event.Persisted{Duplicate: true, Owner: "1"}
	conflict := event.Persisted{Conflict: &event.Conflict{Provider: "acme"}}
	for _, c := range []struct {
		receipt event.Receipt
		answer  decided
	}{
		{guessed, decided{persisted: first}}, {guessed, decided{}}, // the second time, its row is there
		{guessed, decided{persisted: first, err: held}}, {guessed, decided{err: held}},
		{guessed, decided{persisted: first, err: flood}}, {guessed, decided{persisted: first, err: flood}},
		{guessed, decided{persisted: duplicate}}, {byID, decided{persisted: duplicate}},
		{event.Receipt{Provider: "acme"}, decided{persisted: conflict, err: &event.Error{Class: event.ClassConflict}}},
	} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		a := &Activities{Events: &c.answer}
		env.RegisterActivity(a)
		_, err := env.ExecuteActivity(a.PersistEvent, c.receipt, converter.NewRawValue(nil), event.Parsed{})
		require.Equal(t, c.answer.err != nil, err != nil)
		require.Equal(t, 1, c.answer.times)
	}

	require.Equal(t, map[string]int64{"accepted": 1, "held": 1, "flood": 2}, sums(t, reader, "holdfast_possible_duplicates_total", "acme", "result"))
	require.Equal(t, map[string]int64{"acme": 1}, sums(t, reader, "holdfast_undecidable_duplicates_total", "acme", "provider"))
	require.Equal(t, map[string]int64{"acme": 1}, sums(t, reader, "holdfast_event_conflicts_total", "acme", "provider"))
}

// The bulk lane counts what it accepts, and what leaves it as held for the first time.
func TestABatchCountsPossibleDuplicates(t *testing.T) { //nolint:paralleltest // it sets the meters of the process
	reader := meters()
	l := &fullLane{sizes: []int{4}, change: func(events []event.Batched) {
		events[0].PossibleDuplicateOf = "first"
		events[1].Outcome, events[1].PossibleDuplicateOf = event.OutcomeLeft, "first"
		events[1].Reason = &event.Error{Class: event.ClassInDoubt, Code: "possible_duplicate"}
		events[2].Outcome, events[2].Reason = event.OutcomeLeft, events[1].Reason
		events[3].Outcome, events[3].Owner = event.OutcomeDuplicate, "first"
		events[3].Receipt.Content, events[3].Receipt.DedupeWindow = "c", event.Duration(time.Hour)
	}}
	_, _, err := runBatches(t, l)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"accepted": 1, "held": 1}, sums(t, reader, "holdfast_possible_duplicates_total", "stripe", "result"))
	require.Equal(t, map[string]int64{"stripe": 1}, sums(t, reader, "holdfast_undecidable_duplicates_total", "stripe", "provider"))
}
