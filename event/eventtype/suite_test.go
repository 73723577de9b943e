package eventtype_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event/eventtype"
)

// suiteCase has the form of the official JSON-Schema-Test-Suite.
type suiteCase struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

func TestTheRulesThatThePageStates(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/suite/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var cases []suiteCase
		require.NoError(t, json.Unmarshal(text, &cases))
		for _, one := range cases {
			catalog := catalogOf(t, eventtype.EventType{
				Name: "x", Check: eventtype.CheckRefuse, Versions: map[string]eventtype.TypeVersion{"1": {Schema: one.Schema}},
			})
			for _, test := range one.Tests {
				steps := eventtype.MaxSteps
				r := catalog.CheckEvent("x", fmt.Appendf(nil, `{"type":"x","data":%s}`, test.Data), &steps)
				require.Equal(t, test.Valid, len(r.Violations) == 0, "%s: %s: %s: %s", file, one.Description, test.Description, r.Text())
			}
		}
	}
}

func catalogOf(t *testing.T, types ...eventtype.EventType) *eventtype.Catalog {
	t.Helper()
	for _, one := range types {
		require.Empty(t, one.Problems())
	}
	catalog, err := eventtype.NewCatalog(types, nil)
	require.NoError(t, err)
	return catalog
}
