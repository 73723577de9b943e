package providers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/receiving"
)

// anyCatalogue accepts any catalogue.
func anyCatalogue(_, _ *Catalogue) error { return nil }

// A catalogue is replaced as a whole by a valid one, or not at all.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := writeDefinitions(t, map[string]string{"acme.yaml": minimal})
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	live, err := LoadLive(dir, secretsOf(secretOfTests), nil, nil)
	require.NoError(t, err)
	before, _ := live.Lookup("acme")
	require.Equal(t, filepath.Join(dir, "acme.yaml"), live.Path(before))
	stripe, _ := live.Lookup("stripe")
	require.Empty(t, live.Path(stripe), "which is built in")
	require.Equal(t, dir, live.Dir())

	write("acme.yaml", strings.Replace(minimal, "type:", "body_limit: 1000\ntype:", 1))
	write("beta.yaml", strings.Replace(minimal, "name: acme", "name: beta\npriority: urgent", 1))
	require.ErrorContains(t, live.Reload(anyCatalogue), `beta.yaml:3:1: priority: "urgent" is unknown`)
	same, _ := live.Lookup("acme")
	require.Same(t, before, same)
	require.ErrorContains(t, live.Loading().Rejected, "beta.yaml:3:1")

	write("beta.yaml", strings.Replace(minimal, "name: acme", "name: beta", 1))
	require.NoError(t, live.Reload(anyCatalogue))
	loaded := live.Loading()
	require.Equal(t, [][]string{{"beta"}, {"acme"}, nil}, [][]string{loaded.Added, loaded.Changed, loaded.Removed})
	require.NoError(t, loaded.Rejected)
	after, _ := live.Lookup("acme")
	require.Equal(t, 1000, after.BodyLimit(0))
	require.NoError(t, after.CheckSecrets())
	_, _, ok := live.ByPath("/webhooks/beta")
	require.True(t, ok)
	require.Equal(t, receiving.BodyLimit, before.BodyLimit(0), "who holds a provider goes on with it")

	require.NoError(t, os.Remove(filepath.Join(dir, "beta.yaml")))
	require.NoError(t, live.Reload(anyCatalogue))
	loaded = live.Loading()
	require.Equal(t, [][]string{nil, nil, {"beta"}}, [][]string{loaded.Added, loaded.Changed, loaded.Removed})
}

// A reload accepts nothing that a start would refuse.
func TestReloadChecksLikeAStart(t *testing.T) {
	t.Parallel()
	dir := writeDefinitions(t, map[string]string{"acme.yaml": minimal})
	accept := func(c *Catalogue) error {
		if _, ok := c.Lookup("beta"); ok {
			return errors.New("no beta")
		}
		return nil
	}
	live, err := LoadLive(dir, nil, nil, accept)
	require.NoError(t, err)
	before := live.Catalogue()
	text := strings.Replace(minimal, "name: acme", "name: beta", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "beta.yaml"), []byte(text), 0o600))
	require.EqualError(t, live.Reload(anyCatalogue), "no beta")
	require.Same(t, before, live.Catalogue())
	_, err = LoadLive(dir, nil, nil, accept)
	require.EqualError(t, err, "no beta")
}

func TestReloadWhileItIsRead(t *testing.T) {
	t.Parallel()
	live, err := LoadLive(writeDefinitions(t, map[string]string{"acme.yaml": minimal}), nil, nil, nil)
	require.NoError(t, err)
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if _, _, ok := live.ByPath("/webhooks/acme"); !ok {
						t.Error("the provider was gone for a moment")
						return
					}
				}
			}
		})
	}
	for range 5 {
		require.NoError(t, live.Reload(anyCatalogue))
	}
	close(done)
	readers.Wait()
}
