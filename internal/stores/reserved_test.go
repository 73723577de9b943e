package stores

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
)

// The reference page names every reserved task queue and workflow type. Every possible schedule has a reserved ID.
func TestReservedNamesAreDocumented(t *testing.T) {
	t.Parallel()
	reserved := Reserved(func() []string { return nil })
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "deliveries-reference.md"))
	require.NoError(t, err)
	ids := slices.DeleteFunc(slices.Clone(reserved.IDPrefixes), func(id string) bool { return strings.HasPrefix(id, "holdfast-") })
	for _, name := range slices.Concat(reserved.TaskQueues, reserved.WorkflowTypes, ids) {
		require.Contains(t, string(page), "`"+name+"`")
	}
	var cfg config.Config
	require.NoError(t, cfg.Notify.URLs.UnmarshalText([]byte("https://example.com/hook")))
	for _, s := range append(append(Schedules(cfg), Notifications(cfg)...), reportOf(24*time.Hour)) {
		require.Contains(t, reserved.IDPrefixes, s.ID)
	}
}
