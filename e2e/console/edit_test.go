package console

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// bodyOf downloads the body of an event.
func (s *stack) bodyOf(t *testing.T, id string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.operator+"/events/"+id+"/body", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+s.tokens[access.RoleAdmin])
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

// Bytes that a user doesn't edit stay as they were: line ends of either kind, with or without one at the end, tabs, spaces, and
// characters that HTML escapes or a page doesn't show. Browsers submit all line ends as CR LF.
func TestAnEditKeepsWhatIsNotEdited(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"{poison\n\t\"a\": 1,  \n}\n",
		"\n{poison\r\r",
		"{poison\r\n\t\"a\": \"&amp;</textarea><b>\u202e\u00a0\ufeff\f\x01\"\r\n\r\n",
		"\r\n{poison\r\n\t\"a\": 1}",
		"\n\n{poison",
	} {
		id := holdfast.sent(t, uniqueID("msg"), body, "dead")
		b := newBrowser(t).as(access.RoleOperator)
		b.open("/console/events/" + id + "/edit")
		if strings.Contains(body, "\r\r") {
			require.Zero(t, b.count("#new-body"), "it has line ends of several kinds")
			require.Contains(t, b.text(".flash"), "can't be edited here")
			b.requireAccessible()
			continue
		}
		do(b, chromedp.Evaluate[bool](`(() => { const f = document.getElementById("new-body");
			f.value = f.value.replace("poison", "poison,\nnew"); return true })()`))
		require.Equal(t, 200, b.submit("form.edit button.primary"))
		edited := strings.TrimPrefix(b.path(), "/console/events/")
		require.NotEqual(t, id, edited)
		end := "\n"
		if strings.Contains(body, "\r\n") {
			end = "\r\n"
		}
		require.Equal(t, strings.Replace(body, "poison", "poison,"+end+"new", 1), holdfast.bodyOf(t, edited))
	}
}

// A body that a form can't hold is edited as a file, of which every byte counts.
func TestABodyIsEditedAsAFile(t *testing.T) {
	t.Parallel()
	id := holdfast.sent(t, uniqueID("msg"), "{poison\xff\x00\r\n\n", "dead")
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/events/" + id)
	require.Equal(t, 200, b.submit(`a[href$="/edit"]`))
	require.Zero(t, b.count("#new-body"))
	require.Contains(t, b.text(".flash"), "it isn't text in UTF-8")
	require.Equal(t, 1, b.count(`a[href$="/raw"][download]`))
	b.requireAccessible()
	body := "{poison\xfe\x00\r\n\n\r" + strings.Repeat("0123456789", 300_000)
	file := filepath.Join(t.TempDir(), "body")
	require.NoError(t, os.WriteFile(file, []byte(body), 0o600))
	do(b, chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{file}))
	b.fill("#file-reason", "a file")
	require.Equal(t, 200, b.submit("#upload button"))
	edited := strings.TrimPrefix(b.path(), "/console/events/")
	require.NotEqual(t, id, edited)
	require.Equal(t, body, holdfast.bodyOf(t, edited))
	b.open("/console/events/" + id)
	require.Contains(t, b.page(), "a file")
}
