package lint

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/lint/infer"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
)

// rate counts the samples whose field is found, of those whose definition reads it from the body.
type rate struct{ right, of int }

func (r *rate) note(t *testing.T, what, sample, want, got string) {
	t.Helper()
	if r.of++; want == got {
		r.right++
		return
	}
	t.Logf("%s of %s: %q, not %q", what, sample, got, want)
}

func valueOf(t *testing.T, expression string, body any) string {
	t.Helper()
	x, err := jq.Compile("", expression)
	require.NoError(t, err)
	v, err := x.Once(jq.NewInput(nil, nil, nil, body, nil))
	require.NoError(t, err, expression)
	text, _ := jq.Text(v)
	return text
}

// Many providers have their own ideas of types and keys, so that not all of the catalogue's can be found. At first, with rules made for
// the captures alone, 69 of 101 types and 79 of 93 times were. The bounds are a little below what more rules found.
func TestInferenceOnTheCatalogue(t *testing.T) {
	t.Parallel()
	var types, keys, times, batches rate
	catalogue := catalogueOf(t, secretOfTests)
	for _, name := range catalogue.Names() {
		p, _ := catalogue.Lookup(name)
		sample := p.DefaultSample()
		if sample == "" {
			continue
		}
		r, err := p.Sample(sample, "ab12cd34", clock)
		require.NoError(t, err)
		var body any
		if json.Unmarshal(r.Body, &body) != nil {
			continue
		}
		inToken := func(d definition.Decode) bool { return d.JWTField != "" }
		items, err := p.Split(r)
		if err != nil || len(items) == 0 || slices.ContainsFunc(p.Written().Decode, inToken) { // a token isn't read
			continue
		}
		found := infer.Find(body)
		written := ""
		if b := p.Written().Batch; b != nil {
			written = b.Items
		}
		batches.note(t, "batch", name, written, found.Items)
		if found.Items != written {
			continue
		}
		var event any
		require.NoError(t, json.Unmarshal(items[0].Body, &event))
		e, _ := explain(p, &items[0], r.Covered(), clock)
		if ofBody(p.Written().Type) {
			types.note(t, "type", name, e.Type, valueOf(t, orNull(found.Type), event))
		}
		if len(e.KeyParts) == 1 && ofBody(definition.JQ(e.KeyParts[0].Expr)) {
			keys.note(t, "key", name, e.KeyParts[0].Value, valueOf(t, orNull(found.ID), event))
		}
		if e.OccurredFrom != "" {
			at, _ := mapping.ParseTime(valueOf(t, orNull(found.Time), event), orNull(found.Unit))
			times.note(t, "time", name, e.OccurredAt.UTC().String(), at.UTC().String())
		}
	}
	for what, r := range map[string]struct {
		rate

		atLeast float64
	}{"batches": {batches, 0.97}, "types": {types, 0.75}, "keys": {keys, 0.78}, "times": {times, 0.92}} {
		require.GreaterOrEqual(t, float64(r.right)/float64(r.of), r.atLeast, what)
	}
	t.Logf("batches %+v, types %+v, keys %+v, times %+v", batches, types, keys, times)
}

// ofBody reports whether an expression reads the body alone.
func ofBody(expression definition.JQ) bool {
	x, err := jq.Compile("", string(expression))
	return err == nil && x != nil && expression != byHash && x.Dependencies.Body && x.Dependencies.OnlyBody()
}

func orNull(expression string) string {
	if expression == "" {
		return "null"
	}
	return expression
}
