package operator_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/providers"
)

type lookup = func(name string) (*providers.Provider, bool)

var definitions = sync.OnceValues(func() (lookup, error) {
	catalogue, err := providers.Load("")
	if err != nil {
		return nil, err
	}
	return catalogue.Lookup, nil
})

func (s *stub) imports() *api.Importer {
	return &api.Importer{
		Operations: stubOperations[operation.Import]{s, someImport()}, Store: s, Compared: s, Definitions: definitions,
	}
}

func (s *stub) StageImport(_ context.Context, id string, isNew bool, items []operation.ImportItem) error {
	for _, item := range items {
		s.staged = append(s.staged, fmt.Sprint(item.Line, " ", item.Receipt.Key, " ", isNew))
	}
	return cmp.Or(s.call("stage "+id), s.importErr)
}

func (s *stub) DropImport(_ context.Context, id string) error { return s.call("drop " + id) }

func (s *stub) TryImport(_ context.Context, items []operation.ImportItem) (
	counts operation.ImportCounts, problems []operation.ImportProblem, err error,
) {
	counts = operation.ImportCounts{}
	for _, item := range items {
		counts.Add(item.Record, operation.ImportNew)
		problems = append(problems, operation.ImportProblem{Line: item.Line, Record: item.Record, Class: event.ClassRejected})
	}
	return counts, problems, s.call("try")
}

