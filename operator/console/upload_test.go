package console_test

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/console"
)

// editor records edits.
type editor struct {
	api.SingleReplayer

	bodies []string
}

func (e *editor) EditAndReplay(_ context.Context, edit operation.Edit, _ oversight.Actor) (operation.Replayed, error) {
	e.bodies = append(e.bodies, string(edit.Body))
	return operation.Replayed{EventID: edit.EventID, Run: event.Run{RunID: "run"}}, nil
}

// A body is replaced by a form's text, with the line ends that it had, or by a file. A form with a file proves where it comes from
// like any other.
func TestABodyIsEditedInAFormOrAsAFile(t *testing.T) {
	t.Parallel()
	behind := &editor{}
	s := startWith(t, console.Options{API: &api.API{Events: &followed{}, SingleReplays: behind}})
	v := newVisitor(t)
	v.logIn(s, s.tokens[access.RoleOperator])
	_, page := v.get(s.url + "/console")
	proof := proofIn(t, page)
	path := s.url + "/console/events/" + replayed + "/edit"
	for ends, want := range map[string]string{"lf": "a\nb\n", "crlf": "a\r\nb\r\n", "cr": "a\rb\r", "": "a\nb\n"} {
		behind.bodies = nil
		form := url.Values{"csrf": proof["csrf"], "dead_letter": {"7"}, "ends": {ends}, "body": {"a\r\nb\r\n"}}
		res, _ := v.ask("POST", path, form)
		require.Equal(t, 303, res.StatusCode)
		require.Equal(t, []string{want}, behind.bodies, ends)
	}
	res, _ := v.ask("POST", path, url.Values{"csrf": proof["csrf"], "dead_letter": {"7"}, "ends": {"lfcr"}, "body": {"a"}})
	require.Equal(t, 400, res.StatusCode)

	behind.bodies = nil
	const file = "\xff\x00\r\n\n\r"
	require.Equal(t, 303, upload(t, v, path, map[string]string{"csrf": proof.Get("csrf"), "dead_letter": "7"}, file))
	require.Equal(t, []string{file}, behind.bodies)
	require.Equal(t, 403, upload(t, v, path, map[string]string{"dead_letter": "7"}, file))
	require.Equal(t, 403, upload(t, v, path, map[string]string{"csrf": "wrong", "dead_letter": "7"}, file))
	require.Equal(t, 403, upload(t, v, path+"?csrf="+proof.Get("csrf"), map[string]string{"dead_letter": "7"}, file))
	require.Equal(t, 400, upload(t, v, path, map[string]string{"csrf": proof.Get("csrf"), "dead_letter": "7"}, ""))
	require.Len(t, behind.bodies, 1)
}

// upload posts a form with a file, and returns the status of the answer.
func upload(t *testing.T, v visitor, path string, fields map[string]string, file string) int {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		require.NoError(t, form.WriteField(name, value))
	}
	part, err := form.CreateFormFile("file", "body.json")
	require.NoError(t, err)
	_, err = io.WriteString(part, file)
	require.NoError(t, err)
	require.NoError(t, form.Close())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, &body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := v.Do(request)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode
}
