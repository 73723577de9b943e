package manual

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/docs"
)

var (
	links = regexp.MustCompile(`href="([^"#]*)(?:#([^"]*))?"`)
	marks = regexp.MustCompile(`\b(?:style|on\w+)="|<script`)
)

// Every page is rendered with a title, and its links lead to pages and headings that the console serves.
func TestEveryPageIsServed(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(docs.Pages, "*.md")
	require.NoError(t, err)
	require.Greater(t, len(files), 30)
	pages := map[string]Page{}
	for _, file := range files {
		page, err := Read("/console/docs", strings.TrimSuffix(file, ".md"))
		require.NoError(t, err, file)
		require.NotEmpty(t, page.Title, file)
		require.NotRegexp(t, marks, string(page.HTML), file)
		require.NotContains(t, string(page.HTML), "<h1", file)
		pages[page.Name] = page
	}
	for name, page := range pages {
		for _, found := range links.FindAllStringSubmatch(string(page.HTML), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			target := page
			if found[1] != "" {
				var ok bool
				target, ok = pages[strings.TrimPrefix(found[1], "/console/docs/")]
				require.True(t, ok, "%s links to %s", name, found[1])
			}
			if found[2] != "" {
				require.Contains(t, string(target.HTML), `id="`+found[2]+`"`, "%s links to %s", name, found[0])
			}
		}
	}
}

func TestOnlyPagesAreServed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nobody", "../README", "internals/testing", "", ".", "docs.go"} {
		_, err := Read("/console/docs", name)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
	}
}

// A search finds sections that have all words, those with the words in their headings first.
func TestSectionsAreFound(t *testing.T) {
	t.Parallel()
	found := Search("rotate SECRET")
	require.Contains(t, found, Found{
		Name: "provider-setup", Page: "Set up a provider", Heading: "Rotate a secret", ID: "rotate-a-secret",
		Line: "Configure both secrets, change it at the provider, then remove the old one. Files are read again every second; variables need a restart.",
		rank: 4,
	})
	require.NotEmpty(t, found[0].Heading)
	require.Empty(t, Search("xyzzy rotate"))
	require.Empty(t, Search("  "))
	require.LessOrEqual(t, len(Search("e")), MaxFound)
}
