package operator_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/api/deliveryapi"
)

// The flat form creates a destination and a subscription of the same name, for clients without a notion of destinations.
func TestTheFlatFormMakesBoth(t *testing.T) {
	t.Parallel()
	behind := &stub{noSuch: "crm-hooks"}
	_, base := serve(t, operator.Options{API: behind.api()})
	r := ask(t, "POST", base+"/subscriptions", `{"name":"crm-hooks","url":"https://crm.example.com/hooks",
		"event_types":["customer.*"],"secret":"hunter2hunter2hunter2","rate_limit":2.5,"active":false}`)
	require.Equal(t, 201, r.status, string(r.body))
	require.Equal(t, delivery.Destination{
		Name: "crm-hooks", Version: delivery.MustBeNew, HTTP: &delivery.HTTP{URL: "https://crm.example.com/hooks"},
		Rate: &delivery.Rate{Requests: 5, Per: event.Duration(2 * time.Second)},
	}, behind.destination)
	require.Equal(t, delivery.Subscription{
		Name: "crm-hooks", To: "crm-hooks", Events: delivery.Events{Types: []string{"customer.*"}}, Version: delivery.MustBeNew,
	}, behind.subscription)
	require.Contains(t, string(r.body), `"secret":"hunter2hunter2hunter2"`, "who has made it sees it once")

	r = ask(t, "POST", base+"/subscriptions", `{"url":"https://Hooks.Example.com:8443/x","rate_limit":0.5}`)
	require.Equal(t, 409, r.status, "the stub has every other name")
	const name = "hooks-example-com-6896cc24" // the host, and a suffix that distinguishes names of the same host
	require.Equal(t, "there is a subscription "+name+": PATCH /subscriptions/"+name+" changes it", r.Error.Detail)
}

// Likely mistakes are reported to the client and prevent nothing.
func TestProbableMistakesAreReported(t *testing.T) {
	t.Parallel()
	behind := &stub{noSuch: "crm-hooks"}
	_, base := serve(t, operator.Options{API: behind.api()})
	r := ask(t, "POST", base+"/subscriptions", `{"name":"crm-hooks","url":"http://localhost:9/hooks","event_types":["customer.?"],
		"events":{"providers":["stirpe","stripe"]}}`)
	require.Equal(t, 201, r.status, string(r.body))
	var made struct{ Warnings []string }
	require.NoError(t, json.Unmarshal(r.body, &made))
	require.Len(t, made.Warnings, 3)
	require.Contains(t, made.Warnings[0], "set HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.1,")
	require.Contains(t, made.Warnings[1], `"stirpe"`)
	require.Contains(t, made.Warnings[2], `"customer.?"`)
}

// A new destination or subscription that uses Holdfast's own names gets a warning: each delivery would fail.
func TestReservedNamesAreReported(t *testing.T) {
	t.Parallel()
	behind := &stub{noSuch: "own", temporal: delivery.Temporal{TaskQueue: "orders"}}
	_, base := serve(t, operator.Options{API: behind.api()})
	var made struct{ Warnings []string }
	r := ask(t, "POST", base+"/destinations", `{"name":"own","temporal":{"task_queue":"events"}}`)
	require.Equal(t, 201, r.status, string(r.body))
	require.NoError(t, json.Unmarshal(r.body, &made))
	require.Equal(t, []string{`task queue "events" is reserved in Holdfast's own namespace: use a queue that only your own workers poll; ` +
		"until then every delivery fails"}, made.Warnings)

	const subscription = `{"name":"own","to":"queue","start":{"type":"ProcessEvent","workflow_id":"\"stripe:\" + .body.id"}}`
	r = ask(t, "POST", base+"/subscriptions", subscription)
	require.Equal(t, 201, r.status, string(r.body))
	require.NoError(t, json.Unmarshal(r.body, &made))
	require.Len(t, made.Warnings, 2)
	require.Contains(t, made.Warnings[0], `workflow type "ProcessEvent"`)
	require.Contains(t, made.Warnings[1], `begin with "stripe:"`)

	behind.temporal.Profile = "team" // only Temporal can tell whether that is Holdfast's own namespace
	r = ask(t, "POST", base+"/subscriptions", subscription)
	require.Equal(t, 201, r.status, string(r.body))
	require.NotContains(t, string(r.body), "warnings")
}

