package providers

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/receiving"
)

// Slack's handshake is answered with its challenge; nothing else is a handshake.
func TestChallenge(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "slack", secretOfTests)
	reply, ok := p.Challenge(&auth.Request{Body: []byte(`{"type":"url_verification","challenge":"3eZbrw1a","token":"x"}`)}, clock)
	require.True(t, ok)
	require.Equal(t, receiving.Reply{Status: 200, ContentType: "text/plain; charset=utf-8", Body: []byte("3eZbrw1a")}, reply)
	for _, body := range []string{`{"type":"event_callback"}`, `{`, ``, `[]`,
		`{"type":"url_verification","challenge":"` + strings.Repeat("x", 5000) + `"}`} {
		_, ok := p.Challenge(&auth.Request{Body: []byte(body)}, clock)
		require.False(t, ok, body)
	}
}

// A question is answered even without a handler.
func TestQuestion(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "retell", secretOfTests)
	q, ok := p.Question("call_inbound")
	require.True(t, ok)
	require.Equal(t, "RETELL_INBOUND_URL", q.Handler)
	items, err := p.Split(&auth.Request{Body: []byte(`{"event":"call_inbound","call_inbound":{"from_number":"+1"}}`)})
	require.NoError(t, err)
	reply, err := q.Fallback(items[0].Receipt, items[0].Body)
	require.NoError(t, err)
	require.Equal(t, receiving.Reply{Status: 200, ContentType: "application/json", Body: []byte(`{"call_inbound":{}}`)}, reply)
	_, ok = p.Question("call_ended")
	require.False(t, ok)
}

func TestRepliesAndRates(t *testing.T) {
	t.Parallel()
	gocardless := providerOf(t, "gocardless")
	require.Equal(t, receiving.Replies{Accepted: 200, Duplicate: 200, Unauthentic: 498, TooLarge: 413, Invalid: 400, RateLimited: 429, Unavailable: 503},
		gocardless.Replies())
	require.Equal(t, receiving.Reply{Status: 204}, providerOf(t, "discord").Acknowledge(providerOf(t, "discord").Replies().Accepted, []byte(`{}`)))
	require.Equal(t, 202, providerOf(t, "stripe").Replies().Accepted)
	require.Equal(t, &receiving.Rate{Requests: 2000, Per: event.Duration(time.Minute)}, providerOf(t, "stripe").Rate())
	require.Nil(t, providerOf(t, "stripe").ClientRate())
	require.Equal(t, 30, providerOf(t, "rentprog").ClientRate().Requests)
}

// The rate configured for all providers applies to those whose definition has none:
//   - a definition's own rate takes precedence
//   - so does none, also if the definition that it extends has a rate
//   - a reload keeps it
func TestARateForAllProviders(t *testing.T) {
	t.Parallel()
	const own, none = "rate: {requests: 5, per: 1s}\n", "rate: none\n"
	dir := writeDefinitions(t, map[string]string{
		"acme.yaml": minimal, "own.yaml": "name: own\nextends: acme\n" + own, "none.yaml": "name: none\nextends: own\n" + none,
		"again.yaml": "name: again\nextends: own\nrate: null\n",
	})
	live, err := LoadLive(dir, nil, receiving.NewRate(100, time.Minute), nil)
	require.NoError(t, err)
	for range 2 {
		for name, want := range map[string]*receiving.Rate{
			"acme": receiving.NewRate(100, time.Minute), "own": receiving.NewRate(5, time.Second), "none": nil, "again": receiving.NewRate(100, time.Minute),
			"rentprog": nil, "stripe": receiving.NewRate(2000, time.Minute),
		} {
			p, ok := live.Lookup(name)
			require.True(t, ok, name)
			require.Equal(t, want, p.Rate(), name)
		}
		require.NoError(t, live.Reload(func(_, _ *Catalogue) error { return nil }))
	}
	for definition, mistake := range map[string]string{
		minimal + "source_rate: {requests: 1, per: 1s}\n": "needs a source",
		minimal + "rate: off\n":                           "want a map",
		minimal + "rate: {requests: 0, per: 1s}\n":        "want at least 1",
	} {
		_, err := loadOne(t, definition)
		require.ErrorContains(t, err, mistake)
	}
}

