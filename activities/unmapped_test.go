package activities

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"holdfast/event"
)

// mappings records what was counted.
type mappings map[string][]event.Mapping

func (m mappings) Count(provider string, of event.Mapping) { m[provider] = append(m[provider], of) }

// An event is counted when it is stored, by whether rules for entities found one in it. Duplicates and failures aren't.
func TestEventsInWhichNoRuleFoundAnEntityAreCounted(t *testing.T) { //nolint:paralleltest // it sets the meters of the process
	reader, counted := meters(), mappings{}
	unmapped := event.Parsed{Unmapped: true}
	for _, c := range []struct {
		parsed event.Parsed
		answer decided
	}{
		{unmapped, decided{}}, {event.Parsed{Changes: []event.Change{{}}}, decided{}}, {event.Parsed{}, decided{}},
		{unmapped, decided{persisted: event.Persisted{Duplicate: true}}}, {unmapped, decided{err: &event.Error{Class: event.ClassConflict}}},
	} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		a := &Activities{Events: &c.answer, Mappings: counted}
		env.RegisterActivity(a)
		_, err := env.ExecuteActivity(a.PersistEvent, event.Receipt{Provider: "unmapped"}, converter.NewRawValue(nil), c.parsed)
		require.Equal(t, c.answer.err != nil, err != nil)
	}
	require.Equal(t, mappings{"unmapped": {event.Unmapped, event.Mapped}}, counted)
	require.Equal(t, map[string]int64{"unmapped": 1}, sums(t, reader, "holdfast_events_unmapped_total", "unmapped", "provider"))
}
