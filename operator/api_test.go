package operator_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api"
)

// Every invalid request gets an error code from the table, and changes nothing.
func TestRequestsAreReadStrictly(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api()})
	deep := strings.Repeat("[", 20_000)
	for name, c := range map[string]struct{ method, path, content, want, field string }{
		"an unknown field":        {"POST", "/dead-letters/7/discard", `{"reason":"x","force":true}`, "400 unknown_field", "force"},
		"an unknown field inside": {"POST", "/replays", `{"filter":{"provider":"acme"}}`, "400 unknown_field", "filter"},
		"a wrong type":            {"POST", "/dead-letters/7/discard", `{"reason":7}`, "400 bad_field", "reason"},
		"a missing field":         {"POST", "/dead-letters/7/discard", `{}`, "400 missing_field", "reason"},
		"no body":                 {"POST", "/dead-letters/7/discard", ``, "400 missing_field", "reason"},
		"no JSON":                 {"POST", "/dead-letters/7/discard", `reason=x`, "400 malformed_json", ""},
		"half of it":              {"POST", "/dead-letters/7/discard", `{"reason":"x"`, "400 malformed_json", ""},
		"twice":                   {"POST", "/dead-letters/7/discard", `{"reason":"x"}{}`, "400 malformed_json", ""},
		"no object":               {"POST", "/dead-letters/7/discard", `null`, "400 malformed_json", ""},
		"too deep":                {"POST", "/dead-letters/7/discard", deep, "400 malformed_json", ""},
		"no UTF-8":                {"POST", "/dead-letters/7/discard", "{\"reason\":\"\xff\"}", "400 malformed_json", ""},
		"a wrong type beside":     {"POST", "/dead-letters/7/edit", `{"body":"x","reason":7}`, "400 bad_field", "reason"},
		"a wrong filter":          {"POST", "/replays", `{"provider":7}`, "400 bad_field", "provider"},
		"a wrong reason beside":   {"POST", "/dead-letters/cleanup", `{"older_than":"720h","reason":7}`, "400 bad_field", "reason"},
		"a NUL":                   {"POST", "/dead-letters/7/discard", `{"reason":"a\u0000"}`, "400 bad_field", "reason"},
		"too long a reason":       {"POST", "/dead-letters/7/discard", `{"reason":"` + strings.Repeat("x", 2000) + `"}`, "400 bad_field", "reason"},
		"too large a body":        {"POST", "/dead-letters/7/discard", `{"reason":"` + strings.Repeat("x", 70_000) + `"}`, "413 too_large", ""},
		"no body to edit with":    {"POST", "/dead-letters/7/edit", `{"reason":"x"}`, "400 missing_field", "body"},
		"two bodies":              {"POST", "/dead-letters/7/edit", `{"body":"x","body_base64":"eA=="}`, "400 bad_field", "body_base64"},
		"no base64":               {"POST", "/dead-letters/7/edit", `{"body_base64":"?"}`, "400 bad_field", "body_base64"},
		"an event over 25 MiB":    {"POST", "/dead-letters/7/edit", `{"body":"` + strings.Repeat("x", 25<<20+1) + `"}`, "413 too_large", "body"},
		"an age of nothing":       {"POST", "/dead-letters/cleanup", `{}`, "400 missing_field", "older_than"},
		"an age below nothing":    {"POST", "/dead-letters/cleanup", `{"older_than":"-1h"}`, "400 missing_field", "older_than"},
		"an age of no unit":       {"POST", "/dead-letters/cleanup", `{"older_than":"30"}`, "400 bad_field", ""},
		"a rate beyond the limit": {"POST", "/replays", `{"rate":1e6}`, "400 bad_field", "rate"},
		"a class of its own":      {"POST", "/replays", `{"class":"x"}`, "400 bad_field", "class"},
		"a step of its own":       {"POST", "/replays/plan", `{"step":"x"}`, "400 bad_field", "step"},
		"a replay of no time":     {"POST", "/replays", `{"since":"2026-01-02T00:00:00Z","until":"2026-01-01T00:00:00Z"}`, "400 bad_field", "until"},
		"nothing to replay":       {"POST", "/replays", ``, "400 missing_field", "all"},
		"nothing to rebuild":      {"POST", "/rebuilds", ``, "400 missing_field", "all"},
		"all, and one kind":       {"POST", "/rebuilds", `{"all":true,"kind":"thing"}`, "400 bad_field", "all"},
		"a fetch of everything":   {"POST", "/rebuilds", `{"all":true,"fetch":true}`, "400 bad_field", "fetch"},
		"a rebuild beyond limits": {"POST", "/rebuilds", `{"all":true,"rate":1e6}`, "400 bad_field", "rate"},
		"a filter it has not":     {"POST", "/rebuilds", `{"type":"x"}`, "400 unknown_field", "type"},
		"an empty replay":         {"POST", "/replays", `{"rate":5,"reason":"x"}`, "400 missing_field", "all"},
		"not all, and no filter":  {"POST", "/replays", `{"all":false}`, "400 missing_field", "all"},
		"all, but only some":      {"POST", "/replays", `{"all":true,"provider":"acme"}`, "400 bad_field", "all"},
		"a number that is none":   {"GET", "/dead-letters/x", ``, "400 bad_parameter", "id"},
		"a number below one":      {"POST", "/dead-letters/0/replay", ``, "400 bad_parameter", "id"},
		"an ID that is none":      {"GET", "/events/7", ``, "400 bad_parameter", "id"},
		"an ID in braces":         {"GET", "/events/%7B" + someID + "%7D", ``, "400 bad_parameter", "id"},
		"an unknown parameter":    {"GET", "/events?colour=blue", ``, "400 unknown_parameter", "colour"},
		"one twice":               {"GET", "/events?type=a&type=b", ``, "400 unknown_parameter", "type"},
		"one of a change":         {"POST", "/dead-letters/7/replay?dry_run=true", ``, "400 unknown_parameter", "dry_run"},
		"a status of its own":     {"GET", "/events?status=lost", ``, "400 bad_parameter", "status"},
		"a state of its own":      {"GET", "/dead-letters?state=all", ``, "400 bad_parameter", "state"},
		"a step of no event":      {"GET", "/dead-letters?step=bogus", ``, "400 bad_parameter", "step"},
		"a class of no error":     {"GET", "/dead-letters?class=bogus", ``, "400 bad_parameter", "class"},
		"a phase of no error":     {"GET", "/errors?phase=bogus", ``, "400 bad_parameter", "phase"},
		"a class of no entry":     {"GET", "/errors?class=bogus", ``, "400 bad_parameter", "class"},
		"a period without time":   {"GET", "/errors?since=1h&until=2h", ``, "400 bad_parameter", "until"},
		"one of the audit log":    {"GET", "/audit?since=1h&until=2h", ``, "400 bad_parameter", "until"},
		"one of dead letters":     {"GET", "/dead-letters?since=1h&until=2h", ``, "400 bad_parameter", "until"},
		"one of events":           {"GET", "/events?since=1h&until=2h", ``, "400 bad_parameter", "until"},
		"a NUL in a parameter":    {"GET", "/events?type=a%00", ``, "400 bad_parameter", "type"},
		"a time that is none":     {"GET", "/events?since=yesterday", ``, "400 bad_parameter", "since"},
		"a time beyond times":     {"GET", "/events?since=9999-12-31T23:59:59Z", ``, "400 bad_parameter", "since"},
		"a page of nothing":       {"GET", "/events?limit=0", ``, "400 bad_parameter", "limit"},
		"a page of everything":    {"GET", "/events?limit=201", ``, "400 bad_parameter", "limit"},
		"a cursor of its own":     {"GET", "/events?cursor=abc", ``, "400 bad_cursor", ""},
		"the cursor of another":   {"GET", "/events?cursor=" + base64.RawURLEncoding.EncodeToString([]byte(`{"id":7}`)), ``, "400 bad_cursor", ""},
		"an entity without kind":  {"GET", "/events?provider=a&entity_id=1", ``, "400 bad_parameter", "entity_id"},
		"a key of no provider":    {"GET", "/dead-letters?key=1", ``, "400 bad_parameter", "key"},
		"a kind of no provider":   {"GET", "/entities?kind=x", ``, "400 bad_parameter", "kind"},
		"a prefix of no kind":     {"GET", "/entities?provider=x&prefix=y", ``, "400 bad_parameter", "prefix"},
		"a replay of the closed":  {"POST", "/replays", `{"state":"resolved"}`, "400 bad_field", "state"},
		"a filter of causes":      {"GET", "/dead-letters/causes?class=failed", ``, "400 unknown_parameter", "class"},
		"a source of no provider": {"GET", "/events?source=shop-a", ``, "400 bad_parameter", "source"},
		"a dropped one's as well": {"GET", "/conflicts?source=shop-a", ``, "400 bad_parameter", "source"},
		"a dead one's as well":    {"GET", "/dead-letters?source=shop-a", ``, "400 bad_parameter", "source"},
		"a replay's as well":      {"POST", "/replays", `{"source":"shop-a"}`, "400 bad_field", "source"},
		"a path that is no text":  {"GET", "/entities/acme/thing/%ff", ``, "400 bad_parameter", "external_id"},
	} {
		r := ask(t, c.method, base+c.path, c.content)
		require.Equal(t, c.want, fmt.Sprint(r.status, " ", r.Error.Code), name)
		require.Equal(t, c.field, r.Error.Field, name)
		require.Equal(t, r.header.Get("X-Request-Id"), r.Error.RequestID, name)
		require.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"), name)
		require.Equal(t, "no-store", r.header.Get("Cache-Control"), name)
	}
	require.Empty(t, behind.called())
	for path, detail := range map[string]string{
		"/dead-letters?state=opne": `want open, replaying, resolved, exhausted or discarded; did you mean open?`,
		"/errors?phase=receved": `want receive, parse, fetch, persist, upsert, dead_letter, replay, deliver or upkeep; ` +
			`did you mean receive?`,
		"/events?status=bogus":          `want accepted, persisted, processed or dead`,
		"/events?since=yesterday":       noTime,
		"/entities?since=-5m":           noTime,
		"/entities/a/b/c?as_of=9999-12": noTime,
		"/errors?since=2026-11-28T10:00": `it has no time zone: use 2026-11-28T10:00:00Z for UTC, ` +
			`or an offset such as 2026-11-28T10:00:00+03:00`,
		"/errors?since=2026-11-28T10:00:00+03:00":                 `a + in a URL means a space: write it as %2B`,
		"/errors?since=2026-11-28&until=2026-11-28T01:00%2B03:00": `must be later than since, which is 2026-11-28T00:00:00Z`,
		"/changes?after=yesterday":                                "use the `next` of a page, start, now, or a time: " + noTime,
		"/stats?window=1w":                                        noDuration,
		"/stats?window=32d":                                       `use a duration from 1m to 744h`,
	} {
		require.Equal(t, detail, ask(t, "GET", base+path, "").Error.Detail, path)
	}
	for path, c := range map[string][2]string{
		"/replays":              {`{"since":"yesterday"}`, `"yesterday": ` + noTime},
		"/resends/plan":         {`{"since":"1h"}`, `"1h": use RFC 3339 with a time zone in a body (2026-01-31T09:00:00Z)`},
		"/recoveries":           {`{"provider":"stripe","since":"1w"}`, noTime},
		"/dead-letters/cleanup": {`{"older_than":"30"}`, `use a duration in s, m or h, such as "30s" or "1h30m"`},
		"/deliveries/cancel": {
			`{"since":"2026-11-28T00:00:00Z","until":"2026-11-27T00:00:00Z"}`, `must be later than since, which is 2026-11-28T00:00:00Z`,
		},
	} {
		r := ask(t, "POST", base+path, c[0])
		require.Equal(t, "bad_field: "+c[1], fmt.Sprint(r.Error.Code, ": ", r.Error.Detail), path)
	}
	r := ask(t, "POST", base+"/dead-letters/7/discard", `{"reason":"x"}`, "Content-Type", "text/plain")
	require.Equal(t, "415 unsupported_media_type", fmt.Sprint(r.status, " ", r.Error.Code))
}

