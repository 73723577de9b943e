package dispatcher

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// A client gets an error only for an invalid event: if the definition fails or takes too long, the event is accepted and becomes
// a dead letter or is processed later.
func TestOnlyAMalformedEventIsRefused(t *testing.T) {
	t.Parallel()
	for class, refused := range map[event.Class]bool{event.ClassRejected: true, event.ClassFailed: false, event.ClassTransient: false} {
		s := New(Options{
			Authenticate: func(string) error { return nil },
			Parse:        func([]byte) error { return &event.Error{Class: class, Code: "jq_deadline", Text: "took too long"} },
		})
		require.Equal(t, refused, s.Check(Provider, "", []byte(`{"id":"evt_1","type":"order.paid"}`)) != "", class)
	}
}
