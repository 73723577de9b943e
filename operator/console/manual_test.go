package console_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
	"holdfast/operator/console"
)

// Each page links to its documentation, which the console serves below its prefix and searches.
func TestTheDocumentationIsServed(t *testing.T) {
	t.Parallel()
	s := startShowing(t, console.Options{Definitions: definitions(t)}, "/tools", true)
	v := s.as(t, access.RoleViewer)
	_, page := v.get(s.url + "/tools/console/providers")
	require.Contains(t, page, `<a href="/tools/console/docs/provider-setup">Documentation</a>`)
	res, page := v.get(s.url + "/tools/console/docs/provider-setup")
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, page, "<h1>Set up a provider</h1>")
	require.Contains(t, page, `<a href="/tools/console/docs/catalogue">catalogue</a>`)
	_, page = v.get(s.url + "/tools/console/docs?q=rotate+secret")
	require.Contains(t, page, `<a href="/tools/console/docs/provider-setup#rotate-a-secret">`)
	_, page = v.get(s.url + "/tools/console/docs?q=xyzzy")
	require.Contains(t, page, "No section has all of these words")
	res, _ = v.get(s.url + "/tools/console/docs/nobody")
	require.Equal(t, 404, res.StatusCode)
	res, _ = newVisitor(t).get(s.url + "/tools/console/docs")
	require.Equal(t, 303, res.StatusCode, "it needs a token, as all pages")
}

var manualPicture = regexp.MustCompile(`<img src="(/tools/console/docs/images/[a-z-]+\.webp)" alt="([^"]+)">`)

// The pages show their pictures, each with a text, as WebP that the console serves, and which the program doesn't grow by much for.
func TestThePicturesOfTheDocumentationAreServed(t *testing.T) {
	t.Parallel()
	s := startShowing(t, console.Options{Definitions: definitions(t)}, "/tools", true)
	v := s.as(t, access.RoleViewer)
	_, page := v.get(s.url + "/tools/console/docs/console")
	pictures := manualPicture.FindAllStringSubmatch(page, -1)
	require.Len(t, pictures, 10)
	size := 0
	for _, picture := range pictures {
		require.Greater(t, len(picture[2]), 40, "the text of %s says too little", picture[1])
		res, content := v.get(s.url + picture[1])
		require.Equal(t, 200, res.StatusCode, picture[1])
		require.Equal(t, "image/webp", res.Header.Get("Content-Type"))
		require.Equal(t, "WEBP", content[8:12])
		size += len(content)
	}
	require.Less(t, size, 1<<20)
	for _, name := range []string{"nothing.webp", "..%2Fconsole.md", "now.txt", "."} {
		res, _ := v.get(s.url + "/tools/console/docs/images/" + name)
		require.Equal(t, 404, res.StatusCode, name)
	}
	res, _ := newVisitor(t).get(s.url + pictures[0][1])
	require.Equal(t, 303, res.StatusCode, "it needs a token, as all pages")
}

var manualLink = regexp.MustCompile(`href="(/tools/console/docs[^"#?]*)(?:#([^"]+))?"`)

// A user who follows the links of the documentation sees every page, none over 100 kB, and each anchor.
func TestEveryLinkOfTheDocumentationLeadsSomewhere(t *testing.T) {
	t.Parallel()
	s := startShowing(t, console.Options{Definitions: definitions(t)}, "/tools", true)
	v := s.as(t, access.RoleViewer)
	pages, anchors := map[string]string{}, map[string]string{}
	for next := []string{"/tools/console/docs"}; len(next) > 0; next = next[1:] {
		if _, seen := pages[next[0]]; seen {
			continue
		}
		res, page := v.get(s.url + next[0])
		require.Equal(t, 200, res.StatusCode, next[0])
		require.LessOrEqual(t, len(page), 100_000, next[0])
		pages[next[0]] = page
		for _, found := range manualLink.FindAllStringSubmatch(page, -1) {
			next = append(next, found[1])
			if found[2] != "" {
				anchors[found[1]+"#"+found[2]] = next[0]
			}
		}
	}
	require.Greater(t, len(pages), 150)
	require.Greater(t, len(anchors), 200)
	for link, from := range anchors {
		path, anchor, _ := strings.Cut(link, "#")
		require.Contains(t, pages[path], `id="`+anchor+`"`, "%s links to %s", from, link)
	}
}
