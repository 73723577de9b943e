package lint

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
)

// Any pasted format is parsed: a command, a raw HTTP request, headers and a body, or the body alone.
func TestPastedRequestsAreRead(t *testing.T) {
	t.Parallel()
	const body = `{"id":"evt_1","name":"O'Neill"}`
	for name, text := range map[string]string{
		"HTTP":           "POST /webhooks/stripe?x=1 HTTP/1.1\r\nHost: hooks.example.com\r\nX-Sig: a=1, b\r\n\r\n" + body,
		"headers":        "Host: hooks.example.com\nX-Sig: a=1, b\n\n" + body,
		"a command":      "curl -sS -XPOST 'https://hooks.example.com/webhooks/stripe?x=1' \\\n -H 'X-Sig: a=1, b' -d '{\"id\":\"evt_1\",\"name\":\"O'\\''Neill\"}'",
		"double quotes":  `curl https://hooks.example.com/webhooks/stripe?x=1 -H "X-Sig: a=1, b" --data-raw "{\"id\":\"evt_1\",\"name\":\"O'Neill\"}"`,
		"from a browser": `curl 'https://hooks.example.com/webhooks/stripe?x=1' -H 'X-Sig: a=1, b' --data-binary $'{"id":"evt_1","name":"O\u0027Neill"}' --compressed`,
		"the body alone": body,
	} {
		p, err := ReadPasted("\n" + text)
		require.NoError(t, err, name)
		require.Equal(t, body, strings.TrimSpace(string(p.Body)), name)
		if name == "the body alone" {
			continue
		}
		require.Equal(t, []string{"a=1, b"}, p.Header["x-sig"], name)
		if name != "headers" {
			require.True(t, strings.HasSuffix(p.URL, "/webhooks/stripe?x=1"), name)
		}
	}
	form, err := ReadPasted(`curl localhost -u gateway:pass -d a=1 -d b=2`)
	require.NoError(t, err)
	require.Equal(t, "a=1&b=2", string(form.Body))
	require.Equal(t, []string{"application/x-www-form-urlencoded"}, form.Header["content-type"])
	require.Equal(t, []string{"Basic Z2F0ZXdheTpwYXNz"}, form.Header["authorization"])
}

func TestUnreadableEventsSayWhy(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		" \n": "there is nothing in it", "hello": "its headers can't be read", "curl 'x": "is not closed",
		"curl x -d @body.json": "the body is in a file", "curl x --proxy y": "--proxy of curl is not known here", "curl x -H": "lacks its value",
		"curl x -H nothing": "'Name: value'", "curl x -d $'\\": "is not closed", "A: b\n c: d\x00\n\n{}": "its headers can't be read",
	} {
		_, err := ReadPasted(text)
		require.ErrorContains(t, err, why, text)
	}
	stripe := providerOf(t, "stripe", secretOfTests)
	catalogue := catalogueOf(t, secretOfTests)
	elsewhere, err := Pasted{URL: "/webhooks/github"}.Request(catalogue, stripe, "")
	require.NoError(t, err, "a proxy may have rewritten the path")
	require.Contains(t, Explain(stripe, elsewhere, time.Now()).Elsewhere, "is none of stripe, which has: /webhooks/stripe;")
	_, err = Pasted{URL: "http://[x"}.Request(catalogue, stripe, "")
	require.ErrorContains(t, err, "its URL can't be parsed")
}

// A form changes line ends. A body that is authentic with other line ends is authentic.
func TestAPastedBodyIsTakenAsItWasSigned(t *testing.T) {
	t.Parallel()
	p, catalogue := providerOf(t, "stripe", secretOfTests), catalogueOf(t, secretOfTests)
	for sent, as := range map[string]string{
		"{\n\"id\":\"evt_1\"}\n": "unchanged", "{\n\"id\":\"evt_1\"}": "without the final newline",
		"{\r\n\"id\":\"evt_1\"}": "with CRLF line endings",
	} {
		r := &auth.Request{Body: []byte(sent), Header: map[string][]string{}}
		require.NoError(t, p.Sign(r, secretOfTests, clock))
		text := "stripe-signature: " + r.Header["stripe-signature"][0] + "\n\n" + strings.ReplaceAll(sent, "\r\n", "\n")
		if as == "without the final newline" {
			text += "\n"
		}
		pasted, err := ReadPasted(strings.ReplaceAll(text, "\n", "\r\n"))
		require.NoError(t, err)
		request, err := pasted.Request(catalogue, p, "")
		require.NoError(t, err)
		e, taken := ExplainPasted(p, request, clock)
		require.Empty(t, e.Refused, "%q", sent)
		require.Equal(t, as, taken)
		e, _ = ExplainPasted(p, request, clock.Add(time.Hour))
		require.Equal(t, denial.StaleTimestamp, e.Refused)
	}
}

// No text makes the parser hang or crash.
func FuzzPasted(f *testing.F) {
	for _, seed := range []string{"curl -d $'\\x", `curl "\`, "POST / HTTP/1.1\n\n", "A: b\n\nc", "curl -H"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) { _, _ = ReadPasted(text) })
}
