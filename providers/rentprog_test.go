package providers

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/reading"
)

// rentprogRequest returns a RentProg request: the payload is a string in Ruby's notation.
func rentprogRequest(t testing.TB, p *Provider, eventType, payload string, headers ...string) *auth.Request {
	t.Helper()
	text, err := json.Marshal(payload)
	require.NoError(t, err)
	r := &auth.Request{Method: "POST", Path: p.Paths()[0], Header: map[string][]string{}, Body: []byte(
		`{"event":"` + eventType + `","payload":` + string(text) + `}`)}
	for i := 0; i < len(headers); i += 2 {
		r.Header[headers[i]] = []string{headers[i+1]}
	}
	require.NoError(t, p.SignWithSecrets(r, clock))
	require.NoError(t, p.Authenticate(r, clock))
	return r
}

func splitOne(t testing.TB, p *Provider, r *auth.Request) reading.Item {
	t.Helper()
	items, err := p.Split(r)
	require.NoError(t, err)
	require.Len(t, items, 1)
	return items[0]
}

// A RentProg event is identified by its three IDs, its time and its bytes together: two events can share any one of them. If
// all are equal, it is the same event.
func TestRentprogKeyIsAllThatTellsEventsApart(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "rentprog", secretOfTests)
	one, two := `{"id"=>1, "mileage"=>[1, 2]}`, `{"id"=>2, "mileage"=>[1, 2]}`
	all := []string{"x-webhook-id", "w", "x-event-id", "e", "x-delivery-id", "d", "x-timestamp", "1"}
	keys := map[string]int{}
	for i, c := range []struct {
		payload string
		headers []string
	}{
		{one, nil}, {two, nil}, {one, all}, {two, all}, {one, all[:2]}, {two, all[:2]}, {one, all[:4]}, {one, all[:6]},
		{one, []string{"timestamp", "1", "x-event-id", "e"}}, {one, []string{"x-event-id", "w"}}, {one, append([]string{"x-timestamp", "2"}, all[:6]...)},
	} {
		key := splitOne(t, p, rentprogRequest(t, p, "car_update", c.payload, c.headers...)).Key
		require.Equal(t, key, splitOne(t, p, rentprogRequest(t, p, "car_update", c.payload, c.headers...)).Key)
		require.NotContains(t, keys, key, "event %d has the key of event %d", i, keys[key])
		keys[key] = i
	}
}

// A car that moves to another branch names both, and keeps the original one.
func TestRentprogBranchChangeNamesBothBranches(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "rentprog", secretOfTests)
	for payload, want := range map[string]struct {
		change   string
		state    string
		branches []string
	}{
		`{"id"=>7, "company_id"=>[9001, 9002]}`: {"company_id: 9001 → 9002",
			`{"action":"update","id":7,"company_id":9002,"previous_company_id":9001}`, []string{"9002", "9001"}},
		`{"id"=>7, "company_id"=>[nil, 9002]}`: {"company_id: null → 9002", `{"action":"update","id":7,"company_id":9002}`, []string{"9002"}},
		`{"id"=>7, "company_id"=>9002}`:        {"update", `{"action":"update","id":7,"company_id":9002}`, []string{"9002"}},
	} {
		item := splitOne(t, p, rentprogRequest(t, p, "car_update", payload))
		parsed, err := p.Parse(receiptOfTest(p, item), item.Body)
		require.NoError(t, err)
		require.Equal(t, "car", parsed.Changes[0].Kind)
		require.JSONEq(t, strings.TrimSuffix(want.state, "}")+
			`,"last_event":{"name":"car_update","branch":9002,"actor_id":null,"description":"`+want.change+`"}}`,
			string(parsed.Changes[0].State))
		var branches []string
		for _, c := range parsed.Changes {
			if c.Kind == "branch" {
				branches = append(branches, c.ExternalID)
			}
		}
		require.Equal(t, want.branches, branches)
	}
}

// An unreadable event keeps the type next to it, by which operators find the dead letter.
func TestMalformedRubyKeepsTheType(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "rentprog", secretOfTests)
	item := splitOne(t, p, rentprogRequest(t, p, "booking_update", `{"id"=>1, "note"=>"cut off`, "x-event-id", "e1"))
	require.Equal(t, "booking_update", item.Type)
	require.True(t, strings.HasPrefix(item.Key, ":e1:"), item.Key)
	_, err := p.Parse(receiptOfTest(p, item), item.Body)
	require.Equal(t, "malformed_ruby", event.CodeOf(err))
	require.Equal(t, event.ClassRejected, event.ClassOf(err))
}

