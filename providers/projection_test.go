package providers

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/mapping"
	"holdfast/providers/reading"
	"holdfast/providers/receiving"
)

// The ingress finds the same in a part of a body as in the whole, also if bodies are damaged or have repeated fields.
func TestReadLimitsSuffice(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	c := catalogueOf(t, secretOfTests)
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		whole, decoders := readerOf(p)
		decoders.Projection = nil
		bodies := [][]byte{[]byte(`{}`), []byte(`[]`), []byte(`{"id":"1","id":"2"}`), []byte(`{"type":"a","data":{"x":1,"x":2}}`)}
		for _, eventType := range p.SampleTypes() {
			r, err := p.Sample(eventType, "1", clock)
			require.NoError(t, err)
			bodies = append(bodies, r.Body)
			for range 100 {
				bodies = append(bodies, damaged(random, r.Body))
			}
		}
		for _, body := range bodies {
			r := &auth.Request{Method: "POST", Body: body, Header: map[string][]string{"content-type": {"application/json"}}}
			want, err := whole.Split(r)
			require.NoError(t, err)
			got, err := p.Split(r)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s: %s", name, body)
		}
	}
}

// readerOf reads as a provider does, with decoders that tests can see and change.
func readerOf(p *Provider) (*reading.Reader, *decode.Decoders) {
	var c mapping.Compiler
	decoders := decode.New(&c.Problems, p.written.Decode)
	gate := receiving.New(&c, p.written, &decoders)
	return reading.New(&c, p.written, p.digest, &decoders, p.Fetches(), gate.Conditions()), &decoders
}

func decodersOf(p *Provider) *decode.Decoders {
	_, decoders := readerOf(p)
	return decoders
}

// damaged returns the body with one run of bytes removed, doubled or moved.
func damaged(random *rand.Rand, body []byte) []byte {
	from := random.IntN(len(body))
	to := min(len(body), from+1+random.IntN(20))
	piece := slices.Clone(body[from:to])
	switch at := random.IntN(len(body)); random.IntN(3) {
	case 0:
		return slices.Delete(slices.Clone(body), from, to)
	case 1:
		return slices.Insert(slices.Clone(body), to, piece...)
	default:
		return slices.Insert(slices.Clone(body), at, piece...)
	}
}

func TestProjectionOfAProvider(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"account", "context", "id", "type"},
		slices.Sorted(maps.Keys(decodersOf(providerOf(t, "stripe", secretOfTests)).Projection)))
	require.Nil(t, decodersOf(providerOf(t, "github", secretOfTests)).Projection, "an expression that isn't made of paths can read anything")
	w := decode.Projection{}
	for _, path := range [][]string{{"a", "b"}, {"a", "c", "d"}, {"e"}, {"e", "f"}, {"a", "b", "g"}, {"a", "c"}} {
		w.Add(path)
	}
	require.Equal(t, decode.Projection{"a": {"b": nil, "c": nil}, "e": nil}, w)
}
