package event_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

func TestAFailureNamesItsRule(t *testing.T) {
	t.Parallel()
	for message, c := range map[string]struct{ code, want string }{
		"jq_failed: evaluate entities[0].id":                {"jq_failed", "entities[0].id"},
		"upsert event 1: jq_null: evaluate key":             {"jq_null", "key"},
		"missing_key: .id gave null: evaluate key.parts[0]": {"missing_key", "key.parts[0]"},
		"missing_type: the event has no type":               {"missing_type", ""},
		"malformed_json: the body is not JSON":              {"malformed_json", ""},
		"handler_failed: evaluate what somebody has sent":   {"jq_failed", ""},
		"unclassified: evaluate type":                       {"unclassified", ""},
		"bad_time: evaluate " + strings.Repeat("f", 200):    {"bad_time", strings.Repeat("f", 200)},
		"bad_time: evaluate " + strings.Repeat("f", 201):    {"bad_time", ""},
	} {
		require.Equal(t, c.want, event.Failure{Code: c.code, Message: message}.Rule(), message)
	}
}