const (
	noTime = `use a duration back from now (90m, 24h, 7d), a date in UTC (2026-01-31), ` +
		`or RFC 3339 with a time zone (2026-01-31T09:00:00Z)`
	noDuration = `use a duration in s, m, h or d (90s, 30m, 1h30m, 7d)`
)

// Errors behind the API are reported by their kind, never by their text.
func TestErrorsFromBehindAreTranslated(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"404 no_such_thing ": fmt.Errorf("read CANARY: %w", event.ErrNotFound),
		"409 wrong_state dead letter 7 is replaced by event x": fmt.Errorf("discard CANARY: %w",
			&event.StateError{ID: 7, State: event.DeadLetterDiscarded, ReplacedBy: "x"}),
		"409 refused run_open": event.Rejectf("run_open", "CANARY"),
		"503 unavailable ":     &event.Error{Class: event.ClassTransient, Code: "query_canceled", Text: "CANARY"},
		"500 internal ":        fmt.Errorf("CANARY"),
	} {
		behind := &stub{err: err}
		_, base := serve(t, operator.Options{API: behind.api()})
		r := ask(t, "POST", base+"/dead-letters/7/discard", `{"reason":"x"}`)
		require.Equal(t, want, fmt.Sprint(r.status, " ", r.Error.Code, " ", r.Error.Detail))
		require.NotContains(t, string(r.body), "CANARY")
		require.Equal(t, r.status == 503, r.header.Get("Retry-After") != "")
	}
}