// Creating never replaces a destination that others may use, neither by name nor by repeating a request without one.
func TestTheFlatFormReplacesNothing(t *testing.T) {
	t.Parallel()
	behind := &stub{noSubscription: "crm"}
	_, base := serve(t, operator.Options{API: behind.api()})
	r := ask(t, "POST", base+"/subscriptions", `{"name":"crm","url":"https://elsewhere.example.com","secret":"hunter2hunter2hunter2"}`)
	require.Equal(t, "409 refused name", fmt.Sprint(r.status, " ", r.Error.Code, " ", r.Error.Field))
	require.Equal(t, `there is a destination crm: PATCH /destinations/crm changes it, and a subscription names it by "to"`, r.Error.Detail)
	require.Empty(t, behind.destination.Name)
	require.Empty(t, behind.subscription.Name)
}

// Nothing that could sign a request is shown after its creation, and viewers see neither addresses nor responses.
func TestSecretsAreNeverShownAgain(t *testing.T) {
	t.Parallel()
	tokens, texts := crowd(t)
	_, base := serve(t, operator.Options{API: (&stub{}).api(), Tokens: tokens})
	for _, path := range []string{
		"/destinations", "/destinations/crm", "/subscriptions", "/subscriptions/customers", "/deliveries", "/events/" + someID,
		"/deliveries/" + someID + "/customers", "/events/" + someID + "/attempts",
	} {
		for _, role := range access.Roles() {
			r := ask(t, "GET", base+path, "", bearer(texts[role])...)
			require.Equal(t, 200, r.status, path)
			require.NotContains(t, string(r.body), "whsec_", "%s as %s", path, role)
			require.NotContains(t, string(r.body), "hunter3", "%s as %s", path, role)
			if role == access.RoleViewer {
				require.NotContains(t, string(r.body), "hunter2", path)
				require.NotContains(t, string(r.body), "4242", path)
				require.NotContains(t, string(r.body), "example.com/hooks", path)
			}
		}
	}
	shown := ask(t, "GET", base+"/destinations/crm", "", bearer(texts[access.RoleViewer])...)
	require.Contains(t, string(shown.body), `"url":"https://crm.example.com"`)
	require.Contains(t, string(shown.body), `"X-Key":"[redacted]"`)
	require.Contains(t, string(shown.body), admin.Fingerprint(delivery.Secret{Value: "whsec_hunter1hunter1"}))
	whole := ask(t, "GET", base+"/deliveries/"+someID+"/customers", "", bearer(texts[access.RoleOperator])...)
	require.Contains(t, string(whole.body), `"answer":"card 4242 �"`)
	var log struct{ Log []json.RawMessage }
	require.NoError(t, json.Unmarshal(whole.body, &log))
	require.Len(t, log.Log, 1, "attempts of other subscriptions are not this delivery's")
}

