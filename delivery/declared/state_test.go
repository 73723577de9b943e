package declared_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/declared"
)

// A pasted secret of a queue is refused under the queue's own field, and isn't repeated.
func TestAPastedSecretOfAQueue(t *testing.T) {
	t.Parallel()
	var bus delivery.Destination
	require.NoError(t, json.Unmarshal([]byte(`{"nats":{"url":"nats://127.0.0.1:4222","subject":"events","secrets":"hunter2"}}`), &bus))
	stored := declared.State{}
	problems := declared.State{Destinations: map[string]delivery.Destination{"bus": bus}}.Check(stored, nil)
	require.NotEmpty(t, problems)
	last := problems[len(problems)-1]
	require.Equal(t, "nats.secrets", last.Field)
	require.Contains(t, last.Reason, "nats.secrets: must be the name of an environment variable")
	require.NotContains(t, last.Reason, "hunter2")
}
