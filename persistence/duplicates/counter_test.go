package duplicates

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// Counts that can't be written are kept and added to, in bounded memory, and Count doesn't wait.
func TestCountsAreKeptWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	var written map[duplicateKey]counted
	away := errors.New("away")
	c := newCounter(func(_ context.Context, all map[duplicateKey]counted) error {
		written = all
		return away
	})
	for n := range maxCounted + 10 {
		c.Count(event.Duplicate{Provider: "acme", Key: fmt.Sprint(n), At: at})
	}
	c.flush()
	require.Len(t, written, maxCounted)
	c.Count(event.Duplicate{Provider: "acme", Key: "0", At: at.Add(time.Minute)})
	away = nil
	c.flush()
	require.Len(t, written, maxCounted)
	require.Equal(t, counted{2, at, at.Add(time.Minute), 0}, written[duplicateKey{provider: "acme", key: "0"}])
	written = nil
	c.flush()
	require.Nil(t, written, "nothing is written where nothing has come")
}