// A patch keeps the other fields; a replacement doesn't.
func TestAPatchAndAReplacement(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api()})
	r := ask(t, "PATCH", base+"/destinations/crm", `{"http":{"headers":{"X-More":"1"}},"rate":null,"timeout":"20s","id":77}`)
	require.Equal(t, 200, r.status, string(r.body))
	wanted := someDestination()
	wanted.HTTP.Headers["X-More"], wanted.Rate, wanted.Timeout = "1", nil, event.Duration(20*time.Second)
	require.Equal(t, wanted, behind.destination)

	r = ask(t, "PUT", base+"/destinations/crm", `{"temporal":{"task_queue":"orders"}}`)
	require.Equal(t, 200, r.status, string(r.body))
	require.Equal(t, delivery.Destination{Name: "crm", Temporal: &delivery.Temporal{TaskQueue: "orders"}}, behind.destination)

	r = ask(t, "PATCH", base+"/subscriptions/customers", `{"active":false}`)
	require.Equal(t, 200, r.status, string(r.body))
	off := someSubscription()
	off.Active = false
	require.Equal(t, off, behind.subscription)
	r = ask(t, "PUT", base+"/subscriptions/customers", `{"to":"crm"}`)
	require.Equal(t, 200, r.status, string(r.body))
	require.Equal(t, delivery.Subscription{Name: "customers", To: "crm", Active: true}, behind.subscription)

	r = ask(t, "POST", base+"/subscriptions/customers/rotate-secret", `{"grace":"48h"}`)
	require.Equal(t, 200, r.status, string(r.body))
	require.Equal(t, 48*time.Hour, behind.grace)
	require.Contains(t, string(r.body), `"secret":"whsec_new"`)
	ask(t, "POST", base+"/destinations/crm/rotate-secret", `{}`)
	require.Equal(t, 24*time.Hour, behind.grace)
	ask(t, "POST", base+"/subscriptions/customers/pause", `{"reason":"they asked"}`)
	require.Contains(t, behind.called(), "crm paused", "a subscription is paused with its destination")
	require.Equal(t, "they asked", behind.actor.Reason)
}

func TestDeliveriesAreFiltered(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api()})
	r := ask(t, "GET", base+"/deliveries?subscription=customers&destination=crm&only=undelivered&limit=2&since=1h", "")
	require.Equal(t, 200, r.status, string(r.body))
	q := behind.deliveries
	require.Equal(t, []any{int64(5), int64(3), true, false, 3}, []any{q.SubscriptionID, q.DestinationID, q.Undelivered, q.Open, q.Limit})
	require.WithinDuration(t, time.Now().Add(-time.Hour), q.Since, time.Minute)
	var page struct{ Next string }
	require.NoError(t, json.Unmarshal(r.body, &page))
	r = ask(t, "GET", base+"/deliveries?cursor="+page.Next, "")
	require.Equal(t, 200, r.status, string(r.body))
	require.Equal(t, &delivery.Key{EventID: someID, SubscriptionID: 5}, behind.deliveries.Before)

	r = ask(t, "POST", base+"/deliveries/"+someID+"/customers/resend", "")
	require.Equal(t, 200, r.status, string(r.body))
	require.Equal(t, delivery.Key{EventID: someID, SubscriptionID: 5}, behind.key)
	var resent deliveryapi.Resent
	for _, has := range []bool{false, true} {
		behind.hasDelivery, behind.key = has, delivery.Key{}
		r = ask(t, "POST", base+"/deliveries/"+someID+"/customers/resend", `{"missing":true,"reason":"INC-42"}`)
		require.Equal(t, 200, r.status, string(r.body))
		require.NoError(t, json.Unmarshal(r.body, &resent))
		require.Equal(t, []any{!has, someID}, []any{resent.Sent, resent.Delivery.EventID})
		require.Equal(t, []any{delivery.Key{EventID: someID, SubscriptionID: 5}, "INC-42"}, []any{behind.key, behind.actor.Reason})
	}
	r = ask(t, "POST", base+"/resends", `{"subscription":"customers","since":"2026-11-20T00:00:00Z","everything":true}`)
	require.Equal(t, 202, r.status, string(r.body))
	resend := behind.started.(operation.Resend)
	require.Equal(t, []any{int64(5), true, 100.0}, []any{resend.SubscriptionID, resend.Everything, resend.Rate})
}

