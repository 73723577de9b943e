package background

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"holdfast/event"
	"holdfast/event/shape"
)

// shapes has a type whose events can't be read, and one that is fine.
type shapes struct{ saved []string }

func (*shapes) DueTypes(context.Context, int) ([]shape.Observed, error) {
	return []shape.Observed{{Provider: "shop", Type: "broken"}, {Provider: "shop", Type: "paid"}}, nil
}

func (*shapes) Sample(_ context.Context, _, eventType, _ string, _ int) ([]event.Record, error) {
	if eventType == "broken" {
		return nil, errors.New("invalid page in block 7")
	}
	return []event.Record{{Body: []byte(`{"id":1}`)}}, nil
}

func (s *shapes) Save(_ context.Context, o shape.Observed) error {
	s.saved = append(s.saved, o.Type)
	return nil
}

// A type that can't be observed fails the run, after the others.
func TestATypeThatCannotBeReadDelaysNoOther(t *testing.T) {
	t.Parallel()
	store := &shapes{}
	a := &Activities{Shapes: store, Definitions: Definitions{
		Redact: func(_ event.Receipt, body []byte) (json.RawMessage, error) { return body, nil },
		Reads:  func(string, string) []shape.Read { return nil },
	}}
	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestActivityEnvironment()
	environment.RegisterActivity(a.ObserveFields)
	_, err := environment.ExecuteActivity(a.ObserveFields)
	require.ErrorContains(t, err, "invalid page in block 7")
	require.Equal(t, []string{"paid"}, store.saved)
}
