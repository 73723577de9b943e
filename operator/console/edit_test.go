package console

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/api"
	"holdfast/operator/console/frame"
)

// A form holds a body only if nothing but what the user edits changes: text, with line ends of one kind, of a bounded size.
func TestWhatAFormCanHold(t *testing.T) {
	t.Parallel()
	for body, ends := range map[string]string{
		"": "lf", "one line": "lf", "{\n\t\"a\": 1\n}\n": "lf", "{\r\n}\r\n": "crlf", "a\rb\r": "cr", "\n\nbegins": "lf",
	} {
		f := bodyFormOf([]byte(body))
		require.Equal(t, bodyForm{Text: body, Ends: ends}, f, body)
	}
	for body, says := range map[string]string{
		"a\xff": "isn't text", "a\x00b": "NUL", "a\r\nb\n": "several kinds", "a\rb\n": "several kinds", "a\r\n\r": "several kinds",
		strings.Repeat("<", maxFormBody/4+1): "too large", strings.Repeat("a", maxFormBody+1): "too large",
	} {
		f := bodyFormOf([]byte(body))
		require.Contains(t, f.Unfit, says)
		require.Empty(t, f.Text)
	}
}

// The form with the largest body is below the limit of a page, and holds each character once: a parser reads back the body.
func TestTheFormOfABodyIsSmall(t *testing.T) {
	t.Parallel()
	c := New(Options{API: &api.API{}})
	draw := func(body string) []byte {
		data := editPage{DeadLetter: api.DeadLetterView{ID: 7}, Form: bodyFormOf([]byte(body))}
		page, err := c.Fragment("edit", "layout.html", frame.View{Page: frame.Page{Data: data}})
		require.NoError(t, err)
		return page
	}
	page := draw(strings.Repeat(`{"id":"1"},`, maxFormBody/11))
	require.Greater(t, len(page), maxFormBody)
	require.Less(t, len(page), 95_000, "the navigation comes on top")
	page = draw("\n</textarea><script>\u202e&lt;\"\t'")
	require.True(t, bytes.Contains(page, []byte(">\n\n&lt;/textarea&gt;&lt;script&gt;\u202e&amp;lt;\"\t'</textarea>")), string(page))
	page = draw("\x00")
	require.NotContains(t, string(page), "<textarea")
	require.Contains(t, string(page), "Download it, edit the file and upload it.")
}
