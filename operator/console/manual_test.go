package console_test

import (
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
