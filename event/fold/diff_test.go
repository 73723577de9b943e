package fold_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/fold"
)

// Two states differ field by field: what is new, what has gone, what has another value or another type; arrays as a whole.
func TestEntitiesDifferByField(t *testing.T) {
	t.Parallel()
	state := func(text string, deleted bool) event.Entity {
		return event.Entity{State: json.RawMessage(text), Deleted: deleted}
	}
	fields, err := fold.Diff(
		state(`{"same":{"a":[1,{"b":2}]},"gone":null,"a/b":1,"deep":{"x":1,"y":2},"type":{"x":1},"list":[1,2]}`, false),
		state(`{"same":{"a":[1,{"b":2}]},"new":{},"a/b":1.0,"deep":{"x":1,"y":3},"type":"x","list":[2,1]}`, true))
	require.NoError(t, err)
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	require.Equal(t, `[{"path":"/a~1b","old":1,"new":1.0},{"path":"/deep/y","old":2,"new":3},{"path":"/gone","old":null},`+
		`{"path":"/list","old":[1,2],"new":[2,1]},{"path":"/new","new":{}},{"path":"/type","old":{"x":1},"new":"x"},`+
		`{"path":"deleted","old":false,"new":true}]`, string(text))

	fields, err = fold.Diff(event.Entity{}, state(`{}`, false))
	require.NoError(t, err)
	require.Empty(t, fields)
}
