package word

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for n, wanted := range map[int]string{0: "0 events", 1: "1 event", 2: "2 events"} {
		require.Equal(t, wanted, Count(n, "event", "events"))
	}
}
