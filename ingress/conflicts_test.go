package ingress

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/runs"
)

// bookFunc is a ConflictBook.
type bookFunc func(event.Conflict) error

func (f bookFunc) RecordConflict(_ context.Context, c event.Conflict) error { return f(c) }

// Two events of one key are on their way at the same time, and share a commit:
//   - the second is a conflict if it is another event, and a duplicate if it is not
func TestAConflictAmongRequestsAtTheSameTime(t *testing.T) {
	t.Parallel()
	for other, want := range map[string]bool{"sha256:a": false, "sha256:b": true, "": false} {
		synctest.Test(t, func(t *testing.T) {
			c := newCommitter(t, newFakeInbox())
			c.temporal.during = func(context.Context) { elapse(100 * time.Millisecond) }
			start := func(fingerprint string) runs.Started {
				r := waiting(1)
				r.ID, r.Fingerprint = r.ID+fingerprint, fingerprint
				started, err := c.commitOnce(t.Context(),
					arrival{Event: Event{Receipt: r}, slowAt: time.Now().Add(time.Second), turns: make(chan struct{}, 1)})
				require.NoError(t, err)
				return started
			}
			first := make(chan runs.Started)
			go func() { first <- start("sha256:a") }()
			synctest.Wait()
			second := start(other)
			require.Equal(t, runs.StateAccepted, (<-first).State)
			require.Equal(t, runs.StateProcessing, second.State)
			require.Equal(t, want, second.Conflict != nil, other)
		})
	}
}

// A conflict is recorded once it is known, and told in the answer and in the log though it cannot be recorded.
func TestAConflictIsAnsweredAndRecorded(t *testing.T) {
	t.Parallel()
	recorded := make(chan event.Conflict, 2)
	d := openDoor(t, "", func(o *Options, in *IntakeOptions) {
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
	require.Equal(t, 200, other.status)
	require.Contains(t, other.raw, `"duplicate":true,"conflict":true`)
	require.Equal(t, id, (<-recorded).Key)
	require.Contains(t, logged.line("hmac:"+id), `"event.conflict"`)
}
