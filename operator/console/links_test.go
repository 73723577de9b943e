package console

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/launch"
	"holdfast/providers"
)

var address = regexp.MustCompile(`(?i)(?:href|src|action|hx-get|hx-sse:connect)\s*=\s*["']?\s*(?:javascript|data|vbscript):`)

// Whatever a destination, an event or the configuration contains, no link of a page runs a script.
func TestNoLinkRunsAScript(t *testing.T) {
	t.Parallel()
	const script = "javascript:alert(document.cookie)"
	c := New(Options{API: &api.API{}, TraceURL: script + "{trace_id}", TemporalWeb: script, Namespace: script})
	headers := map[string]string{script: script}
	receipt := event.Receipt{ID: script, Provider: script, Trace: "00-a-b-01", Key: script, Headers: headers}
	one := api.EventDetail{EventView: api.EventView{
		ID: script, Provider: script, Key: script, Type: script, Replaces: script, SplitFrom: script,
		Run: event.Run{WorkflowID: script, RunID: script},
	}, Receipt: receipt}
	ref := event.EntityRef{Provider: script, Kind: script, ExternalID: script}
	one.Entities = []api.Change{{Link: event.Link{EntityRef: ref}}}
	deadLetter := api.DeadLetterView{ID: 1, EventID: script, Provider: script, ReplacedBy: script, Replaces: script}
	one.DeadLetters = []api.DeadLetterView{deadLetter}
	goes := delivery.Destination{Name: script, HTTP: &delivery.HTTP{URL: script}}
	row := destinationRow{DestinationView: deliveryapi.DestinationView{Destination: goes}}
	for name, data := range map[string]any{
		"event": eventPage{EventDetail: one, Links: c.linksOf(one), Commands: []string{script}},
		"dead_letter": deadLetterPage{
			DeadLetterDetail: api.DeadLetterDetail{DeadLetterView: deadLetter, Receipt: receipt}, Links: c.linksOf(one),
		},
		"destinations": destinationList{Rows: []destinationRow{row}, All: 1},
		"destination":  destinationPage{destinationRow: row},
		"events":       eventList{Rows: []api.EventView{one.EventView}},
		"audit":        auditPage{Rows: []oversight.AuditEntry{{Object: "event:" + script}, {Object: script}}},
		"confirm":      frame.Confirm{Action: script, Back: script, Facts: []frame.Fact{{script, script}}},
		"operation":    operationView{Links: []routeLink{{script, script, operationsPath}}},
	} {
		v := frame.View{Page: frame.Page{Title: script, Data: data}, Caller: access.Caller{Role: access.RoleAdmin}}
		drawn, err := c.Fragment(name, "layout.html", v)
		require.NoError(t, err, name)
		require.Contains(t, string(drawn), "javascript", name)
		require.NotRegexp(t, address, string(drawn), name)
	}
}

// A viewer gets no links to pages that refuse viewers, such as a rebuild's diff or a form to repeat it.
func TestAnOperationLinksOnlyToAllowedPages(t *testing.T) {
	t.Parallel()
	c := New(Options{API: &api.API{Rebuilds: &launch.Rebuilds{}}})
	c.Site()
	of := ofRebuild(operation.Rebuild{Base: operation.Base{ID: "r1", State: operation.Completed}, DryRun: true})
	for role, may := range map[access.Role]bool{access.RoleViewer: false, access.RoleOperator: true} {
		v := frame.View{Page: frame.Page{Title: "r1", Data: of}, Caller: access.Caller{Role: role}}
		drawn, err := c.Fragment("operation", "layout.html", v)
		require.NoError(t, err)
		require.Equal(t, may, strings.Contains(string(drawn), "/rebuilds/r1/diff"), role)
		require.Equal(t, may, strings.Contains(string(drawn), "Rebuild the same"), role)
	}
}

// The page of an event with a corrected key shows both keys, and which of them its workflow ID keeps.
func TestACorrectedKeyIsShownWithTheFormer(t *testing.T) {
	t.Parallel()
	c := New(Options{API: &api.API{}})
	c.Site()
	one := eventPage{EventDetail: api.EventDetail{
		EventView: api.EventView{ID: "01a2", Provider: "shop", Key: "missing:1", CorrectedKey: "o_77", Status: event.StatusProcessed},
		Receipt:   event.Receipt{KeyFrom: event.KeyFromNothing},
	}}
	v := frame.View{Page: frame.Page{Data: one}, Caller: access.Caller{Role: access.RoleViewer}}
	drawn, err := c.Fragment("event", "layout.html", v)
	require.NoError(t, err)
	require.Regexp(t, `<dt>Key</dt><dd><code>o_77</code>.*by the corrected definition`, string(drawn))
	require.Regexp(t, `<dt>Accepted with the key</dt><dd><code>missing:1</code>`, string(drawn))
	require.NotContains(t, string(drawn), "the definition finds none")

	v.Data = eventList{Rows: []api.EventView{one.EventView}}
	drawn, err = c.Fragment("events", "layout.html", v)
	require.NoError(t, err)
	require.Contains(t, string(drawn), "<code>o_77</code>", "a list that was searched for the key shows it")
}

