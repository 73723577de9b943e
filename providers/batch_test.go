package providers

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
)

var batched = strings.Replace(minimal, "type: .body.type", "batch: {items: data.events}\ntype: '\"\\($root.kind).\\(.body.type)\"'", 1)

// Each event of a batch is a part of the request's own bytes, in its order, and has its envelope.
func TestBatch(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, batched)
	body := []byte("{\"kind\":\"k\", \"data\":{\"events\": [ {\"id\":1,\"type\":\"a\"} ,\n{\"type\":\"b\" , \"id\":2},7], \"n\":1e400}}")
	items, err := p.Split(&auth.Request{Body: body})
	require.NoError(t, err)
	require.Len(t, items, 3)
	for i, want := range []string{`{"id":1,"type":"a"}`, `{"type":"b" , "id":2}`, `7`} {
		require.Equal(t, want, string(items[i].Body))
		require.JSONEq(t, `{"kind":"k","data":{"events":[],"n":1}}`, strings.Replace(string(items[i].Root), "1e400", "1", 1))
		start, at := uintptr(unsafe.Pointer(&body[0])), uintptr(unsafe.Pointer(&items[i].Body[0]))
		require.True(t, at >= start && at < start+uintptr(len(body)), "a copy")
	}
	require.Equal(t, "k.a", items[0].Type)
	parsed, err := p.Parse(receiptOfTest(p, items[1]), items[1].Body)
	require.NoError(t, err)
	require.Equal(t, "k.b", parsed.Type)
	_, err = p.Parse(receiptOfTest(p, items[2]), items[2].Body)
	require.Equal(t, "not_object", event.CodeOf(err))
}

// If the body itself may be the list, anything else is one event.
func TestABodyThatIsAListOrOneEvent(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "events", secretOfTests)
	for body, want := range map[string]int{
		"\n[ {\"id\":1} , {\"id\":2} ]\n": 2, `[]`: 0, `{"id":1}`: 1, `{"data":[1,2]}`: 1, `[{"id":1}`: 1, `7`: 1,
	} {
		items, err := p.Split(&auth.Request{Body: []byte(body)})
		require.NoError(t, err)
		require.Len(t, items, want, body)
		isList := want != 1
		for _, item := range items {
			require.Equal(t, isList, item.Root != nil, body)
			require.Equal(t, isList, string(item.Body) != body, body)
		}
	}
}

func TestEmptyBatch(t *testing.T) {
	t.Parallel()
	items, err := mustLoad(t, batched).Split(&auth.Request{Body: []byte(`{"data":{"events":[]}}`)})
	require.NoError(t, err)
	require.Empty(t, items)
}

// A request that is no batch is kept whole.
func TestBodiesThatAreNotBatches(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, batched)
	for body, code := range map[string]string{
		`{}`: "missing_items", `[]`: "missing_items", `{"data":[]}`: "missing_items",
		`{"data":{"events":{"id":1}}}`:         "missing_items",
		`{"data":{"events":[],"events":[1]}}`:  "missing_items",
		`{"data":{"events":[{"id":1}]}} extra`: "malformed_json",
		`{"data":{"events":[{"id":1}`:          "malformed_json",
		"":                                     "empty_body",
	} {
		items, err := p.Split(&auth.Request{Body: []byte(body)})
		require.NoError(t, err)
		require.Len(t, items, 1)
		require.Equal(t, body, string(items[0].Body))
		require.Equal(t, event.KeyFromNothing, items[0].KeyFrom, body)
		_, err = p.Parse(receiptOfTest(p, items[0]), items[0].Body)
		require.Equal(t, code, event.CodeOf(err), body)
	}
}
