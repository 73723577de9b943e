package providers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// A definition sets when its dead events are replayed; unset settings stay as configured.
func TestADefinitionHasItsReplay(t *testing.T) {
	t.Parallel()
	configured := operation.ReplayPolicy{Base: time.Hour, Attempts: 3, Classes: []event.Class{event.ClassFailed}}
	for text, want := range map[string]operation.ReplayPolicy{
		"on":                    configured,
		"off":                   {Base: time.Hour, Attempts: 3},
		"{automatic: off}":      {Base: time.Hour, Attempts: 3},
		"{base: 1m}":            {Base: time.Minute, Attempts: 3, Classes: configured.Classes},
		"{attempts: 5}":         {Base: time.Hour, Attempts: 5, Classes: configured.Classes},
		"{classes: [rejected]}": {Base: time.Hour, Attempts: 3, Classes: []event.Class{event.ClassRejected}},
	} {
		p, err := loadOne(t, minimal+"replay: "+text+"\n")
		require.NoError(t, err, text)
		require.Equal(t, want, p.Replay().Over(configured), text)
	}
}