// An event that has a row and an operator's decision is shown with both.
func TestAnEventIsShownWithTheDecisionOnIt(t *testing.T) {
	t.Parallel()
	decision := &event.Decision{EventID: someID, Outcome: event.OutcomeDiscarded, By: "ada", At: noon, Reason: "a test"}
	_, base := serve(t, operator.Options{API: (&stub{decision: decision}).api()})
	r := ask(t, "GET", base+"/events/"+someID, "")
	require.Equal(t, 200, r.status, string(r.body))
	require.Contains(t, string(r.body), `"outcome":"discarded","at":"2026-11-21T12:00:00Z","by":"ada","reason":"a test"`)
}

// An event without a row is still found: in the inbox, by its dead letter, by an operator's decision, or by the event that has
// its key.
func TestAnEventWithoutARow(t *testing.T) {
	t.Parallel()
	behind := &stub{noRow: true}
	_, base := serve(t, operator.Options{API: behind.api()})
	r := ask(t, "GET", base+"/events/"+someID, "")
	require.Equal(t, 200, r.status, string(r.body))
	require.Contains(t, string(r.body), `"status":"dead"`)
	require.NotContains(t, string(r.body), "persisted_at")

	behind.idleConnections = &event.Waiting{Receipt: someReceipt(), Body: body}
	r = ask(t, "GET", base+"/events/"+someID, "")
	require.Equal(t, 200, r.status, string(r.body))
	require.Contains(t, string(r.body), `"status":"waiting"`)
	behind.idleConnections = nil

	behind.noLetter = true
	behind.conflict = &event.Conflict{Owner: "the-first"}
	r = ask(t, "GET", base+"/events/"+someID, "")
	require.Equal(t, "404 it was dropped: event the-first has its key", fmt.Sprint(r.status, " ", r.Error.Detail))
	behind.conflict = nil
	require.Equal(t, 404, ask(t, "GET", base+"/events/"+someID, "").status)
	behind.decision = &event.Decision{EventID: someID, Outcome: event.OutcomeExpunged, By: "ada", At: noon}
	r = ask(t, "GET", base+"/events/"+someID, "")
	require.Equal(t, "410 gone", fmt.Sprint(r.status, " ", r.Error.Code))
	require.Equal(t, "event "+someID+" was expunged by ada at 2026-11-21T12:00:00Z", r.Error.Detail)

	r = ask(t, "GET", base+"/events/acme:a%2Fb", "")
	require.Equal(t, "410 gone", fmt.Sprint(r.status, " ", r.Error.Code), "a redelivery is answered with the ID of its workflow")
	require.Equal(t, 404, ask(t, "GET", base+"/events/acme:other", "").status)
	require.Equal(t, 400, ask(t, "GET", base+"/events/neither", "").status)
}

