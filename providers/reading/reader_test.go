package reading

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
)

// At the ingress, the deadline of an expression is an error of ours, not of the event. Tests of package providers read events of
// whole definitions.
func TestADeadlineDoesNotCountAgainstTheEvent(t *testing.T) {
	t.Parallel()
	text := "name: acme\ntype: .body.type\nkey: {parts: ['last(repeat(1))'], unsigned: a test}\n"
	files, err := definition.Collect(fstest.MapFS{"acme.yaml": {Data: []byte(text)}})
	require.NoError(t, err)
	c := mapping.Compiler{Problems: definition.Problems{File: "acme.yaml"}}
	d, _ := c.Read(files, files["acme"])
	decoders := decode.New(&c.Problems, d.Decode)
	p := New(&c, d, "", &decoders, nil, nil)
	require.NoError(t, c.Err())

	late, cancel := context.WithDeadline(t.Context(), time.Time{})
	defer cancel()
	err = p.identify(late, &Item{}, jq.NewInput(nil, nil, nil, map[string]any{}, nil), true, auth.Coverage{})
	require.Equal(t, "jq_deadline", event.CodeOf(err))
}
