package doctor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
)

// A source is old a year after its check, and at once if it has no date; so is a documented limit.
func TestOldFactsAreListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(`name: acme
extends: standard-webhooks
secrets: ACME_SECRET
sources:
  - {documentation: "https://acme.example/retries", checked: 2026-11-29}
  - {library: acme 1.0}
maximum: {bytes: 1000000, source: "https://acme.example/limits", checked: 2025-11-30}
`), 0o600))
	of := func(now time.Time) (sources []string) {
		all, err := OldFacts(config.Config{Providers: config.Providers{Dir: dir}}, now)
		require.NoError(t, err)
		for _, f := range all {
			if f.Provider == "acme" {
				sources = append(sources, f.Source)
			}
		}
		return sources
	}
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	require.Equal(t, []string{"acme 1.0"}, of(now))
	require.Equal(t, []string{"acme 1.0", "https://acme.example/limits"}, of(now.AddDate(0, 0, 1)))
	require.Len(t, of(now.AddDate(1, 0, 0)), 3)
}
