package delivery_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/providers/jq"
)

func message(body string) delivery.Message {
	return delivery.Message{
		Receipt: event.Receipt{
			ID: "0193", Provider: "acme", Source: "eu", Key: "evt_1", ReceivedAt: time.Date(2026, 11, 22, 13, 0, 0, 5e6, time.FixedZone("", 3600)),
			Headers: map[string]string{"content-type": "application/json; charset=utf-8"}, Query: map[string]string{"q": "1"},
			Path: map[string]string{"tenant": "t7"}, Root: json.RawMessage(`{"entry":[]}`),
		},
		Type: "thing.changed", OccurredAt: time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC), Body: []byte(body),
	}
}

// Every part of an event that a filter or a form can name.
func TestTheInputOfExpressions(t *testing.T) {
	t.Parallel()
	in := message(`{"id": 12345678901234567890, "a": {"b": [1.10]}}`).Input()
	for source, want := range map[string]string{
		`.event`: `{"id":"0193","key":"evt_1","occurred_at":"2026-11-22T11:00:00Z","provider":"acme",` +
			`"received_at":"2026-11-22T12:00:00.005Z","source":"eu","type":"thing.changed","workflow_id":"acme:evt_1"}`,
		`.body.id`: `12345678901234567890`, `.body.a.b[0]`: `1.10`, `.query.q`: `"1"`, `.path.tenant`: `"t7"`,
		`.headers["content-type"]`: `"application/json; charset=utf-8"`, `$root`: `{"entry":[]}`,
	} {
		x, err := jq.Compile("x", source)
		require.NoError(t, err)
		v, err := x.Once(in)
		require.NoError(t, err)
		text, err := jq.Marshal(v, 10_000)
		require.NoError(t, err)
		require.JSONEq(t, want, string(text), source)
	}
}

// The body is null where it is neither JSON nor a form; a form is one by its content type alone.
func TestBodiesThatAreNoObjects(t *testing.T) {
	t.Parallel()
	form := message(`From=%2B49&n=1&n=2`)
	require.Nil(t, form.Input().Value["body"])
	form.Receipt.Headers = map[string]string{"content-type": "application/x-www-form-urlencoded"}
	require.Equal(t, map[string]any{"From": "+49", "n": []any{"1", "2"}}, form.Input().Value["body"])
	require.Equal(t, map[string]any{}, message("\xef\xbb\xbf{}").Input().Value["body"], "a byte order mark isn't a part of it")
	require.Equal(t, []any{json.Number("1")}, message(`[1]`).Input().Value["body"])
	for _, body := range []string{"", "hello", "{", "\xff"} {
		require.Nil(t, message(body).Input().Value["body"], body)
	}
}

func TestTheEnvelopeContainsTheBody(t *testing.T) {
	t.Parallel()
	for body, data := range map[string]string{
		`{"n": 1.10, "big": 12345678901234567890, "html": "<&>"}`: `{"n":1.10,"big":12345678901234567890,"html":"<&>"}`,
		"\xef\xbb\xbf{\"n\":1}":                                   `{"n":1}`,
		`[1]`:                                                     `[1]`, `a=b`: `"YT1i"`, "": `""`, "{\"a\":\"\xff\"}": `"eyJhIjoi/yJ9"`,
	} {
		got, err := message(body).Envelope()
		require.NoError(t, err)
		require.Equal(t, `{"id":"0193","type":"thing.changed","provider":"acme","source":"eu","occurred_at":"2026-11-22T11:00:00Z",`+
			`"received_at":"2026-11-22T12:00:00.005Z","key":"evt_1","data":`+data+`}`, string(got))
	}
}

func TestAPossibleDuplicateNamesTheFirstEvent(t *testing.T) {
	t.Parallel()
	m := message(`{}`)
	m.PossibleDuplicateOf = "0192"
	envelope, err := m.Envelope()
	require.NoError(t, err)
	require.Contains(t, string(envelope), `"key":"evt_1","possible_duplicate_of":"0192","data":{}`)
	x, err := jq.Compile("x", `.event.possible_duplicate_of`)
	require.NoError(t, err)
	v, err := x.Once(m.Input())
	require.NoError(t, err)
	require.Equal(t, "0192", v)
}
