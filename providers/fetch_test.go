package providers

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

const thin = `
name: thin
secrets: THIN_SECRET
auth: [{token: {name: x-token}}]
type: .body.type
key: {parts: [.body.id]}
occurred_at: [{expr: .body.at, units: [rfc3339]}]
api:
  host: api.thin.example.com
  headers: {authorization: "Bearer {THIN_KEY}"}
  rate: {requests: 5, per: 1s}
fetch:
  - {types: ["a.*"], path: "/things/{id}", values: {id: .body.thing}, answer: thing, gone: delete}
  - {types: ["b.*"], path: "/things/{id}", values: {id: .body.thing}, answer: thing}
entities:
  - {kind: thing, fetched: true, id: .body.thing, op: snapshot, state: .fetched}
  - {kind: thing, id: .body.thing, op: patch, state: '{named: true}'}
`

// A fetched state has the order of its request, and what is gone is deleted or left alone, as the definition says.
func TestAFetchedStateIsOrderedByItsRequest(t *testing.T) {
	t.Parallel()
	catalogue, err := Load(writeDefinitions(t, map[string]string{"thin.yaml": thin}))
	require.NoError(t, err)
	p, ok := catalogue.Lookup("thin")
	require.True(t, ok)
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	parse := func(body string, f *event.Fetched) event.Parsed {
		r := event.Receipt{ID: "e", Provider: "thin", Key: "k", KeyFrom: event.KeyFromEvent, ReceivedAt: at, Fetched: f}
		parsed, err := p.Parse(r, []byte(body))
		require.NoError(t, err)
		return parsed
	}
	const a, b = `{"id":"1","type":"a.changed","thing":"t1","at":"2026-11-26T11:00:00Z"}`, `{"id":"1","type":"b.changed","thing":"t1","at":"2026-11-26T11:00:00Z"}`

	alone := parse(a, nil)
	require.Equal(t, "GET api.thin.example.com/things/{id}", alone.Fetch.From)
	require.JSONEq(t, `{"named":true}`, string(alone.Changes[0].State), "without a state, the event is processed as it came")
	require.Equal(t, at.Add(-time.Hour), event.OrderOf(event.Receipt{}, alone, alone.Changes[0]).OccurredAt)

	with := parse(a, &event.Fetched{At: at.Add(time.Minute), State: json.RawMessage(`{"credit":7}`)})
	require.Nil(t, with.Fetch)
	require.Len(t, with.Changes, 1)
	require.JSONEq(t, `{"credit":7}`, string(with.Changes[0].State))
	require.Equal(t, at.Add(time.Minute), event.OrderOf(event.Receipt{}, with, with.Changes[0]).OccurredAt)
	require.Equal(t, at.Add(-time.Hour), with.OccurredAt, "the event's own time stays")

	gone := &event.Fetched{At: at.Add(time.Minute), Gone: true}
	require.Equal(t, event.OpDelete, parse(a, gone).Changes[0].Op)
	require.Equal(t, event.OpPatch, parse(b, gone).Changes[0].Op)
	require.Nil(t, parse(`{"id":"1","type":"a.changed"}`, nil).Fetch, "it names nothing")
	require.Nil(t, parse(`{"id":"1","type":"c.changed","thing":"t1"}`, nil).Fetch)
}

// What a fetched state names is fetched next, until a state is missing or names nothing.
func TestAStateLeadsToTheNext(t *testing.T) {
	t.Parallel()
	const chain = `values: {id: .body.thing}, answer: thing, gone: delete,
     also: [{name: owner, path: "/owners/{id}", values: {id: .fetched.owner}}, {name: town, path: "/towns/{id}", values: {id: .also.owner.town}}]}`
	text := strings.Replace(thin, "values: {id: .body.thing}, answer: thing, gone: delete}", chain, 1)
	text = strings.Replace(text, "state: .fetched}", "state: '{thing: .fetched, also: .also}'}", 1)
	catalogue, err := Load(writeDefinitions(t, map[string]string{"thin.yaml": text}))
	require.NoError(t, err)
	p, _ := catalogue.Lookup("thin")
	body := []byte(`{"id":"1","type":"a.changed","thing":"t1"}`)
	for _, c := range []struct{ states, next, value, state string }{
		{"", "GET api.thin.example.com/things/{id}", "t1", `{"named":true}`},
		{`{"owner":"o1"}`, "GET api.thin.example.com/owners/{id}", "o1", `{"thing":{"owner":"o1"},"also":{}}`},
		{"{\n\"owner\":\"o1\"\n}\n\n{\"town\":7}", "GET api.thin.example.com/towns/{id}", "7", `{"thing":{"owner":"o1"},"also":{"owner":{"town":7}}}`},
		{`{"owner":"o1"}` + "\n" + `{"town":7}` + "\nnull", "", "", `{"thing":{"owner":"o1"},"also":{"owner":{"town":7},"town":null}}`},
		{`{"owner":"o1"}` + "\nnull", "", "", `{"thing":{"owner":"o1"},"also":{"owner":null}}`},
		{`{"owner":null}`, "", "", `{"thing":{"owner":null},"also":{}}`},
		{`{"owner":"o1"}` + "\n{}\n2\n3", "", "", `{"thing":{"owner":"o1"},"also":{"owner":{},"town":2}}`},
	} {
		r := event.Receipt{ID: "e", Provider: "thin", Key: "k", KeyFrom: event.KeyFromEvent}
		if c.states != "" {
			r.Fetched = &event.Fetched{State: []byte(c.states)}
		}
		parsed, err := p.Parse(r, body)
		require.NoError(t, err, c.states)
		require.JSONEq(t, c.state, string(parsed.Changes[0].State))
		of, values, err := p.FetchOf(r, body)
		require.NoError(t, err)
		if c.next == "" {
			require.Nil(t, parsed.Fetch)
			require.Nil(t, of)
			continue
		}
		require.Equal(t, []string{c.next, c.next}, []string{parsed.Fetch.From, of.String()})
		require.Equal(t, map[string]string{"id": c.value}, values)
	}
}