// The ID of a redelivery leads to the event that it repeated, also for its body and its attempts.
func TestTheIDOfARedelivery(t *testing.T) {
	t.Parallel()
	again := uuid.NewString()
	behind := &stub{redelivery: again, noLetter: true}
	_, base := serve(t, operator.Options{API: behind.api()})
	var shown api.EventDetail
	r := ask(t, "GET", base+"/events/"+again, "")
	require.Equal(t, 200, r.status, string(r.body))
	require.NoError(t, json.Unmarshal(r.body, &shown))
	require.Equal(t, []string{someID, again}, []string{shown.ID, shown.RedeliveredAs})
	require.Equal(t, ask(t, "GET", base+"/events/"+someID+"/body", "").body, ask(t, "GET", base+"/events/"+again+"/body", "").body)
	r = ask(t, "GET", base+"/events/"+someID, "")
	require.NotContains(t, string(r.body), "redelivered_as")

	behind.noRow = true // it was imported as a key, or is purged
	r = ask(t, "GET", base+"/events/"+again, "")
	require.Equal(t, 404, r.status)
	require.Contains(t, r.Error.Detail, "it repeated event "+someID)
}

func TestFiltersReachTheStore(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api()})
	r := ask(t, "GET", base+"/events?provider=acme&type=a&status=dead&key=k&entity_kind=thing&entity_id=a%2Fb%20c"+
		"&since=2026-11-01T00:00:00Z&until=1h&limit=3", "")
	require.Equal(t, 200, r.status, string(r.body))
	q := behind.events
	require.Equal(t, event.EntityRef{Provider: "acme", Kind: "thing", ExternalID: "a/b c"}, *q.Entity)
	require.Equal(t, []string{"acme", "a", "dead", "k"}, []string{q.Provider, q.Type, string(q.Status), q.Key})
	require.Equal(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), q.Since.UTC())
	require.WithinDuration(t, time.Now().Add(-time.Hour), q.Until, time.Minute)
	require.Equal(t, 4, q.Limit, "one more, to see whether there is a next page")

	var page struct {
		Items []json.RawMessage
		Next  string
	}
	require.NoError(t, json.Unmarshal(r.body, &page))
	require.Len(t, page.Items, 3)
	r = ask(t, "GET", base+"/events?cursor="+url.QueryEscape(page.Next), "")
	require.Equal(t, 200, r.status)
	require.Equal(t, someID, behind.events.Before)

	r = ask(t, "GET", base+"/entities/acme/thing/"+url.PathEscape("a/b c?%"), "")
	require.Equal(t, 200, r.status)
	require.Contains(t, string(r.body), `"external_id":"a/b c?%"`)
}

