package console

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/api/definitionapi"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/api/eventtypeapi"
	"holdfast/providers"
)

type auditLog = interface{ api.AuditLog }

func everything() *Console {
	return New(Options{
		API: &api.API{
			Events: struct{ api.EventStore }{}, DeadLetters: struct{ api.DeadLetterStore }{}, SingleReplays: struct{ api.SingleReplayer }{},
			Entities: struct{ api.EntityStore }{}, Audit: struct{ auditLog }{}, Errors: struct{ api.ErrorLog }{},
			Stats: struct{ api.Statistics }{}, Replays: struct{ api.BulkReplayer }{}, Rebuilds: struct{ api.Rebuilder }{},
			Imports: &api.Importer{}, Outbound: &deliveryapi.API{Resends: struct{ deliveryapi.Resender }{}},
			EventTypes: &eventtypeapi.API{}, Definitions: &definitionapi.API{},
		},
		Definitions: &providers.Live{},
	})
}

// A console with all pages has exactly the routes of the access table.
func TestEveryPageIsInTheAccessTable(t *testing.T) {
	t.Parallel()
	var pages, guarded []string
	for _, p := range everything().Site().Pages {
		pages = append(pages, p.Method+" "+p.Path)
	}
	for route := range access.Routes() {
		if strings.Contains(route, " "+Home) {
			guarded = append(guarded, route)
		}
	}
	require.ElementsMatch(t, guarded, pages)
}
