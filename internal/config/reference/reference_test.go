package reference_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
	"holdfast/internal/config/reference"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

func read(t *testing.T) []reference.Section {
	t.Helper()
	sections, err := reference.Read("../sections.go")
	require.NoError(t, err)
	require.NotEmpty(t, sections)
	return sections
}

func TestReferencePageIsCurrent(t *testing.T) {
	t.Parallel()
	page, err := reference.Page(read(t))
	require.NoError(t, err)
	const path = "../../../docs/configuration.md"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equalf(t, string(want), page, "%s is not current: run `go generate ./internal/config`", path)
}

func TestEveryVariableIsDescribed(t *testing.T) {
	t.Parallel()
	for _, section := range read(t) {
		require.NotEmpty(t, section.Variables)
		for _, v := range section.Variables {
			require.NotEmptyf(t, v.Doc, "%s has a comment in sections.go", v.Name)
			require.NotEmptyf(t, v.Example, "%s has a default or an example", v.Name)
			require.Regexp(t, `^(HOLDFAST|DATABASE|TEMPORAL|OTEL)_[A-Z_]+$`, v.Name)
		}
	}
}

// Every example on the page is valid, except for keys, which must not be copied.
func TestTheExamplesAreValid(t *testing.T) {
	t.Parallel()
	var environ []string
	for _, section := range read(t) {
		for _, v := range section.Variables {
			if !strings.HasSuffix(v.Example, "…") {
				environ = append(environ, v.Name+"="+v.Example)
			}
		}
	}
	_, err := config.LoadFrom(environ)
	require.NoError(t, err)
}
