package deploy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"

	"holdfast/providers"
)

// writeLikeKubelet makes the files of a mount as the kubelet does: links to a folder that is replaced as a whole.
func writeLikeKubelet(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	const version = "..2026_11_23"
	require.NoError(t, os.MkdirAll(filepath.Join(dir, version), 0o755))
	require.NoError(t, os.Symlink(version, filepath.Join(dir, "..data")))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, version, name), []byte(text), 0o600))
		require.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
}

func TestTheProgramReadsTheDefinitionsOfTheConfigMap(t *testing.T) {
	t.Parallel()
	var read int
	eachCase(t, func(t *testing.T, o *objects) {
		for _, m := range o.configMaps {
			if _, ok := m.Data["acme.yaml"]; ok {
				requireDefinition(t, m)
				read++
			}
		}
	})
	require.Positive(t, read)
}

func requireDefinition(t *testing.T, m *core.ConfigMap) {
	t.Helper()
	require.True(t, *m.Immutable, "its name changes with it")
	dir := t.TempDir()
	writeLikeKubelet(t, dir, m.Data)
	catalogue, err := providers.Load(dir)
	require.NoError(t, err)
	require.Contains(t, catalogue.Names(), "acme")
}