// droppedUnder has one conflict of each key.
type droppedUnder struct{}

func (droppedUnder) Conflicts(_ context.Context, q event.ConflictQuery) ([]event.Conflict, error) {
	return []event.Conflict{{Provider: q.Provider, Key: q.Key}}, nil
}

// What was dropped under the key that an event had before a correction stays on its page.
func TestACorrectedEventShowsTheConflictsOfBothKeys(t *testing.T) {
	t.Parallel()
	c := New(Options{API: &api.API{Conflicts: droppedUnder{}}})
	found, err := c.conflictsOf(t.Context(), api.EventDetail{EventView: api.EventView{Provider: "shop", Key: "wrong", CorrectedKey: "o_77"}})
	require.NoError(t, err)
	require.Equal(t, []event.Conflict{{Provider: "shop", Key: "o_77"}, {Provider: "shop", Key: "wrong"}}, found)
	found, err = c.conflictsOf(t.Context(), api.EventDetail{EventView: api.EventView{Provider: "shop", Key: "right"}})
	require.NoError(t, err)
	require.Equal(t, []event.Conflict{{Provider: "shop", Key: "right"}}, found)
}

// An event that changed no entity leads to what each rule of its definition finds in it, for those who may try requests.
func TestAnEventWithoutEntitiesLeadsToItsExplanation(t *testing.T) {
	t.Parallel()
	c := New(Options{API: &api.API{}, Definitions: &providers.Live{}})
	c.Site()
	one := eventPage{EventDetail: api.EventDetail{EventView: api.EventView{ID: "01a2", Provider: "shop", PersistedAt: time.Now()}}}
	for role, may := range map[access.Role]bool{access.RoleViewer: false, access.RoleOperator: true} {
		v := frame.View{Page: frame.Page{Title: "shop", Data: one}, Caller: access.Caller{Role: role}}
		drawn, err := c.Fragment("event", "layout.html", v)
		require.NoError(t, err)
		require.Equal(t, may, strings.Contains(string(drawn), `href="/console/providers/shop/try?event=01a2"`), role)
		require.Contains(t, string(drawn), `<a href="/console/providers/shop">shop</a>`, role)
	}
}

// URLs of links are built by our functions, which escape their arguments, or come from the configuration, for which
// html/template allows only http and https.
func TestEveryAddressIsMadeByUs(t *testing.T) {
	t.Parallel()
	dynamic := regexp.MustCompile(`(?:href|src|action)="(\{\{[^"]*)`)
	files, err := fs.Glob(templates, "templates/*.html")
	require.NoError(t, err)
	parts, err := filepath.Glob("frame/parts/*.html")
	require.NoError(t, err)
	require.NotEmpty(t, parts)
	for _, file := range append(files, parts...) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range dynamic.FindAllStringSubmatch(string(text), -1) {
			made := strings.HasPrefix(found[1], "{{url ") || strings.HasPrefix(found[1], "{{asset ") ||
				found[1] == "{{.}}" || found[1] == "{{.First}}" || found[1] == "{{.Next}}" || found[1] == "{{$.Here}}"
			require.True(t, made, "%s: %s", file, found[1])
		}
	}
}

// The page of an event that died before it was parsed claims nothing that is unknown yet, and leads to what each rule finds.
func TestADeadEventSaysWhatIsUnknown(t *testing.T) {
	t.Parallel()
	c := New(Options{API: &api.API{}, Definitions: &providers.Live{}})
	c.Site()
	one := eventPage{EventDetail: api.EventDetail{
		EventView: api.EventView{
			ID: "01a2", Provider: "shop", Key: "missing:1", Status: event.StatusDead, OccurredAtMissing: true,
		},
		Receipt: event.Receipt{KeyFrom: event.KeyFromNothing}, Attempts: make([]oversight.ErrorEntry, 1),
		Deliveries: []deliveryapi.DeliveryView{},
	}}
	v := frame.View{Page: frame.Page{Data: one}, Caller: access.Caller{Role: access.RoleOperator}}
	drawn, err := c.Fragment("event", "layout.html", v)
	require.NoError(t, err)
	for _, shown := range []string{
		"unknown until the event is parsed", "Not delivered yet", "No entity is changed: processing failed",
		"What each rule finds", "the definition finds none", "1 error of its steps",
	} {
		require.Contains(t, string(drawn), shown)
	}
	for _, wrong := range []string{
		"not given by the provider", "Deliveries <small>failed", "No subscription matches", "Not parsed yet",
	} {
		require.NotContains(t, string(drawn), wrong)
	}
}