// RentProg's old endpoints named the fields of their answer like this.
func TestRentprogReply(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "rentprog", secretOfTests)
	reply := p.Acknowledge(200, []byte(
		`{"ok":true,"queued":true,"request_id":"r","duration_ms":3,"events":[{"event_hash":"0123456789ab"}]}`))
	require.JSONEq(t, `{"ok":true,"queued":true,"request_id":"r","duration_ms":3,"events":[{"event_hash":"0123456789ab"}],
		"event_hash":"0123456789ab","syncMs":3}`, string(reply.Body))
}

// A body of the wrong shape is a dead letter, not an event without changes:
//   - without an event, without a payload, with one that isn't an object, and with one that names nothing
//   - an event of a kind that has no entity is processed
func TestRentprogRejectsTheWrongShape(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "rentprog", secretOfTests)
	for body, code := range map[string]string{
		`{}`:                                                     "missing_type",
		`[]`:                                                     "not_object",
		`{"payload":"{\"id\"=>1}"}`:                              "missing_type",
		`{"event":7,"payload":{"id":1}}`:                         "missing_type",
		`{"event":"car_update"}`:                                 "bad_state",
		`{"event":"car_update","payload":null}`:                  "bad_state",
		`{"event":"car_update","payload":"7"}`:                   "bad_state",
		`{"event":"car_update","payload":[]}`:                    "bad_state",
		`{"event":"car_update","payload":{}}`:                    "bad_state",
		`{"event":"car_update","payload":{"id":{}}}`:             "bad_state",
		`{"event":"car_update","payload":{"id":"x"}}`:            "bad_state",
		`{"event":"car_update","payload":"{\"id\"=>#<Object>}"}`: "bad_state",
		`{"event":"car_update","payload":"oops"}`:                "bad_state",
		`{"event":"car_update","payload":"{\"id\"=>1, \"note\"=>\"cut off"}`: "malformed_ruby",
		`{"event":"invoice_create"}`:                                         "bad_state",
		`{"event":"invoice_create","payload":{"id":7}}`:                      "",
		`{"event":"car_update","payload":{"id":"7"}}`:                        "",
	} {
		r := rentprogRequest(t, p, "", "")
		r.Body = []byte(body)
		item := splitOne(t, p, r)
		_, err := p.Parse(receiptOfTest(p, item), item.Body)
		if code == "" {
			require.NoError(t, err, body)
			continue
		}
		require.Equal(t, code, event.CodeOf(err), body)
	}
}

// Notes of a previous system about an event are imported with it.
func TestRentprogKeepsTheNotesOfAnEvent(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "rentprog", secretOfTests)
	item := splitOne(t, p, rentprogRequest(t, p, "booking_create", `{"id"=>1, "company_id"=>9001, "user_id"=>12}`,
		"x-branch", "tbilisi", "x-actor-id", "77", "x-description", "Новая бронь"))
	parsed, err := p.Parse(receiptOfTest(p, item), item.Body)
	require.NoError(t, err)
	states := map[string]string{}
	for _, c := range parsed.Changes {
		states[c.Kind+" "+c.ExternalID] = string(c.State)
	}
	require.JSONEq(t, `{"action":"create","id":1,"company_id":9001,"user_id":12,
		"last_event":{"name":"booking_create","branch":"tbilisi","actor_id":"77","description":"Новая бронь"}}`, states["booking 1"])
	require.JSONEq(t, `{"id":9001}`, states["branch 9001"])
	require.JSONEq(t, `{"id":12}`, states["employee 12"])
}

// Times as Ruby and Rails 6.1 to 8.1 print them order changes, so that an older change that arrives late doesn't win.
func TestRentprogReadsRubysTimes(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "rentprog", secretOfTests)
	want := time.Date(2024, 5, 1, 7, 0, 0, 0, time.UTC)
	for _, printed := range []string{
		`2024-05-01 10:00:00 +0300`, `2024-05-01 07:00:00 UTC`, `2024-05-01 10:00:00.000000000 +0300`,
		`Wed, 01 May 2024 10:00:00 MSK +03:00`, `Wed, 01 May 2024 10:00:00.000000000 MSK +03:00`, `Wed, 01 May 2024 07:00:00 UTC +00:00`,
		`Wed, 01 May 2024 10:00:00 +0300`, `Wed, 01 May 2024 11:00:00.000000000 +04 +04:00`, `"2024-05-01 10:00:00 +0300"`,
	} {
		item := splitOne(t, p, rentprogRequest(t, p, "car_update", `{"id"=>1, "mileage"=>[1, 2], "updated_at"=>[nil, `+printed+`]}`))
		parsed, err := p.Parse(event.Receipt{Provider: "rentprog", Headers: item.Headers, ReceivedAt: clock}, item.Body)
		require.NoError(t, err, printed)
		require.Equal(t, want, parsed.OccurredAt, printed)
	}
}