// An answer is empty, a text, XML or JSON, with the definition's status and content type. Invalid ones are found when the
// definition is loaded.
func TestAnswersHaveTheFormOfTheDefinition(t *testing.T) {
	t.Parallel()
	usual := []byte(`{"ok":true,"queued":true,"request_id":"<r>","events":[]}`)
	for replies, want := range map[string]receiving.Reply{
		`{accepted: 200}`:                                 {Status: 200, ContentType: "application/json", Body: usual},
		`{accepted: 204}`:                                 {Status: 204},
		`{accepted: 200, body: empty}`:                    {Status: 200},
		`{accepted: 200, body: 'null'}`:                   {Status: 200},
		`{accepted: 204, duplicate: 204, body: empty}`:    {Status: 204},
		`{body: '.ok', content_type: application/json}`:   {Status: 202, ContentType: "application/json", Body: []byte(`true`)},
		`{body: '"OK"'}`:                                  {Status: 202, ContentType: "application/json", Body: []byte(`"OK"`)},
		`{body: '"OK"', content_type: text/plain}`:        {Status: 202, ContentType: "text/plain", Body: []byte(`OK`)},
		`{body: '""', content_type: text/plain}`:          {Status: 202, ContentType: "", Body: []byte{}},
		`{body: '"<Response/>"', content_type: text/xml}`: {Status: 202, ContentType: "text/xml", Body: []byte(`<Response/>`)},
		`{body: '@html "<r id=''\(.request_id)''/>"', content_type: "application/xml; charset=utf-8"}`: {
			Status: 202, ContentType: "application/xml; charset=utf-8", Body: []byte(`<r id='&lt;r&gt;'/>`)},
	} {
		p := mustLoad(t, minimal+"\nreplies: "+replies+"\n")
		require.Equal(t, want, p.Acknowledge(p.Replies().Accepted, usual), replies)
	}
	for replies, reason := range map[string]string{
		`{body: '.events[0].outcome | ascii_upcase'}`:             "ascii_upcase cannot be applied to: null",
		`{body: '{a: 1}', content_type: text/plain}`:              "isn't text",
		`{body: '"<Response>"', content_type: text/xml}`:          "isn't well-formed XML",
		`{body: '"hello"', content_type: text/xml}`:               "isn't well-formed XML",
		`{body: '"<p/>"', content_type: text/html}`:               "must not be HTML",
		`{body: '"x"', content_type: xml}`:                        "invalid media type",
		`{content_type: text/xml}`:                                "needs replies.body",
		`{accepted: 204, body: '"x"', content_type: text/plain}`:  "gives a body",
		`{body: '"x" * 300000'}`:                                  "is too long",
		`{accepted: 200, body: '.', content_type: "text/plain;"}`: "isn't text",
	} {
		_, err := loadOne(t, minimal+"\nreplies: "+replies+"\n")
		require.ErrorContains(t, err, reason, replies)
	}
}

// The same applies to questions, and a handler's answer must be of the content type.
func TestAQuestionHasAForm(t *testing.T) {
	t.Parallel()
	question := func(fields string) *receiving.Question {
		p := mustLoad(t, minimal+"\nquestions: [{types: [x], "+fields+"}]\n")
		q, ok := p.Question("x")
		require.True(t, ok)
		return q
	}
	fallback := func(q *receiving.Question) (receiving.Reply, error) {
		return q.Fallback(event.Receipt{}, []byte(`{"name":"Ada"}`))
	}

	twiml := question(`fallback: '@html "<Response><Say>\(.body.name)</Say></Response>"', content_type: text/xml`)
	reply, err := fallback(twiml)
	require.NoError(t, err)
	require.Equal(t, receiving.Reply{Status: 200, ContentType: "text/xml", Body: []byte(`<Response><Say>Ada</Say></Response>`)}, reply)
	for body, ok := range map[string]bool{`<Response/>`: true, ``: true, `{"a":1}`: false, `<Response>`: false} {
		_, accepted := twiml.Answer([]byte(body))
		require.Equal(t, ok, accepted, body)
	}

	reply, err = fallback(question(`fallback: empty, status: 204`))
	require.NoError(t, err)
	require.Equal(t, receiving.Reply{Status: 204}, reply)
	_, err = fallback(question(`fallback: .body, content_type: text/plain`))
	require.Equal(t, "bad_answer", event.CodeOf(err))
	_, accepted := question(`fallback: empty`).Answer(nil)
	require.False(t, accepted, "an empty answer is no JSON")
}
