package ingress

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/ingress/intake"
)

type bookFunc func(event.Conflict) error

func (f bookFunc) RecordConflict(_ context.Context, c event.Conflict) error { return f(c) }

// A conflict is recorded, and reported in the answer and in the log even if it can't be recorded.
func TestAConflictIsAnsweredAndRecorded(t *testing.T) {
	t.Parallel()
	recorded := make(chan event.Conflict, 2)
	d := openDoor(t, "", func(_ *Options, in *intake.Options) {
		in.Conflicts = bookFunc(func(c event.Conflict) error { recorded <- c; return errors.New("the database is away") })
	})
	const id = "conflict-1"
	first := d.deliver(t, "hmac", "/webhooks/hmac", `{"id":"`+id+`","type":"a"}`, true)
	require.Equal(t, 202, first.status)
	same := d.deliver(t, "hmac", "/webhooks/hmac", `{"id":"`+id+`","type":"a"}`, true)
	require.Equal(t, 200, same.status)
	require.NotContains(t, same.raw, "conflict\":true")
	require.Empty(t, recorded)
	other := d.deliver(t, "hmac", "/webhooks/hmac", `{"id":"`+id+`","type":"b"}`, true)
	require.Equal(t, 202, other.status, "it is accepted, since the ID is certain")
	require.NotContains(t, other.raw, `"duplicate":true`)
	require.Contains(t, other.raw, `"conflict":true`)
	require.Equal(t, id, (<-recorded).Key)
	require.Contains(t, logged.line("hmac:"+id), `"event.conflict"`)
}
