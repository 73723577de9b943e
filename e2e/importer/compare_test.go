package importer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The list of differences is the only record of events that no consumer has, so it has all of them, however many there are.
func TestEveryDifferenceIsListed(t *testing.T) {
	t.Parallel()
	const n = 1200
	i := start(t)
	var lines strings.Builder
	for key := range n {
		fmt.Fprintf(&lines, `{"record":"key","provider":"stripe","key":"evt_%d","first_seen":1763620000,"expires_at":"2990-01-01T00:00:00Z"}`+"\n", key)
	}
	file := i.write(t, "old.ndjson", []byte(lines.String()))
	require.Len(t, i.differences(t, file), n)
	out, err := i.run("compare", file)
	require.Error(t, err)
	require.Equal(t, n, strings.Count(out, "is missing here"))
}