// Pending deliveries are canceled by filters: a dry run counts and sets the end of the range, and no more than that are
// canceled.
func TestPendingDeliveriesAreCanceledByFilters(t *testing.T) {
	t.Parallel()
	behind := &stub{noSuch: "new"}
	_, base := serve(t, operator.Options{API: behind.api()})
	r := ask(t, "POST", base+"/deliveries/cancel", `{"destination":"crm","status":"retrying","since":"2026-11-20T00:00:00Z","dry_run":true}`)
	require.Equal(t, 200, r.status, string(r.body))
	var counted struct {
		Waiting, Canceled int
		Until             time.Time
	}
	require.NoError(t, json.Unmarshal(r.body, &counted))
	require.Equal(t, []int{12, 0}, []int{counted.Waiting, counted.Canceled})
	require.WithinDuration(t, time.Now(), counted.Until, time.Minute)
	require.NotContains(t, behind.called(), "cancel waiting")
	require.Equal(t, []any{int64(3), delivery.Retrying}, []any{behind.deliveries.DestinationID, behind.deliveries.Status})

	until := counted.Until.Format(time.RFC3339Nano)
	r = ask(t, "POST", base+"/deliveries/cancel", `{"subscription":"customers","until":"`+until+`","count":7,"reason":"INC-42"}`)
	require.Equal(t, 200, r.status, string(r.body))
	require.Contains(t, string(r.body), `"canceled":7`)
	require.True(t, counted.Until.Equal(behind.deliveries.Until))
	require.Equal(t, "INC-42", behind.actor.Reason)
	for content, want := range map[string]string{
		`{}`:                   "400 missing_field destination",
		`{"status":"pending"}`: "400 missing_field destination",
		`{"destination":"crm","status":"delivered"}`: "400 bad_field status",
		`{"destination":"crm","count":-1}`:           "400 bad_field count",
		`{"event_id":"7"}`:                           "400 bad_field event_id",
		`{"destination":"new"}`:                      "404 no_such_thing ",
		`{"destination":"crm","since":"2026-11-20T00:00:00Z","until":"2026-11-19T00:00:00Z"}`: "400 bad_field until",
	} {
		r := ask(t, "POST", base+"/deliveries/cancel", content)
		require.Equal(t, want, fmt.Sprint(r.status, " ", r.Error.Code, " ", r.Error.Field), content)
	}
}

func TestAnEventTellsHowItsDeliveriesStand(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api()})
	r := ask(t, "GET", base+"/events/"+someID, "")
	require.Contains(t, string(r.body), `"delivery_status":"retrying"`)
	require.Contains(t, string(r.body), `"deliveries":[{"event_id":"`+someID)
}

// The user's own types have no samples, so a check takes an event, stored or not, as the command line does.
func TestACheckTakesAnEvent(t *testing.T) {
	t.Parallel()
	behind := &stub{}
	_, base := serve(t, operator.Options{API: behind.api()})
	for content, wanted := range map[string]admin.Choice{
		"":                              {},
		`{"event_id":"` + someID + `"}`: {EventID: someID},
		`{"provider":"events","body":"{\"id\":\"evt_1\"}"}`: {Provider: "events", Body: []byte(`{"id":"evt_1"}`)},
	} {
		require.Equal(t, 200, ask(t, "POST", base+"/subscriptions/customers/check", content).status, content)
		require.Equal(t, wanted, behind.choice, content)
	}
}

