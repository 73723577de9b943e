package activities

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	commonpb "go.temporal.io/api/common/v1"

	"holdfast/event"
	"holdfast/providers"
)

// keyed is an event store in which an event owns the key, and bodies that can be read, or not.
type keyed struct {
	owner, body string
	err         error
	persisted   []event.Receipt
}

func (k *keyed) Write(
	_ context.Context, scope event.Scope, r event.Receipt, _ []byte, _ event.Parsed, _ event.Run,
) (event.Persisted, error) {
	if scope == event.WholeOrRow {
		return event.Persisted{Conflict: r.ConflictWith(k.owner, "sha256:first")}, &event.Error{Class: event.ClassConflict, Code: event.CodeKeyConflict}
	}
	k.persisted = append(k.persisted, r)
	return event.Persisted{Duplicate: true, Owner: k.owner, OwnerWaits: true}, nil
}

func (k *keyed) LargeBody(context.Context, event.Receipt) ([]byte, error) { return nil, k.err }

func (k *keyed) EventBody(context.Context, string) ([]byte, error) { return []byte(k.body), k.err }

// A conflict is a redelivery if the stored body is the same JSON value: under its own key, and under the one that it got as a
// conflict. If that body can't be read, or has another value, it stays a conflict.
func TestAConflictIsComparedWithTheStoredBody(t *testing.T) { //nolint:paralleltest // it sets the meters of the process
	reader := meters()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	live := event.Receipt{ID: "2", Provider: "stripe", Key: "evt_1", Certain: true, Fingerprint: "sha256:second"}
	for name, c := range map[string]struct {
		receipt event.Receipt
		store   keyed
		same    bool
	}{
		"the same value":          {live, keyed{body: `{"a": 1}`}, true},
		"under its own key":       {live.WithConflictKey("1"), keyed{body: `{"a": 1}`}, true},
		"another value":           {live, keyed{body: `{"a": 2}`}, false},
		"nothing is stored":       {live, keyed{}, false},
		"the body can't be read":  {live, keyed{body: `{"a": 1}`, err: errors.New("no database")}, false},
		"an edit by an operator":  {event.Receipt{ID: "2", Provider: "stripe", Key: "k", Certain: true, Fingerprint: "sha256:second", Replaces: "1"}, keyed{body: `{"a": 1}`}, false},
		"an unknown provider now": {event.Receipt{ID: "2", Provider: "gone", Key: "k", Certain: true, Fingerprint: "sha256:second"}, keyed{body: `{"a": 1}`}, false},
	} {
		c.store.owner = "1"
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		a := &Activities{Catalogue: catalogue, Events: &c.store, Bodies: &c.store}
		env.RegisterActivity(a)
		body := converter.NewRawValue(&commonpb.Payload{Data: []byte(`{"a":1.0}`)})
		value, err := env.ExecuteActivity(a.PersistEvent, c.receipt, body, event.Parsed{Type: "customer.updated"})
		if !c.same {
			require.Error(t, err, name)
			require.Empty(t, c.store.persisted, name)
			continue
		}
		require.NoError(t, err, name)
		var persisted event.Persisted
		require.NoError(t, value.Get(&persisted))
		require.Equal(t, event.Persisted{Duplicate: true, Owner: "1"}, persisted, name)
		require.Len(t, c.store.persisted, 1)
		again := c.store.persisted[0]
		require.Equal(t, []string{"evt_1", "", ""}, []string{again.Key, again.Fingerprint, again.ConflictsWith}, name)
	}
	require.Equal(t, map[string]int64{"stripe": 2}, sums(t, reader, "holdfast_rewritten_duplicates_total", "stripe", "provider"))
}
