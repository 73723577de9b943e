package providers

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A catalogue is replaced as a whole, by one that is right, or not at all.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := writeDefinitions(t, map[string]string{"acme.yaml": minimal})
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	live, err := LoadLive(dir, secretsOf(secretOfTests))
	require.NoError(t, err)
	before, _ := live.Lookup("acme")

	write("acme.yaml", strings.Replace(minimal, "type:", "body_limit: 1000\ntype:", 1))
	write("beta.yaml", strings.Replace(minimal, "name: acme", "name: beta\npriority: urgent", 1))
	require.ErrorContains(t, live.Reload(), `beta.yaml: priority: "urgent" is unknown`)
	same, _ := live.Lookup("acme")
	require.Same(t, before, same)

	write("beta.yaml", strings.Replace(minimal, "name: acme", "name: beta", 1))
	require.NoError(t, live.Reload())
	after, _ := live.Lookup("acme")
	require.Equal(t, 1000, after.BodyLimit())
	require.NoError(t, after.CheckSecrets())
	_, _, ok := live.ByPath("/webhooks/beta")
	require.True(t, ok)
	require.Zero(t, before.BodyLimit(), "who holds a provider goes on with it")
}

func TestReloadWhileItIsRead(t *testing.T) {
	t.Parallel()
	live, err := LoadLive(writeDefinitions(t, map[string]string{"acme.yaml": minimal}), nil)
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
		require.NoError(t, live.Reload())
	}
	close(done)
	readers.Wait()
}
