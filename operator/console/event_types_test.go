package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/eventtype"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/api/eventtypeapi"
	"holdfast/operator/console"
)

// declaredTypes has 51 types.
type declaredTypes struct{ eventtypeapi.Store }

func (declaredTypes) EventTypesAfter(_ context.Context, after string, limit int) (all []eventtype.EventType, _ error) {
	for i := range 51 {
		t, _ := declaredTypes{}.EventType(context.Background(), fmt.Sprintf("order.%02d", i))
		if t.Name > after && len(all) < limit {
			all = append(all, t)
		}
	}
	return all, nil
}

func (declaredTypes) EventType(_ context.Context, name string) (eventtype.EventType, error) {
	if name == "missing" {
		return eventtype.EventType{}, event.ErrNotFound
	}
	return eventtype.EventType{
		Name: name, Description: "A <b>customer</b> paid.", Check: eventtype.CheckWarn,
		Versions: map[string]eventtype.TypeVersion{
			"1": {Schema: json.RawMessage(`{"required":["old"]}`), Deprecated: true},
			"2": {
				Schema:  json.RawMessage(`{"required":["new"],"enum":["` + strings.Repeat(`<",\"`, 2000) + `"]}`),
				Example: json.RawMessage(`{"new":1}`),
			},
		},
	}, nil
}

// Types are listed and shown to viewers, with the newest version or the chosen one. A large schema is cut, and says so.
func TestThePagesOfEventTypes(t *testing.T) {
	t.Parallel()
	s := startWith(t, console.Options{API: &api.API{EventTypes: &eventtypeapi.API{Store: declaredTypes{}}}})
	v := s.as(t, access.RoleViewer)
	_, page := v.get(s.url + "/console/event-types")
	require.Contains(t, page, `href="/console/event-types/order.00"`)
	require.Contains(t, page, "A &lt;b&gt;customer&lt;/b&gt; paid.")
	require.Contains(t, page, "deprecated: 1")
	require.NotContains(t, page, `href="/console/event-types/order.50"`)
	_, page = v.get(s.url + "/console/event-types?after=order.49")
	require.Contains(t, page, `href="/console/event-types/order.50"`)

	res, page := v.get(s.url + "/console/event-types/order.00")
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, page, "&#34;new&#34;: 1")
	require.Contains(t, page, "Only the beginning is shown.")
	require.Less(t, len(page), 100_000)
	_, page = v.get(s.url + "/console/event-types/order.00?version=1")
	require.Contains(t, page, "version 1, deprecated")
	require.Contains(t, page, "&#34;old&#34;")
	require.NotContains(t, page, "Only the beginning is shown.")
	res, _ = v.get(s.url + "/console/event-types/missing")
	require.Equal(t, 404, res.StatusCode)
}
