package config_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
)

var update = flag.Bool("update", false, "write the golden files and docs/configuration.md")

func TestReferencePageIsCurrent(t *testing.T) {
	t.Parallel()
	requireGolden(t, "../../docs/configuration.md", config.Reference())
}

func TestEveryVariableIsDescribed(t *testing.T) {
	t.Parallel()
	all := config.Describe()
	require.NotEmpty(t, all)
	for _, v := range all {
		require.NotEmptyf(t, v.Doc, "%s has a comment in sections.go", v.Name)
		require.NotEmptyf(t, v.Example, "%s has a default or an example", v.Name)
		require.Regexp(t, `^(HOLDFAST|DATABASE|TEMPORAL|OTEL)_[A-Z_]+$`, v.Name)
	}
}

// Whatever the page shows as an example is accepted; but for a key, which nobody should copy.
func TestTheExamplesAreValid(t *testing.T) {
	t.Parallel()
	var environ []string
	for _, v := range config.Describe() {
		if !strings.HasSuffix(v.Example, "…") {
			environ = append(environ, v.Name+"="+v.Example)
		}
	}
	_, err := config.LoadFrom(environ)
	require.NoError(t, err)
}

func requireGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equalf(t, string(want), got, "%s is not current: run `go generate ./internal/config`", path)
}
