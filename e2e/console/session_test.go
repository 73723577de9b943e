package console

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

func TestAUserLogsInAndOut(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	require.Equal(t, 200, b.open("/"))
	require.Equal(t, "/console/login?next=%2Fconsole", b.path())
	require.Equal(t, "Log in · Holdfast", b.title())
	b.requireAccessible()
	b.fill("#token", "wrong")
	require.Equal(t, 401, b.submit(".login button"))
	require.Contains(t, b.page(), "Unknown token")

	b.logIn(access.RoleViewer)
	require.Contains(t, b.text(".who"), "the-viewer")
	b.requireAccessible()
	b.submit(".who button")
	require.Equal(t, "/console/login", b.path())
	b.open("/console/events?provider=stripe")
	require.Equal(t, "/console/login?next=%2Fconsole%2Fevents%3Fprovider%3Dstripe", b.path())
	b.fill("#token", holdfast.tokens[access.RoleViewer])
	b.submit(".login button")
	require.Equal(t, "/console/events?provider=stripe", b.path(), "one goes on where one was")
}

func TestMissingThingsHaveAPage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t).as(access.RoleViewer)
	for path, status := range map[string]int{
		"/console/nothing": 404, "/console/events/nothing": 400, "/console/events/01a204b5-35fc-7b86-b664-b3319a355b96": 404,
		"/console/events?nonsense=1": 400, "/console/events/01a204b5-35fc-7b86-b664-b3319a355b96/edit": 403,
	} {
		require.Equal(t, status, b.open(path), path)
		require.Contains(t, b.page(), "request ", path)
		require.Contains(t, b.text(".top"), "the-viewer", path)
		b.requireAccessible()
	}
}

var link = regexp.MustCompile(`(?m)^\s*console\s+(http://\S+)$`)

func TestDevPrintsALinkThatLogsInOnce(t *testing.T) {
	t.Parallel()
	log, err := os.ReadFile(holdfast.log)
	require.NoError(t, err)
	found := link.FindSubmatch(log)
	require.NotNil(t, found, "%.300s", log)
	path := string(found[1])[len(holdfast.operator):]
	b := newBrowser(t)
	require.Equal(t, 200, b.open(path))
	require.Equal(t, "/console", b.path())
	require.Contains(t, b.text(".who"), "the-admin")
	another := newBrowser(t)
	require.Equal(t, 401, another.open(path))
	require.Contains(t, another.page(), "has expired")
}
