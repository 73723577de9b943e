package event_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// Two states differ field by field: what is new, what has gone, what has another value or another type; arrays as a whole.
func TestEntitiesDifferByField(t *testing.T) {
	t.Parallel()
	state := func(text string, deleted bool) event.Entity {
		return event.Entity{State: json.RawMessage(text), Deleted: deleted}
	}
	fields, err := event.DiffEntities(
		state(`{"same":{"a":[1,{"b":2}]},"gone":null,"a/b":1,"deep":{"x":1,"y":2},"type":{"x":1},"list":[1,2]}`, false),
		state(`{"same":{"a":[1,{"b":2}]},"new":{},"a/b":1.0,"deep":{"x":1,"y":3},"type":"x","list":[2,1]}`, true))
	require.NoError(t, err)
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	require.Equal(t, `[{"path":"/a~1b","old":1,"new":1.0},{"path":"/deep/y","old":2,"new":3},{"path":"/gone","old":null},`+
		`{"path":"/list","old":[1,2],"new":[2,1]},{"path":"/new","new":{}},{"path":"/type","old":{"x":1},"new":"x"},`+
		`{"path":"deleted","old":false,"new":true}]`, string(text))

	fields, err = event.DiffEntities(event.Entity{}, state(`{}`, false))
	require.NoError(t, err)
	require.Empty(t, fields)
}

func TestTheShareOfARebuild(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	r := event.Rebuild{State: event.OperationRunning, From: noon, Until: noon.Add(time.Hour)}
	require.Zero(t, r.Share())
	r.Reached = noon.Add(15 * time.Minute)
	require.InDelta(t, 0.25, r.Share(), 1e-9)
	require.Zero(t, event.Rebuild{State: event.OperationRunning, From: noon, Until: noon, Reached: noon}.Share())
	require.InDelta(t, 1, event.Rebuild{State: event.OperationCompleted}.Share(), 0)
}
