package console

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// An entity shows its current and past states, what each change did, and the event behind each field.
func TestAnEntityShowsItsLife(t *testing.T) {
	t.Parallel()
	id := uniqueID("note/1") // a slash is a part of the ID
	first := holdfast.sent(t, uniqueID("evt"), fmt.Sprintf(`{"id":%q,"title":"a","n":1.10}`, id), "processed")
	between := time.Now().UTC()
	second := holdfast.sent(t, uniqueID("evt"), fmt.Sprintf(`{"id":%q,"n":12345678901234567890}`, id), "processed")

	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/entities?provider=homemade&kind=note&prefix=" + url.QueryEscape(id))
	require.Equal(t, 1, b.count("tbody tr"))
	b.requireAccessible()
	b.submit("tbody a")
	require.Equal(t, "note "+id+" · Holdfast", b.title())
	require.Contains(t, b.text("#text"), "12345678901234567890")
	require.Equal(t, 1, b.count(`#origins + .scroll a[href="/console/events/`+second+`"]`), "it gave n its value")
	require.Equal(t, 2, b.count(`#origins + .scroll a[href="/console/events/`+first+`"]`), "it gave id and title theirs")
	require.Equal(t, "1.10", b.text("#timeline + .scroll del"))
	b.requireAccessible()

	b.fill("#as_of", between.Format(time.RFC3339Nano))
	b.submit(".filters button")
	require.Contains(t, b.text("#text"), "1.10")
	require.NotContains(t, b.page(), "12345678901234567890")
	require.Equal(t, 1, b.count("#timeline + .scroll tbody tr"))

	viewer := newBrowser(t).withoutScripts().as(access.RoleViewer)
	viewer.open("/console/entities/homemade/note/" + url.PathEscape(id))
	require.Contains(t, viewer.page(), "viewers can't see the state")
	require.NotContains(t, viewer.page(), "1.10", "its definition hides something, so viewers see no state and no difference")
	require.Equal(t, 404, viewer.open("/console/entities/homemade/note/nothing"))
}

func TestEntitiesAreFoundByWhenTheyChanged(t *testing.T) {
	t.Parallel()
	id := uniqueID("changed")
	holdfast.sent(t, uniqueID("evt"), fmt.Sprintf(`{"id":%q}`, id), "processed")
	b := newBrowser(t).as(access.RoleViewer)
	b.open("/console/entities?provider=homemade&kind=note&since=10m&prefix=" + id)
	require.Contains(t, b.page(), id)
	require.Equal(t, 400, b.open("/console/entities?kind=note"), "a kind is one of a provider")
}

func TestTheAuditLogIsSearched(t *testing.T) {
	t.Parallel()
	letter := bury(t, uniqueID("audited"), 1)[0]
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/dead-letters/" + letter + "/discard")
	b.fill("#reason", "for the log")
	b.submit(".confirm button")
	b.open("/console/audit")
	b.requireAccessible()
	b.fill("#object", "dead_letter:"+letter)
	b.submit(".filters button")
	require.Equal(t, 1, b.count("tbody tr"))
	require.Contains(t, b.text("tbody"), "the-operator")
	require.Contains(t, b.text("tbody"), "for the log")
	b.open("/console/audit?object=dead_letter:" + letter + "&action=dead_letter.reopen")
	require.Contains(t, b.page(), "No audit entries match these filters")
	viewer := newBrowser(t).as(access.RoleViewer)
	require.Equal(t, 403, viewer.open("/console/audit"))
	require.NotContains(t, viewer.text(".top"), "Audit")
}
