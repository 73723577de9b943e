package lint

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers"
)

// The old paths of all systems can be open at once; each definition keeps its paths, and passes the check. Those of RentProg
// and GoCardless are built in.
func TestOldPaths(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	names, err := filepath.Glob("../../providers/old_paths/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		name = strings.TrimSuffix(filepath.Base(name), ".yaml")
		text, err := providers.OldPaths(name)
		require.NoError(t, err)
		files[name+".yaml"] = text
	}
	dir := writeDefinitions(t, files)
	checked, err := CheckPath(dir, nil)
	require.NoError(t, err)
	require.Empty(t, checked.Problems())
	require.Len(t, checked.Names, len(files))
	with, err := providers.Load(dir)
	require.NoError(t, err)
	for _, name := range checked.Names {
		p, _ := with.Lookup(name)
		require.Subset(t, p.Paths(), providerOf(t, name).Paths())
	}
	for path, want := range map[string]string{
		"/webhook/shop-a": "evolution", "/webhook/shop-a/messages-upsert": "evolution", "/webhook/gocardless": "gocardless",
		"/api/webhook/retell": "retell", "/api/webhook/calcom": "calcom", "/api/webhooks/stripe": "stripe",
		"/api/rentprog/webhook": "rentprog", "/webhook/rentprog-webhook-create": "rentprog", "/webhooks/evolution/shop-a": "evolution",
	} {
		p, params, ok := with.ByPath(path)
		require.True(t, ok, path)
		require.Equal(t, want, p.Name(), path)
		if want == "evolution" {
			require.Equal(t, "shop-a", params["instance"])
		}
	}
	_, err = providers.OldPaths("github")
	require.ErrorContains(t, err, "calcom, evolution, retell, stripe")
}
