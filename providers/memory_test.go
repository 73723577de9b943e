package providers

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/reading"
)

// The total allocations for a body, garbage included: so many bytes for each of its own, plus a constant. The worst case is an
// object with one field: six bytes of JSON need a map of over three hundred.
const (
	allocatedPerByte = 80
	allocatedAtLeast = 128 << 10
)

// allocatedBy returns how much a function allocates. It must not run in parallel with other tests.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// doubledFields returns as many repeated fields as fit, as deep as a body may be nested.
func doubledFields(size int) []byte {
	const depth = 199
	open, shut := strings.Repeat(`{"a":`, depth-1), strings.Repeat("}", depth-1)
	fields := strings.Repeat(`"":0,`, (size-len(open)-len(shut))/5-1)
	return []byte(open + "{" + fields + `"":0}` + shut)
}

// repeated returns a JSON array with as many copies of a text as fit.
func repeated(value string, size int) []byte {
	return []byte("[" + strings.Repeat(value+",", (size-2)/(len(value)+1)-1) + value + "]")
}

// field returns an object with one field.
func field(name string, value []byte) []byte {
	return []byte(`{"` + name + `":` + string(value) + `}`)
}

// costlyBodies return the worst known bodies for their size, each in its own way.
func costlyBodies() [][]byte {
	const size = 256 << 10
	nested := strings.Repeat(`{"":`, 197) + "0" + strings.Repeat("}", 197)
	bodies := [][]byte{doubledFields(size), []byte(strings.Repeat(`{"a":[`, 99) + strings.Repeat("]}", 99))}
	for _, value := range []string{"0", "{}", "[]", `""`, `"\n"`, `{"":0}`, `{"":[]}`, `[[0]]`, nested} {
		bodies = append(bodies, field("token", repeated(value, size)), field("id", repeated(value, size)))
	}
	return bodies
}

// memoryProvider reads the body before authentication.
func memoryProvider(t testing.TB) *Provider {
	t.Helper()
	c, err := Load(writeDefinitions(t, map[string]string{"memory.yaml": `
name: memory
secrets: MEMORY_SECRET
auth: [{token: {in: body, name: token}}]
type: .body.type
key: {parts: [.body.id]}
`}))
	require.NoError(t, err)
	p, ok := c.WithSecrets(secretsOf(secretOfTests)).Lookup("memory")
	require.True(t, ok)
	return p
}

// FuzzMemory: allocations for any body are a small multiple of its size, and next to nothing before authentication.
func FuzzMemory(f *testing.F) {
	p := memoryProvider(f)
	for _, body := range costlyBodies() {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		size := uint64(len(body))
		r := &auth.Request{Method: "POST", Path: "/webhooks/memory", Body: body, Header: map[string][]string{}}
		got := allocatedBy(func() { _ = p.Authenticate(r, time.Time{}) })
		require.LessOrEqual(t, got, 4*size+allocatedAtLeast, "authenticate %d bytes", size)
		var items []reading.Item
		got = allocatedBy(func() { items, _ = p.Split(r) })
		require.LessOrEqual(t, got, allocatedPerByte*size+allocatedAtLeast, "split %d bytes", size)
		require.Len(t, items, 1)
		got = allocatedBy(func() { _, _ = p.Parse(receiptOfTest(p, items[0]), body) })
		require.LessOrEqual(t, got, allocatedPerByte*size+allocatedAtLeast, "parse %d bytes", size)
	})
}

// The total allocations for splitting a batch: so many bytes for each of its own, plus the few short events'.
const (
	splitPerByte = 160
	splitAtLeast = 1 << 20
)

// batchOf returns as many events as fit, within an envelope.
func batchOf(item string, size, envelope int) []byte {
	return []byte(`{"e":"` + strings.Repeat("x", envelope) + `","events":` + string(repeated(item, size)) + `}`)
}

// FuzzBatchMemory: however short the events of a batch are, and however long its envelope, splitting it allocates a small
// multiple of the body.
func FuzzBatchMemory(f *testing.F) {
	p := mustLoad(f, strings.Replace(minimal, "type: .body.type", "batch: {items: events}\ntype: .body.type", 1))
	for _, item := range []string{"0", "{}", `{"id":"1"}`, `{"id":"1","type":"a","data":{"k":""}}`, `{"":{"":{"":{"":0}}}}`} {
		for _, size := range []int{10 << 10, 100 << 10} {
			f.Add(batchOf(item, size, 0))
			f.Add(batchOf(item, size, 60<<10))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		size := uint64(len(body))
		r := &auth.Request{Method: "POST", Path: "/webhooks/acme", Body: body, Header: map[string][]string{}}
		var items []reading.Item
		got := allocatedBy(func() { items, _ = p.Split(r) })
		require.LessOrEqual(t, got, splitPerByte*size+splitAtLeast, "split %d bytes into %d", size, len(items))
		var carried uint64
		for _, item := range items {
			carried += uint64(len(item.Body) + len(item.Root))
		}
		require.LessOrEqual(t, carried, 66*size, "%d events of %d bytes", len(items), size)
	})
}

// A repeated field that is part of the identity is detected anywhere, among any number of others.
func TestDoubledIdentityIsFoundAmongMany(t *testing.T) {
	t.Parallel()
	p := memoryProvider(t)
	many := bytes.Repeat([]byte(`"x":{"id":1,"id":2},`), 100)
	for body, code := range map[string]string{
		`{` + string(many) + `"type":"a","id":"1"}`:          "",
		`{` + string(many) + `"type":"a","id":"1","id":"2"}`: "duplicate_key",
		`{"id":{"a":1,"a":2},` + string(many) + `"type":""}`: "duplicate_key",
	} {
		items, err := p.Split(&auth.Request{Method: "POST", Body: []byte(body)})
		require.NoError(t, err)
		_, err = p.Parse(receiptOfTest(p, items[0]), items[0].Body)
		if code == "" {
			require.NoError(t, err, "%.20s", body)
			continue
		}
		require.Equal(t, code, event.CodeOf(err), "%.20s", body)
	}
}

// The states of one event are limited together: a thousand of them may each be short.
func TestStatesOfAnEventAreBoundedTogether(t *testing.T) {
	p := mustLoad(t, minimal+`entities: [{kind: thing, each: ".body.items[]", id: $item.id, op: snapshot, state: "{all: .body}"}]`)
	items := strings.TrimSuffix(strings.Repeat(`{"id":"x"},`, 500), ",")
	for i := range 500 {
		items = strings.Replace(items, `"x"`, `"`+strings.Repeat("i", i+1)+`"`, 1)
	}
	r := event.Receipt{Key: "k", KeyFrom: event.KeyFromEvent, ReceivedAt: clock}
	var parsed event.Parsed
	got := allocatedBy(func() {
		var err error
		parsed, err = p.Parse(r, []byte(`{"id":"1","type":"t","items":[`+items+`]}`))
		require.NoError(t, err)
	})
	require.LessOrEqual(t, got, uint64(128<<20))
	total := 0
	for _, c := range parsed.Changes {
		total += len(c.State)
	}
	require.LessOrEqual(t, total, 4<<20)
	require.Positive(t, total)
	require.Equal(t, 500, len(parsed.Changes)+parsed.Omitted.Count)
	require.Len(t, parsed.Omitted.Entities, event.MaxOmitted)
}