// A rule that needs a state which isn't fetched yet doesn't fail: until then, the event is as without any.
func TestARuleMayNeedTheLastState(t *testing.T) {
	t.Parallel()
	text := strings.Replace(thin, "answer: thing, gone: delete}",
		`answer: thing, also: [{name: owner, path: "/owners/{id}", values: {id: .fetched.owner}}]}`, 1)
	text = strings.Replace(text, "state: .fetched}", "state: .also.owner}", 1)
	catalogue, err := Load(writeDefinitions(t, map[string]string{"thin.yaml": text}))
	require.NoError(t, err)
	p, _ := catalogue.Lookup("thin")
	r := event.Receipt{ID: "e", Provider: "thin", Key: "k", KeyFrom: event.KeyFromEvent}
	body := []byte(`{"id":"1","type":"a.changed","thing":"t1"}`)
	r.Fetched = &event.Fetched{State: []byte(`{"owner":"o1"}`)}
	parsed, err := p.Parse(r, body)
	require.NoError(t, err)
	require.Equal(t, "GET api.thin.example.com/owners/{id}", parsed.Fetch.From)
	require.JSONEq(t, `{"named":true}`, string(parsed.Changes[0].State))
	both := r.Fetched.And([]byte(`{"name":"Ada"}`))
	r.Fetched = &both
	parsed, err = p.Parse(r, body)
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"Ada"}`, string(parsed.Changes[0].State))
}

// An ID that could change more of the path than its place is refused.
func TestAnInvalidIDIsNotFetched(t *testing.T) {
	t.Parallel()
	catalogue, err := Load(writeDefinitions(t, map[string]string{"thin.yaml": thin}))
	require.NoError(t, err)
	p, _ := catalogue.Lookup("thin")
	for _, id := range []string{"..", ".", "a/b", "a?b", "a%2fb", "a b", "a#b", "ä"} {
		body, err := json.Marshal(map[string]string{"id": "1", "type": "a.changed", "thing": id})
		require.NoError(t, err)
		_, err = p.Parse(event.Receipt{ID: "e", Provider: "thin", KeyFrom: event.KeyFromEvent}, body)
		require.Equal(t, event.ClassRejected, event.ClassOf(err), id)
		require.Equal(t, "bad_fetch_value", event.CodeOf(err), id)
	}
}

// With its API, GoCardless's events lead to the customer, the mandate and the amount: what a membership system reads.
func TestAMembershipReadsCustomerMandateAndAmount(t *testing.T) {
	t.Parallel()
	catalogue, err := Load("")
	require.NoError(t, err)
	p, _ := catalogue.Lookup("gocardless")
	parse := func(body, state string) map[string]event.Change {
		parsed, err := p.Parse(event.Receipt{
			ID: "e", Provider: "gocardless", KeyFrom: event.KeyFromEvent, Root: json.RawMessage(`{}`),
			Fetched: &event.Fetched{At: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), State: json.RawMessage(state)},
		}, []byte(body))
		require.NoError(t, err)
		changes := map[string]event.Change{}
		for _, c := range parsed.Changes {
			changes[c.Kind] = c
		}
		return changes
	}
	const mandate = `{"id":"MD1","reference":"R1","scheme":"bacs","status":"active","links":{"customer":"CU1"}}`
	paid := parse(`{"id":"EV1","resource_type":"payments","action":"confirmed","links":{"payment":"PM1"}}`,
		`{"id":"PM1","amount":1500,"currency":"GBP","status":"confirmed","charge_date":"2026-11-26","links":{"mandate":"MD1"}}`+"\n"+mandate)
	require.JSONEq(t, `{"amount":1500,"currency":"GBP","status":"confirmed","charge_date":"2026-11-26","mandate":"MD1","customer":"CU1"}`,
		string(paid["transaction"].State))
	require.Equal(t, "CU1", paid["member"].ExternalID)
	require.JSONEq(t, `{"customer":"CU1","mandates":{"MD1":{}}}`, string(paid["member"].State))
	ended := parse(`{"id":"EV3","resource_type":"subscriptions","action":"cancelled","links":{"subscription":"SB1"}}`,
		`{"id":"SB1","status":"cancelled","links":{"mandate":"MD1"}}`+"\n"+mandate)["member"]
	require.Equal(t, "CU1", ended.ExternalID)
	require.JSONEq(t, `{"customer":"CU1","status":"cancelled","mandates":{"MD1":{}},"subscriptions":{"SB1":{"status":"cancelled"}}}`,
		string(ended.State))
	member := parse(`{"id":"EV2","resource_type":"mandates","action":"created","links":{"mandate":"MD1"}}`,
		mandate)["member"]
	require.Equal(t, "CU1", member.ExternalID)
	require.JSONEq(t, `{"customer":"CU1","status":"created","mandates":{"MD1":{"status":"created"}}}`, string(member.State))
}
