package operator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/operator"
	"holdfast/operator/access"
)

// If an entity's state at a time is no longer known, the response has the earliest time for which it is.
func TestAnUnknownTime(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	from := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	behind := &stub{err: fmt.Errorf("read entity: %w", &event.CollapsedError{Before: from})}
	_, base := serve(t, operator.Options{API: behind.api(), Tokens: tokens})
	r := ask(t, "GET", base+"/entities/acme/thing/1?as_of=1h", "", bearer(texts[access.RoleOperator])...)
	require.Equal(t, 404, r.status)
	require.Contains(t, string(r.body), `"known_from":"2026-11-20T12:00:00Z"`)
	require.Contains(t, string(r.body), "its state is known from 2026-11-20T12:00:00Z on")
}
