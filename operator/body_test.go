package operator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api"
)

// bodyOfStub is a stub whose event and dead letter have a body of their own.
type bodyOfStub struct {
	*stub

	content []byte
}

func (s *bodyOfStub) Event(context.Context, string) (event.Record, error) {
	r := someRecord()
	r.Body = s.content
	return r, nil
}

func (s *bodyOfStub) DeadLetter(context.Context, int64) (event.DeadLetter, error) {
	d := someLetter()
	d.Body = s.content
	return d, nil
}

// Responses have the first 64 KiB of a body, cut between two characters; the whole is downloaded:
//   - exactly as received for operators, also if it is no text
//   - without what the definition hides for viewers, who get nothing of a body that can't be redacted
func TestResponsesHaveTheBeginningOfABody(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	behind := &bodyOfStub{stub: &stub{}}
	a := behind.api()
	a.Events, a.DeadLetters = behind, behind
	_, base := serve(t, operator.Options{API: a, Tokens: tokens})
	show := func(role access.Role, path string) (shown api.Content) {
		t.Helper()
		r := ask(t, "GET", base+path, "", bearer(texts[role])...)
		require.Equal(t, 200, r.status, string(r.body))
		var detail struct{ Body api.Content }
		require.NoError(t, json.Unmarshal(r.body, &detail))
		return detail.Body
	}
	download := func(role access.Role) reply {
		t.Helper()
		return ask(t, "GET", base+"/events/"+someID+"/body", "", bearer(texts[role])...)
	}
	wide := strings.Repeat("ü", 50_000) // two bytes each: a cut after 64 KiB of bytes would split one
	for name, content := range map[string]string{
		"JSON": `{"card":"4242","name":"` + wide + `"}`, "text": "x" + wide, "binary": strings.Repeat("\xff\x00", 50_000),
	} {
		behind.content = []byte(content)
		for _, path := range []string{"/events/" + someID, "/dead-letters/7"} {
			shown := show(access.RoleOperator, path)
			require.True(t, shown.Truncated, name)
			require.Equal(t, content[:64<<10], string(shown.Raw), name)
			require.Equal(t, len(content), shown.Size, name)
			require.Empty(t, shown.JSON, name)
			require.True(t, utf8.ValidString(shown.Text), name)
			require.True(t, strings.HasPrefix(content, shown.Text), name)
			require.Equal(t, name == "binary", shown.Text == "", name)

			viewed := show(access.RoleViewer, path)
			require.Equal(t, name == "JSON", viewed.Truncated, name)
			require.Empty(t, viewed.Raw, name)
			require.NotContains(t, viewed.Text, "4242", name)
			require.Equal(t, name == "JSON", strings.Contains(viewed.Text, "[redacted]"), name)
		}
		r := download(access.RoleOperator)
		require.Equal(t, 200, r.status, name)
		require.True(t, bytes.Equal([]byte(content), r.body), name)
		require.Contains(t, r.header.Get("Content-Disposition"), "attachment", name)
		require.Equal(t, "application/octet-stream", r.header.Get("Content-Type"), name)

		r = download(access.RoleViewer)
		if name != "JSON" {
			require.Equal(t, 403, r.status, name)
			continue
		}
		require.Equal(t, 200, r.status, name)
		require.Contains(t, string(r.body), `"card":"[redacted]"`)
		require.Greater(t, len(r.body), 100_000)
	}
	behind.content = []byte(`{"card":"4242","name":"Ada"}`)
	require.False(t, show(access.RoleOperator, "/events/"+someID).Truncated)
	require.JSONEq(t, string(behind.content), string(show(access.RoleOperator, "/events/"+someID).JSON))
}
