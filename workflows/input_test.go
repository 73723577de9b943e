package workflows

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/activities"
	"holdfast/event"
)

// An event is large if its body and the envelope of its batch together exceed the limit, and not if they just reach it.
func TestAnEventIsLargeBeyondTheLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body, root int
		large      bool
	}{
		"a body at the limit":         {activities.LargeInput, 0, false},
		"a body beyond it":            {activities.LargeInput + 1, 0, true},
		"a batch at the limit":        {activities.LargeInput - 100, 100, false},
		"a batch beyond it":           {activities.LargeInput - 100, 101, true},
		"an envelope beyond the body": {10, activities.LargeInput, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := converter.NewRawValue(&commonpb.Payload{Data: make([]byte, c.body)})
			require.Equal(t, c.large, inputOf(event.Receipt{Root: make([]byte, c.root)}, body).large)
		})
	}
}
