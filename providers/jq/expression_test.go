package jq

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/decode"
)

// A lookup without jq has the same result as jq.
func TestPathsAreLookedUpAsJQDoes(t *testing.T) {
	t.Parallel()
	bodies := []string{
		`{}`, `null`, `[]`, `"text"`, `12`, `{"id":"x"}`, `{"id":null}`, `{"id":1.50}`, `{"id":123456789012345678901234567890}`,
		`{"id":{"id":true}}`, `{"id":[1]}`, `{"id":"x","a-b":{"id":false}}`, `{"a-b":[{"id":1}]}`,
	}
	for source, plain := range map[string]bool{
		`.body`: true, `.body.id`: true, `.body.id.id`: true, `.body["a-b"].id`: true, `.body."a-b".id`: true,
		`.nothing.at.all`: true, `.headers["x-id"]`: true,
		`.body.id?`: false, `.body[]`: false, `.body[0]`: false, `.body.id[0:1]`: false, `.body.id | .id`: false, `.`: false,
		`..`: false, `.body["\(.a)"]`: false, `.body.id // "x"`: false, `$root.id`: false, `$item`: false, `-.body.id`: false,
		`def id: 1; .body.id`: false, `.body.id as $x | $x`: false, `(.body.id)`: false, `.[.body.id]`: false,
	} {
		x, err := Compile("x", source)
		require.NoError(t, err, source)
		require.Equal(t, plain, x.Names != nil, source)
		withJQ := *x
		withJQ.Names = nil
		for _, text := range bodies {
			body, err := decode.JSON([]byte(text))
			require.NoError(t, err)
			in := NewInput(map[string]string{"x-id": "h"}, nil, nil, body, nil)
			want, wrong := withJQ.First(context.Background(), in, nil)
			got, err := x.First(context.Background(), in, nil)
			require.Equal(t, wrong, err, "%s of %s", source, text)
			require.Equal(t, want, got, "%s of %s", source, text)
			wantAll, wrong := withJQ.All(context.Background(), in, nil)
			gotAll, err := x.All(context.Background(), in, nil)
			require.Equal(t, wrong, err, "%s of %s", source, text)
			require.Equal(t, wantAll, gotAll, "%s of %s", source, text)
		}
	}
}
