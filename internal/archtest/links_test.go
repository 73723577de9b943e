package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	link      = regexp.MustCompile(`\]\(([^)\s#:]*)(?:#([^)\s]+))?\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced    = regexp.MustCompile("(?s)\n *```.*?\n *```")
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	testNamed = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z_]+)`")
	pageNamed = regexp.MustCompile(`docs/(?:[a-z-]+/)?[a-z-]+\.md`)
)

// Every link between pages leads to an existing page and an existing heading.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	pages := pagesOf(t)
	require.Greater(t, len(pages), 20)
	for name, text := range pages {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target := name
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(name), found[1])
			}
			if filepath.Ext(target) != ".md" {
				_, err := os.Stat(filepath.Join(root, target))
				require.NoError(t, err, "%s links to %s", name, found[1])
				continue
			}
			to, ok := pages[target]
			require.True(t, ok, "%s links to %s", name, target)
			if found[2] != "" {
				require.Contains(t, slugs(to), found[2], "%s links to %s", name, target)
			}
		}
	}
}

// Every page is linked from the index.
func TestTheIndexHasEveryPage(t *testing.T) {
	t.Parallel()
	pages := pagesOf(t)
	for name := range pages {
		if page, ok := strings.CutPrefix(name, "docs/"); ok && page != "README.md" {
			require.Contains(t, pages["docs/README.md"], "]("+page+")")
		}
	}
}

// Every finding has its line, and can be run.
func TestTheFindingsAreListed(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(filepath.Join(root, "findings", "*"))
	require.NoError(t, err)
	index := pagesOf(t)["findings/README.md"]
	for _, script := range scripts {
		if name := filepath.Base(script); name != "README.md" {
			require.Contains(t, index, "]("+name+")")
			info, err := os.Stat(script)
			require.NoError(t, err)
			require.NotZero(t, info.Mode()&0o100, "%s is executable", name)
		}
	}
}

// Pages that code and settings mention exist.
func TestCodeNamesPagesThatExist(t *testing.T) {
	t.Parallel()
	pages := pagesOf(t)
	named := 0
	for _, pattern := range []string{"*/*.go", "*/*/*.go", "*/*/*/*.go", "*/*/*.html", "*/*.json", "deploy/*", "deploy/*/*", "*/*.yaml", "Makefile"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // a folder
			}
			for _, page := range pageNamed.FindAllString(string(text), -1) {
				require.Contains(t, pages, page, file)
				named++
			}
		}
	}
	require.Greater(t, named, 10)
}

func TestPagesNameTestsThatExist(t *testing.T) {
	t.Parallel()
	var sources strings.Builder
	for _, pattern := range []string{"*/*_test.go", "*/*/*_test.go", "*/*/*/*_test.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			sources.Write(text)
		}
	}
	named := 0
	for name, text := range pagesOf(t) {
		for _, found := range testNamed.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(sources.String(), "func "+found[1]+"(") {
				t.Errorf("%s names %s", name, found[1])
			}
			named++
		}
	}
	require.Greater(t, named, 30)
}

// pagesOf returns the texts of all pages without their examples, by path from the root.
func pagesOf(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/internals/*.md", "findings/*.md", "client/*.md", "client/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			name, err := filepath.Rel(root, file)
			require.NoError(t, err)
			pages[name] = fenced.ReplaceAllString(string(text), "")
		}
	}
	return pages
}

// slugs returns the anchors of a page's headings, as GitHub generates them.
func slugs(page string) (all []string) {
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		text := notInSlug.ReplaceAllString(strings.ToLower(found[1]), "")
		all = append(all, strings.ReplaceAll(text, " ", "-"))
	}
	return all
}