// A viewer sees what happened, and only the parts of received bodies that the definition doesn't hide.
func TestViewersSeeRedactedContent(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	_, base := serve(t, operator.Options{API: (&stub{}).api(), Tokens: tokens})
	for _, path := range []string{
		"/events/" + someID, "/dead-letters/7", "/entities/acme/thing/1", "/entities/acme/thing/1?as_of=1h",
		"/entities/acme/thing/1/timeline", "/events", "/dead-letters",
	} {
		r := ask(t, "GET", base+path, "", bearer(texts[access.RoleViewer])...)
		require.Equal(t, 200, r.status, path)
		require.NotContains(t, string(r.body), "4242", path)
		require.NotContains(t, string(r.body), base64.StdEncoding.EncodeToString(body), path)
		require.NotContains(t, string(r.body), "hunter2", path)
	}
	viewed := ask(t, "GET", base+"/events/"+someID, "", bearer(texts[access.RoleViewer])...)
	require.Contains(t, string(viewed.body), `"json":{"card":"[redacted]","name":"Ada"}`)
	whole := ask(t, "GET", base+"/events/"+someID, "", bearer(texts[access.RoleOperator])...)
	require.Contains(t, string(whole.body), `"json":{"card":"4242","name":"Ada"}`)
	require.Contains(t, string(whole.body), base64.StdEncoding.EncodeToString(body))
	require.Contains(t, string(whole.body), "hunter2")

	api := (&stub{}).api()
	api.Redactor = nil
	_, closed := serve(t, operator.Options{API: api, Tokens: tokens})
	r := ask(t, "GET", closed+"/events/"+someID, "", bearer(texts[access.RoleViewer])...)
	require.NotContains(t, string(r.body), "Ada", "without a redactor a viewer sees nothing")
}

func TestAnEditCarriesTheNewBytes(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api(), Tokens: tokens})
	large := strings.Repeat("x", 25<<20)
	inBase64 := base64.StdEncoding.EncodeToString([]byte(large))
	for name, c := range map[string]struct{ content, want string }{
		"as text":       {`{"body":"{\"a\": \"\u00e9\"}","reason":"typo"}`, `{"a": "é"}`},
		"in base64":     {`{"body_base64":"AP8="}`, "\x00\xff"},
		"nothing":       {`{"body":""}`, ""},
		"a large one":   {`{"body":"` + large + `"}`, large},
		"and in base64": {`{"body_base64":"` + inBase64 + `"}`, large},
	} {
		r := ask(t, "POST", base+"/dead-letters/7/edit", c.content, bearer(texts[access.RoleOperator])...)
		require.Equal(t, 202, r.status, "%s: %s", name, r.body)
		require.Equal(t, sha256.Sum256([]byte(c.want)), sha256.Sum256(behind.edit.Body), name) // a failure doesn't print 25 MiB
		require.EqualValues(t, 7, behind.edit.DeadLetter)
	}
	r := ask(t, "POST", base+"/dead-letters/7/edit", `{"body":"`+large+`"}`, bearer(texts[access.RoleViewer])...)
	require.Equal(t, 413, r.status, "who may not edit cannot make the server read that much")
}
