package deploy

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/buildinfo"
)

// What is published with a release has its number, so that a release needs no search for places to change.
func TestEveryPartOfAReleaseHasItsVersion(t *testing.T) {
	t.Parallel()
	for file, line := range map[string]string{
		"helm/Chart.yaml":                        "\nversion: " + buildinfo.Version + "\nappVersion: " + buildinfo.Version + "\n",
		"Dockerfile":                             " org.opencontainers.image.version=" + buildinfo.Version + "\n",
		"../CHANGELOG.md":                        "\n## " + buildinfo.Version + " - ",
		"../client/README.md":                    " -require=holdfast/client@v" + buildinfo.Version + " ",
		"../client/typescript/README.md":         " ./holdfast-client-" + buildinfo.Version + ".tgz\n",
		"../client/typescript/package.json":      "\n  \"version\": \"" + buildinfo.Version + "\",\n",
		"../client/typescript/package-lock.json": "\n  \"version\": \"" + buildinfo.Version + "\",\n",
		"../docs/systemd.md":                     "\napt-get install ./holdfast_" + buildinfo.Version + "_amd64.deb\n",
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), line, file)
	}
}