// CompareImport finds a large difference in each entity, and every other item.
func (s *stub) CompareImport(_ context.Context, items []operation.ImportItem) (all []operation.ImportCompared, err error) {
	for _, item := range items {
		one := operation.ImportCompared{EventID: someID}
		if item.Record == operation.ImportEntity {
			one.Differences = []operation.ImportDifference{{
				Line: item.Line, Record: item.Record, Differ: operation.DiffersField, Field: "/a",
				Here: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`),
			}}
		}
		all = append(all, one)
	}
	return all, s.call("compare")
}

func (s *stub) EventsBetween(_ context.Context, provider, _, _ string, limit int) (all []event.Receipt, err error) {
	for range min(limit, 1500) {
		all = append(all, event.Receipt{ID: event.FirstIDAt(noon), Provider: provider, Key: "evt"})
	}
	return all, s.call("events between")
}

const ndjson = "application/x-ndjson"

func keyLine(key string) string {
	return `{"record":"key","provider":"stripe","key":"` + key + `","first_seen":1763620000,"expires_at":"2990-01-01T00:00:00Z"}` + "\n"
}

// A file is kept in parts: the first response has the ID that the next request names. What isn't valid is listed, with its line in
// the file.
func TestAnImportIsKeptInParts(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api()})
	send := func(path, content, kind string) (staged api.StagedLines) {
		t.Helper()
		r := ask(t, "POST", base+path, content, "Content-Type", kind)
		require.Equal(t, 200, r.status, "%s", r.body)
		require.NoError(t, json.Unmarshal(r.body, &staged))
		return staged
	}
	first := send("/imports/lines", keyLine("a")+"{}\n"+`{"record":"subscription","name":"crm","url":"https://crm.example.com"}`, ndjson)
	require.NotEmpty(t, first.ID)
	require.EqualValues(t, 1, first.Staged)
	require.EqualValues(t, 3, first.Lines)
	require.EqualValues(t, 1, first.Invalid)
	require.Equal(t, "line 2: record: want one of key, event, dead_letter, entity or subscription", first.Mistakes[0].String())
	require.Equal(t, "crm", first.Subscriptions[0].Name)
	require.Equal(t, map[operation.ImportRecord]int64{"key": 1, "subscription": 1}, first.Records)
	next := send("/imports/"+first.ID+"/lines?skipped=100&record=key&default_provider=stripe",
		"key,first_seen,expires_at\nb,1763620000,2990-01-01T00:00:00Z\nc,1763620000,x\n", "text/csv; charset=utf-8")
	require.Equal(t, first.ID, next.ID)
	require.Equal(t, "line 103: expires_at: want a time with its zone such as 2026-11-22T10:00:00Z, or seconds since 1970",
		next.Mistakes[0].String())
	require.Equal(t, []string{"1 a true", "102 b false"}, behind.staged)
	require.Empty(t, send("/imports/lines", "{}\n", ndjson).ID, "nothing is kept")

	r := ask(t, "POST", base+"/imports", `{"id":"`+first.ID+`","name":"old.ndjson","reason":"moving in"}`)
	require.Equal(t, 202, r.status)
	require.Equal(t, operation.Import{Base: operation.Base{ID: first.ID, Rate: 500}, Name: "old.ndjson"}, behind.started)
	require.Equal(t, "moving in", behind.actor.Reason)
	require.Equal(t, 200, ask(t, "DELETE", base+"/imports/"+first.ID+"/lines", "").status)
	require.Contains(t, behind.called(), "drop "+first.ID)
}

// If a later page of the first part can't be kept, the client never gets the ID of the first, so it is removed.
func TestAPartIsKeptWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	behind := &stub{importErr: errors.New("full")}
	_, base := serve(t, operator.Options{API: behind.api()})
	require.Equal(t, 409, ask(t, "POST", base+"/imports/lines", keyLine("a")).status)
	calls := behind.called()
	require.Len(t, calls, 2)
	require.Equal(t, strings.Replace(calls[0], "stage", "drop", 1), calls[1])
	require.Equal(t, 409, ask(t, "POST", base+"/imports/7/lines", keyLine("a")).status)
	require.Len(t, behind.called(), 3, "the client knows this ID")
}

// A request that can't be used says why: its type, its heading, its parameters, or definitions that can't be loaded.
func TestAPartThatCannotBeRead(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	shown := behind.api()
	_, base := serve(t, operator.Options{API: shown})
	for path, want := range map[string]string{
		"/imports/plan?skipped=-1":  "400 bad_parameter",
		"/imports/plan?record=none": "400 bad_parameter",
		"/imports/plan?format=csv":  "400 unknown_parameter",
		"/compare?cursor=x":         "400 bad_cursor",
	} {
		r := ask(t, "POST", base+path, keyLine("a"))
		require.Equal(t, want, fmt.Sprint(r.status, " ", r.Error.Code), path)
	}
	r := ask(t, "POST", base+"/imports/plan", `{}`)
	require.Equal(t, "415 use application/x-ndjson or text/csv", fmt.Sprint(r.status, " ", r.Error.Detail))
	r = ask(t, "POST", base+"/imports/plan", "a,a\n1,2\n", "Content-Type", "text/csv")
	require.Equal(t, `400 read the heading: columns 1 and 2 are both "a": leave one out`, fmt.Sprint(r.status, " ", r.Error.Detail))
	shown.Imports.Definitions = func() (lookup, error) { return nil, errors.New("acme.yaml:1: is wrong") }
	r = ask(t, "POST", base+"/compare", keyLine("a"))
	require.Equal(t, "409 acme.yaml:1: is wrong", fmt.Sprint(r.status, " ", r.Error.Detail))
	require.Equal(t, 400, ask(t, "GET", base+"/compare/events?provider=acme&since=1h", "").status)
	require.Empty(t, behind.called())
}

// A plan counts, lists the first problems, and keeps nothing.
func TestAnImportIsTried(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api()})
	var tried api.TriedLines
	require.NoError(t, json.Unmarshal(ask(t, "POST", base+"/imports/plan", strings.Repeat(keyLine("a"), 450)).body, &tried))
	require.EqualValues(t, 450, tried.Counts[operation.ImportKey].New)
	require.Len(t, tried.Problems, operation.MaxProblems)
	require.Equal(t, []string{"try", "try", "try"}, behind.called())
}

// A comparison whose response is full goes on at the next line, with the same body.
func TestAComparisonHasPages(t *testing.T) {
	t.Parallel()
	_, base := serve(t, operator.Options{API: (&stub{}).api()})
	var lines strings.Builder
	for n := range 50 {
		fmt.Fprintf(&lines, `{"record":"entity","provider":"calcom","kind":"booking","id":"%d","state":{"a":1}}`+"\n", n)
	}
	lines.WriteString(`{"record":"event","provider":"stripe","key":"e","received_at":1763620000,"body":"{}"}` + "\n{}\n")
	var all []int64
	var counted, invalid int64
	var last api.ComparedLines
	for cursor, pages := "", 0; ; pages++ {
		r := ask(t, "POST", base+"/compare?skipped=7&cursor="+url.QueryEscape(cursor), lines.String(), "Content-Type", ndjson)
		require.Equal(t, 200, r.status, "%s", r.body)
		last = api.ComparedLines{}
		require.NoError(t, json.Unmarshal(r.body, &last))
		for _, d := range last.Differences {
			all = append(all, d.Line)
		}
		counted, invalid = counted+last.Lines, invalid+last.Invalid
		if cursor = last.Next; cursor == "" {
			require.Equal(t, 2, pages)
			break
		}
	}
	require.Len(t, all, 50)
	for n, line := range all {
		require.EqualValues(t, n+8, line)
	}
	require.EqualValues(t, 52, counted)
	require.EqualValues(t, 1, invalid)
	require.Equal(t, []string{someID}, last.EventIDs)
	require.Equal(t, last.Periods["stripe"].Since, last.Periods["stripe"].Until)

	var events struct {
		Items []api.StoredEvent
		Next  string
	}
	r := ask(t, "GET", base+"/compare/events?provider=acme&since=2h&until=1h", "")
	require.NoError(t, json.Unmarshal(r.body, &events))
	require.Len(t, events.Items, 1000)
	require.Equal(t, 200, ask(t, "GET", base+"/compare/events?provider=acme&since=2h&until=1h&cursor="+events.Next, "").status)
}

// The largest line of a file is accepted, from whom may import it, and its bytes stay as they are.
func TestALargePart(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api(), Tokens: tokens})
	body := bytes.Repeat([]byte("x"), event.MaxBody)
	line := `{"record":"event","provider":"stripe","key":"large","received_at":1763620000,"body_base64":"` +
		base64.StdEncoding.EncodeToString(body) + `"}`
	for _, role := range access.Roles() {
		want, sent := 413, keyLine(strings.Repeat("x", 70_000))
		if role == access.RoleAdmin {
			want, sent = 200, line
		}
		require.Equal(t, want, ask(t, "POST", base+"/imports/lines?skipped=1", sent, bearer(texts[role])...).status, role)
	}
	require.Equal(t, []string{"2 large true"}, behind.staged)
}
