package runs_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"

	"holdfast/event"
	"holdfast/internal/devstack/stacktest"
	"holdfast/internal/devstack/temporalserver"
	"holdfast/workflows/runs"
)

var odd = []string{
	`it's`, `"quoted"`, `a?b`, `back\slash`, `100%`, `a_b`, `%`, `?`, "a\nb", `$1`, `:x`, `größe`, `!%_`, `a;b`, `{a}`, `x'?"\`,
}

// Events whose type has characters that Temporal's list reads in its own way are found by it, and no others are, on both databases. No
// value of a filter is an error.
func TestFiltersWithOddCharacters(t *testing.T) {
	t.Parallel()
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		s := stacktest.NewTemporal(t, stacktest.TemporalOptions{})
		testOddFilters(t, client.Options{HostPort: s.Address(), Namespace: client.DefaultNamespace, Logger: quiet})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		root := filepath.Join("..", "..")
		if _, err := os.Stat(filepath.Join(root, "bin", "temporal-server")); err != nil {
			t.Skip("needs a Temporal server for PostgreSQL: make server")
		}
		s, err := temporalserver.Start(t.Context(), temporalserver.Options{
			Bin: filepath.Join(root, "bin"), Dir: t.TempDir(), Store: stacktest.NewCluster(t).URL("postgres"), Shards: 4,
			SearchAttributes: map[string]string{"Provider": "Keyword", "EventType": "Keyword"},
		})
		require.NoError(t, err)
		t.Cleanup(s.Kill)
		testOddFilters(t, client.Options{HostPort: s.Address(), Namespace: s.Namespace(), Logger: quiet})
	})
}

func testOddFilters(t *testing.T, options client.Options) {
	t.Helper()
	c, err := client.DialContext(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s := runs.NewStarter(c, converter.GetDefaultDataConverter())
	start := func(kind, key string) {
		t.Helper()
		r := event.Receipt{ID: uuid.Must(uuid.NewV7()).String(), Provider: "acme", Type: kind, Key: key, ReceivedAt: time.Now()}
		require.Eventually(t, func() bool {
			_, err := s.Start(t.Context(), r, []byte(`{}`), false)
			return err == nil
		}, time.Minute, 100*time.Millisecond, "the search attributes are known")
	}
	for n, text := range odd {
		start(text, strconv.Itoa(n))
		start(text+"x", strconv.Itoa(n)+"x")
	}
	find := func(q event.RecordQuery) (keys []string) {
		t.Helper()
		found, err := s.AcceptedEvents(t.Context(), q)
		require.NoError(t, err, "%q", q)
		for _, r := range found.Records {
			keys = append(keys, r.Receipt.Key)
		}
		return keys
	}
	require.Eventually(t, func() bool { return len(find(event.RecordQuery{})) == 2*len(odd) }, time.Minute, 50*time.Millisecond)
	for n, text := range odd {
		require.Equal(t, []string{strconv.Itoa(n)}, find(event.RecordQuery{Type: text}), text)
		require.Equal(t, []string{strconv.Itoa(n)}, find(event.RecordQuery{Provider: "acme", Type: text, Key: strconv.Itoa(n)}), text)
		require.Empty(t, find(event.RecordQuery{Provider: text}), text)
		require.Empty(t, find(event.RecordQuery{Key: text}), text)
		require.Empty(t, find(event.RecordQuery{Provider: "acme", Key: text}), text)
		require.Empty(t, find(event.RecordQuery{Type: text + text}), text)
	}
}
