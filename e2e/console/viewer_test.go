package console

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

var linked = regexp.MustCompile(`(?:href|hx-get)="(/console[^"#]*|\?[^"#]*)`)

// walk visits the pages linked from the given ones, as far as they are lists or about the test's own data, and returns each
// page by its path.
func walk(t *testing.T, role access.Role, from, about []string) map[string]string {
	t.Helper()
	const most = 300
	pages, next := map[string]string{}, from
	for len(next) > 0 && len(pages) < most {
		at := next[0]
		next = next[1:]
		if _, seen := pages[at]; seen || strings.Contains(at, "/assets/") || strings.HasSuffix(at, "/tail") {
			continue
		}
		status, page := holdfast.look(t, role, at)
		pages[at] = page
		require.Less(t, status, http.StatusInternalServerError, at)
		for _, link := range linked.FindAllStringSubmatch(page, -1) {
			to := html.UnescapeString(link[1])
			if to[0] == '?' {
				path, _, _ := strings.Cut(at, "?")
				to = path + to
			}
			for _, mine := range about {
				if strings.Contains(to, mine) {
					next = append(next, to)
					break
				}
			}
		}
	}
	return pages
}

// No page of a viewer has anything hidden from a body, a header, a state, an endpoint's answer or a failure, nor other
// operators-only data.
func TestNoPageOfAViewerShowsABody(t *testing.T) {
	t.Parallel()
	marker := uniqueID("marker")
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("webhook-delivery", "abort-message")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte("I did not like " + marker))
	}))
	t.Cleanup(echo.Close)
	kind, entity := uniqueID("kind"), uniqueID("n")
	name := strings.ReplaceAll(uniqueID("echo"), "_", "-")
	file := filepath.Join(t.TempDir(), "echo.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
destinations: {%[1]s: {http: {url: %[2]q}, retry: {attempts: 1}}}
subscriptions: {%[1]s: {events: {types: [%[3]q]}, to: %[1]s}}
`, name, echo.URL+"/"+marker, kind), 0o600))
	holdfast.run(t, "subscription", "apply", "-f", file)
	r := &receiver{name: name, eventType: kind}
	id := holdfast.send(t, uniqueID("msg"), `{"id":"`+entity+`","type":"`+kind+`","secret":"`+marker+`"}`)
	r.await(t, id, "failed")
	dead := holdfast.sent(t, uniqueID("msg"), `{signed, but no JSON: `+marker, "dead")
	broken := holdfast.sendTo(t, "broken", uniqueID("msg"), `{"type":"`+kind+`","id":"bad\n","secret":"`+marker+`"}`)
	letters := []string{}
	for _, event := range []string{id, dead, broken} {
		e := holdfast.awaitEvent(t, event, "a dead letter", func(e eventOf) bool { return len(e.DeadLetters) > 0 })
		letters = append(letters, "/console/dead-letters/"+number(e.DeadLetters[0].ID))
	}
	seeds := append([]string{
		"/console", "/console/events?type=" + kind, "/console/events/" + id, "/console/events/" + dead, "/console/events/" + broken,
		"/console/events/" + id + "?body=raw", "/console/dead-letters", "/console/dead-letters/list?type=" + kind,
		"/console/entities", "/console/entities/homemade/note/" + entity, "/console/destinations/" + name, "/console/operations",
		"/console/deliveries?subscription=" + name, "/console/events?delivery_status=failed",
		"/console/providers/homemade", "/console/providers/broken/try", "/console/audit", "/console/find?q=" + id,
		"/console/events?text=" + "m", "/console/dead-letters/replay?type=" + kind,
	}, letters...)
	about := append([]string{id, dead, broken, kind, entity, name, "/console/providers/homemade", "/console/operations"}, letters...)
	for _, role := range []access.Role{access.RoleViewer, access.RoleOperator} {
		pages, shown := walk(t, role, seeds, about), 0
		require.Greater(t, len(pages), len(seeds), "links were followed")
		for at, page := range pages {
			if strings.Contains(page, marker) {
				shown++
				require.NotEqual(t, access.RoleViewer, role, at)
			}
		}
		require.Equal(t, role == access.RoleOperator, shown > 0, "an operator sees it, so that it was there to be seen")
	}
}
