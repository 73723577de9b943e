package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
)

// A destination with an open breaker isn't ready on any page, and its own page says what to do next.
func TestADestinationWithAnOpenBreakerIsNotReady(t *testing.T) {
	t.Parallel()
	c := New(Options{API: &api.API{}})
	row := destinationRow{DestinationView: deliveryapi.DestinationView{
		Destination: delivery.Destination{Name: "crm"},
		Condition:   delivery.Condition{State: delivery.DestinationReady, Breaker: delivery.BreakerOpen},
	}}
	caller := access.Caller{Role: access.RoleViewer}
	now := nowPage{Stats: &oversight.Stats{}, Failing: []failing{{"crm", row.Condition}}}
	disabled := finding{SeenFinding: oversight.SeenFinding{Finding: oversight.Finding{Check: "destinations", Detail: "1 disabled"}}}
	older := finding{SeenFinding: oversight.SeenFinding{Finding: oversight.Finding{Check: "failing destinations"}}}
	now.Bad = []finding{disabled, older}
	c.addProblems(&now)
	require.Len(t, now.Problems, 2, "no destination fails twice")
	require.Equal(t, "crm is failing", now.Problems[0].Title)
	require.Equal(t, "1 disabled", now.Problems[1].Detail, "the doctor also knows of destinations that someone has stopped")
	require.Equal(t, "/console/destinations/crm", now.Problems[0].Page)
	for page, data := range map[string]any{
		"destinations": destinationList{Rows: []destinationRow{row}, All: 1}, "destination": destinationPage{destinationRow: row},
	} {
		drawn, err := c.Fragment(page, "layout.html", frame.View{Page: frame.Page{Data: data}, Caller: caller})
		require.NoError(t, err)
		require.Contains(t, string(drawn), `<span class="state failing">failing</span>`, page)
		require.NotContains(t, string(drawn), `<span class="state ready">`, page)
		if page == "destination" {
			require.Contains(t, string(drawn), "then ask an operator to try again", "a viewer has no button")
			require.Contains(t, destinationPage{destinationRow: row}.NextStep(true, false), "then choose Try again now")
		}
	}
}

// A cause on the first page links to its own dead letters.
func TestACauseLeadsToItsDeadLetters(t *testing.T) {
	t.Parallel()
	counted := []oversight.DeadLetterCount{{Provider: "stripe", State: "exhausted", Class: event.ClassFailed, Code: "23514", Count: 3}}
	drawn, err := New(Options{API: &api.API{}}).Fragment("now", "now", nowPage{Stats: &oversight.Stats{DeadLetters: counted}})
	require.NoError(t, err)
	require.Contains(t, string(drawn),
		`href="/console/dead-letters/list?provider=stripe&amp;class=failed&amp;code=23514&amp;state=exhausted"`)
}

// The page of a replay names the destinations that its deliveries wait for.
func TestAReplayNamesItsBlockers(t *testing.T) {
	t.Parallel()
	view := frame.View{
		Page:   frame.Page{Data: ofReplay(operation.Replay{Base: operation.Base{State: operation.Running}, BlockedBy: []string{"crm"}})},
		Caller: access.Caller{Role: access.RoleViewer},
	}
	drawn, err := New(Options{API: &api.API{}}).Fragment("operation", "layout.html", view)
	require.NoError(t, err)
	require.Contains(t, string(drawn), `Deliveries are blocked: <a href="/console/destinations/crm">crm</a> can't receive now`)
}
