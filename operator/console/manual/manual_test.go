package manual

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	links = regexp.MustCompile(`href="([^"#]*)(?:#([^"]*))?"`)
	marks = regexp.MustCompile(`\b(?:style|on\w+)="|<script`)
)

// Every page and every part of a large one is rendered with a title, and its links lead to pages and headings that the console serves.
func TestEveryPageIsServed(t *testing.T) {
	t.Parallel()
	names := slices.Collect(maps.Keys(sources()))
	require.Greater(t, len(names), 30)
	for _, parts := range largePages() {
		for _, p := range parts[1:] {
			names = append(names, p.name)
		}
	}
	pages := map[string]Page{}
	for _, name := range names {
		page, err := Read("/console/docs", name)
		require.NoError(t, err, name)
		require.NotEmpty(t, page.Title, name)
		require.NotRegexp(t, marks, string(page.HTML), name)
		require.NotContains(t, string(page.HTML), "<h1", name)
		require.Less(t, len(page.HTML), 90_000, "%s is too large for the console's limit of 100 kB", name)
		require.NotContains(t, pages, name)
		pages[name] = page
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

// Each heading of a large page is in the page or the part where links lead, and each part is linked from the beginning.
func TestLargePagesAreServedInParts(t *testing.T) {
	t.Parallel()
	require.Len(t, largePages(), 2)
	for name, parts := range largePages() {
		require.Greater(t, len(parts), 10, name)
		beginning, err := Read("/console/docs", name)
		require.NoError(t, err)
		for _, p := range parts[1:] {
			require.Contains(t, string(beginning.HTML), `<a href="/console/docs/`+p.name+`">`)
		}
		for _, s := range sectionsOf(sources()[name]) {
			if s.level < 2 {
				continue
			}
			served, anchor := locate(name, s.id())
			page, err := Read("/console/docs", served)
			require.NoError(t, err)
			if anchor == "" {
				require.Equal(t, beginning.Title+": "+s.heading, page.Title)
				require.Contains(t, string(page.HTML), `<a href="/console/docs/`+name+`">`+beginning.Title+`</a>`)
			} else {
				require.Contains(t, string(page.HTML), `id="`+anchor+`"`)
			}
		}
	}
	page, err := Read("/console/docs", "api-routes")
	require.NoError(t, err)
	require.Contains(t, string(page.HTML), `<a href="/console/docs/api-routes.codec#post-codecdecode">POST /codec/decode</a>`)
	page, err = Read("/console/docs", "catalogue.stripe")
	require.NoError(t, err)
	require.Equal(t, "The catalogue: stripe", page.Title)
	require.Contains(t, string(page.HTML), "https://docs.stripe.com")
}

func TestOnlyPagesAreServed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nobody", "../README", "internals/testing", "", ".", "docs.go", "catalogue.", "catalogue.nobody", "replay.index"} {
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
	found = Search("codec decode post")
	require.Equal(t, "api-routes.codec", found[0].Name)
	require.Equal(t, "post-codecdecode", found[0].ID)
	require.Empty(t, Search("xyzzy rotate"))
	require.Empty(t, Search("  "))
	require.LessOrEqual(t, len(Search("e")), MaxFound)
}