func TestOutboundRequestsAreReadStrictly(t *testing.T) {
	t.Parallel()
	behind := &stub{noSuch: "new"}
	_, base := serve(t, operator.Options{API: behind.api()})
	for name, c := range map[string]struct{ method, path, content, want, field string }{
		"an unknown field":          {"POST", "/destinations", `{"name":"new","http":{"uri":"x"}}`, "400 unknown_field", "uri"},
		"a duration without a unit": {"POST", "/destinations", `{"name":"new","timeout":"7"}`, "400 bad_field", ""},
		"a cap of text":             {"POST", "/destinations", `{"name":"new","in_flight":"x"}`, "400 bad_field", "in_flight"},
		"types of text":             {"POST", "/subscriptions", `{"url":"https://a.example","event_types":"a"}`, "400 bad_field", "event_types"},
		"an address of a number":    {"POST", "/destinations", `{"name":"new","http":{"url":7}}`, "400 bad_field", "http.url"},
		"no name":                   {"POST", "/destinations", `{"http":{"url":"https://a.example"}}`, "400 missing_field", "name"},
		"a name that is taken":      {"POST", "/destinations", `{"name":"crm"}`, "409 refused", "name"},
		"another name":              {"PATCH", "/destinations/crm", `{"name":"other"}`, "400 bad_field", "name"},
		"a subscription's as well":  {"PUT", "/subscriptions/customers", `{"name":"other"}`, "400 bad_field", "name"},
		"no subscription's name":    {"POST", "/subscriptions", `{"to":"crm"}`, "400 missing_field", "name"},
		"a secret for nobody":       {"POST", "/subscriptions", `{"name":"new","to":"crm","secret":"x"}`, "400 missing_field", "url"},
		"both forms":                {"POST", "/subscriptions", `{"name":"new","to":"crm","url":"https://a.example"}`, "400 bad_field", "to"},
		"types twice": {"POST", "/subscriptions", `{"url":"https://a.example","event_types":["a"],"events":{"types":["b"]}}`,
			"400 bad_field", "event_types"},
		"a rate of nothing":      {"POST", "/subscriptions", `{"name":"new","url":"https://a.example","rate_limit":0}`, "400 bad_field", "rate_limit"},
		"an address of a stored": {"PATCH", "/subscriptions/customers", `{"url":"https://a.example"}`, "400 unknown_field", "url"},
		"a trial of no event":    {"POST", "/subscriptions/customers/test", `{"event_id":"7"}`, "400 bad_field", "event_id"},
		"a check of no event":    {"POST", "/subscriptions/customers/check", `{"event_id":"7"}`, "400 bad_field", "event_id"},
		"a check of two events": {"POST", "/subscriptions/customers/check", `{"event_id":"` + someID + `","body":"{}"}`,
			"400 bad_field", "body"},
		"a status of its own":      {"GET", "/deliveries?status=lost", ``, "400 bad_parameter", "status"},
		"a selection of its own":   {"GET", "/deliveries?only=lost", ``, "400 bad_parameter", "only"},
		"a status and a selection": {"GET", "/deliveries?status=failed&only=open", ``, "400 bad_parameter", "only"},
		"an event that is none":    {"GET", "/deliveries?event_id=7", ``, "400 bad_parameter", "event_id"},
		"a cursor of its own":      {"GET", "/deliveries?cursor=e30", ``, "400 bad_cursor", ""},
		"a delivery of no event":   {"POST", "/deliveries/7/customers/resend", ``, "400 bad_parameter", "id"},
		"a resend of nothing":      {"POST", "/resends", ``, "400 missing_field", "subscription"},
		"a resend of all times":    {"POST", "/resends", `{"subscription":"customers"}`, "400 missing_field", "since"},
		"a resend of no time": {"POST", "/resends/plan", `{"subscription":"customers","since":"2026-01-02T00:00:00Z","until":"2026-01-01T00:00:00Z"}`,
			"400 bad_field", "until"},
		"a resend of a stampede": {"POST", "/resends", `{"subscription":"customers","since":"2026-01-02T00:00:00Z","rate":1e9}`,
			"400 bad_field", "rate"},
		"a reason that is a novel": {"DELETE", "/subscriptions/customers", `{"reason":"` + strings.Repeat("x", 2000) + `"}`, "400 bad_field", "reason"},
		"a name that is not there": {"GET", "/subscriptions/new", ``, "404 no_such_thing", ""},
	} {
		r := ask(t, c.method, base+c.path, c.content)
		require.Equal(t, c.want, fmt.Sprint(r.status, " ", r.Error.Code), "%s: %s", name, r.body)
		require.Equal(t, c.field, r.Error.Field, name)
	}
	require.Nil(t, behind.destination.HTTP)
	require.Empty(t, behind.subscription.Name)
	behind.err = event.Rejectf("invalid_destination", "http.url must be a URL with http or https and a host")
	r := ask(t, "PUT", base+"/destinations/crm", `{"http":{"url":"x"}}`)
	require.Equal(t, "400 bad_field http.url must be a URL with http or https and a host",
		fmt.Sprint(r.status, " ", r.Error.Code, " ", r.Error.Detail))
}
