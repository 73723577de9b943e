package console_test

import (
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/operator/access"
)

// send fills in the form at a path as a role and submits it there.
func (s site) send(t *testing.T, role access.Role, path string, form url.Values) (status int, location, page string) {
	t.Helper()
	v := newVisitor(t)
	require.Equal(t, 303, v.logIn(s, s.tokens[role]).StatusCode)
	_, home := v.get(s.url + "/console")
	sent := proofIn(t, home)
	maps.Copy(sent, form)
	res, page := v.ask("POST", s.url+path, sent)
	return res.StatusCode, res.Header.Get("Location"), page
}

func (s site) look(t *testing.T, role access.Role, path string) (status int, page string) {
	t.Helper()
	v := newVisitor(t)
	require.Equal(t, 303, v.logIn(s, s.tokens[role]).StatusCode)
	res, page := v.get(s.url + path)
	return res.StatusCode, page
}

// Destinations and subscriptions can be created in the console as with the API, with a secret that is shown once and with
// warnings.
func TestADestinationIsCreated(t *testing.T) {
	t.Parallel()
	behind := newDestinations()
	s := startShowing(t, behind.shown(), "", true)
	status, _, page := s.send(t, access.RoleIntegrator, "/console/new-destination", url.Values{
		"name": {"crm"}, "http.url": {"http://127.0.0.1:9/hooks"}, "http.headers": {"X-Key: a:b\r\n\r\nX-More:2"}, "http.proxy": {"office"},
		"rate.requests": {"5"}, "timeout": {"20s"}, "retry.schedule": {"1s 5m"}, "breaker.failures": {"7"},
	})
	require.Equal(t, 200, status, page)
	require.Contains(t, page, `<code id="secret">whsec_bWFkZSBieSB0aGUgZGVzaw==</code>`)
	require.Contains(t, page, "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS", "a private address is pointed out")
	wanted := delivery.Destination{
		ID: 3, Version: 1, Name: "crm", Timeout: event.Duration(20 * time.Second),
		HTTP:    &delivery.HTTP{URL: "http://127.0.0.1:9/hooks", Headers: delivery.Headers{"X-Key": "a:b", "X-More": "2"}, Proxy: "office"},
		Rate:    &delivery.Rate{Requests: 5, Per: event.Duration(time.Second)},
		Retry:   delivery.Retry{Schedule: []event.Duration{event.Duration(time.Second), event.Duration(5 * time.Minute)}},
		Breaker: delivery.Breaker{Failures: 7},
	}
	require.Equal(t, wanted, behind.all["crm"])
	require.Equal(t, "the-integrator", behind.did[0].Name)

	status, _, page = s.send(t, access.RoleIntegrator, "/console/destinations/crm/subscribe", url.Values{
		"name": {"customers"}, "events.providers": {"stirpe"}, "events.types": {"customer.*, invoice.paid"}, "active": {"true"},
	})
	require.Equal(t, 200, status, page)
	require.Contains(t, page, "no definition is called &#34;stirpe&#34;")
	made := behind.subscriptions["customers"]
	require.Equal(t, []any{"crm", true, []string{"customer.*", "invoice.paid"}}, []any{made.To, made.Active, made.Events.Types})

	status, page = s.look(t, access.RoleIntegrator, "/console/destinations/crm")
	require.Equal(t, 200, status)
	require.NotContains(t, page, "whsec_")
	require.Contains(t, page, "<dt>Proxy</dt><dd>office</dd>")
}

// Errors are shown next to their fields, and the form keeps its values. Nothing is saved.
func TestAFormShowsErrorsNextToTheField(t *testing.T) {
	t.Parallel()
	behind := newDestinations()
	behind.all["taken"] = delivery.Destination{ID: 5, Name: "taken", HTTP: &delivery.HTTP{URL: "https://crm.example.com"}}
	s := startShowing(t, behind.shown(), "", true)
	const create, subscribe = "/console/new-destination", "/console/destinations/taken/subscribe"
	next := func(field string) string { return `id="e-` + field + `" role="alert">` }
	for name, c := range map[string]struct {
		path, field, why string
		form             url.Values
	}{
		"no name":           {create, "name", "is required", url.Values{}},
		"a name of capital": {create, "name", "must be 1 to 63", url.Values{"name": {"CRM"}}},
		"a name that is taken": {create, "name", "there is a destination taken",
			url.Values{"name": {"taken"}}},
		"neither kind":      {create, "http.url", "or temporal is missing", url.Values{"name": {"new"}}},
		"an unknown proxy":  {create, "http.proxy", "which has office", url.Values{"name": {"new"}, "http.proxy": {"other"}}},
		"a URL of files":    {create, "http.url", "must be a URL", url.Values{"name": {"new"}, "http.url": {"file:///x"}}},
		"a header of ours":  {create, "http.headers", "is set by Holdfast", url.Values{"name": {"new"}, "http.headers": {"Host: x"}}},
		"a header of none":  {create, "http.headers", "one header a line", url.Values{"name": {"new"}, "http.headers": {"Host"}}},
		"a short secret":    {create, "secret", "must be one line of 16", url.Values{"name": {"new"}, "secret": {"x"}}},
		"seconds of none":   {create, "timeout", "use a duration in s, m, h or d", url.Values{"name": {"new"}, "timeout": {"20"}}},
		"too long":          {create, "timeout", "must be 0s to 5m0s", url.Values{"name": {"new"}, "timeout": {"2h"}}},
		"many in flight":    {create, "in_flight", "must be a whole number", url.Values{"name": {"new"}, "in_flight": {"many"}}},
		"a rate of nothing": {create, "rate.requests", "must be 1 to", url.Values{"name": {"new"}, "rate.requests": {"0"}}},
		"a filter of none":  {subscribe, "events.filter", "", url.Values{"name": {"new"}, "events.filter": {".a |"}}},
		"a body of none":    {subscribe, "body", "", url.Values{"name": {"new"}, "body": {"{"}}},
	} {
		if c.path == create && !c.form.Has("http.url") && name != "neither kind" {
			c.form.Set("http.url", "https://a.example")
		}
		status, _, page := s.send(t, access.RoleIntegrator, c.path, c.form)
		require.Equal(t, 422, status, "%s: %s", name, page)
		require.Contains(t, page, next(c.field), name)
		require.Contains(t, page, c.why, name)
		require.NotContains(t, page, next("keep"), name)
		for _, kept := range c.form {
			require.Contains(t, page, kept[0], "%s keeps the input", name)
		}
	}
	require.Len(t, behind.all, 1)
	require.Empty(t, behind.subscriptions)
}

// An edit changes the fields of the form and keeps the rest, including header values, which the form doesn't show.
func TestADestinationIsEdited(t *testing.T) {
	t.Parallel()
	behind := newDestinations()
	jitter := 0.5
	behind.all["crm"] = delivery.Destination{
		ID: 3, Version: 7, Name: "crm", Retry: delivery.Retry{Jitter: &jitter, Attempts: 3},
		HTTP: &delivery.HTTP{
			URL: "https://crm.example.com/old", Headers: delivery.Headers{"X-Key": delivery.MaskedHeader}, CA: "ca.pem",
			Certificate: "-----BEGIN CERTIFICATE-----", Key: "-----BEGIN PRIVATE KEY-----hunter",
		},
	}
	s := startShowing(t, behind.shown(), "", true)
	_, page := s.look(t, access.RoleIntegrator, "/console/destinations/crm/edit")
	require.Contains(t, page, "X-Key: [redacted]")
	require.NotContains(t, page, "hunter")
	require.NotContains(t, page, `name="name"`)
	form := url.Values{
		"version": {"6"}, "http.url": {"https://crm.example.com/new"}, "http.headers": {"X-Key: [redacted]"}, "retry.attempts": {"4"},
		"http.certificate": {"client.pem"}, "http.key": {"client.key"},
	}
	status, _, page := s.send(t, access.RoleIntegrator, "/console/destinations/crm/edit", form)
	require.Equal(t, 422, status, page)
	require.Contains(t, page, "Another user changed it")
	require.Equal(t, "https://crm.example.com/old", behind.all["crm"].HTTP.URL)

	form.Set("version", "7")
	behind.secrets["crm"] = []delivery.Secret{{Value: "kept"}}
	status, location, page := s.send(t, access.RoleAdmin, "/console/destinations/crm/edit", form)
	require.Equal(t, 303, status, page)
	require.Equal(t, "/console/destinations/crm", location)
	saved := behind.all["crm"]
	require.Equal(t, []any{"https://crm.example.com/new", "[redacted]", "ca.pem", &jitter, 4},
		[]any{saved.HTTP.URL, saved.HTTP.Headers["X-Key"], saved.HTTP.CA, saved.Retry.Jitter, saved.Retry.Attempts})
	require.Equal(t, []string{"client.pem", "client.key"}, []string{saved.HTTP.Certificate, saved.HTTP.Key})
	require.Equal(t, "kept", behind.secrets["crm"][0].Value)
}

// A subscription to a task queue shows as JSON what it starts; it can be edited, paused, resumed and deleted.
func TestASubscriptionIsEditedPausedAndDeleted(t *testing.T) {
	t.Parallel()
	behind := newDestinations()
	behind.all["queue"] = delivery.Destination{ID: 5, Name: "queue", Temporal: &delivery.Temporal{TaskQueue: "orders"}}
	s := startShowing(t, behind.shown(), "", true)
	const path = "/console/destinations/queue"
	status, _, page := s.send(t, access.RoleIntegrator, path+"/subscribe", url.Values{"name": {"orders"}, "workflow": {`{"start":{"typ":1}}`}})
	require.Equal(t, 422, status)
	require.Contains(t, page, `id="e-workflow"`)
	status, _, page = s.send(t, access.RoleIntegrator, path+"/subscribe",
		url.Values{"name": {"orders"}, "workflow": {`{"start":{"type":"Order","workflow_id":""}}`}})
	require.Equal(t, 422, status)
	require.Contains(t, page, `id="e-workflow"`, "what the API says of start.workflow_id belongs to the JSON")
	status, _, page = s.send(t, access.RoleIntegrator, path+"/subscribe",
		url.Values{"name": {"orders"}, "active": {"true"}, "workflow": {`{"start":{"type":"Order","workflow_id":".id"}}`}})
	require.Equal(t, 303, status, page)

	named := url.Values{"subscription": {"orders"}}
	status, _, _ = s.send(t, access.RoleIntegrator, path+"/active", named)
	require.Equal(t, 303, status)
	require.False(t, behind.subscriptions["orders"].Active)
	require.Equal(t, "Order", behind.subscriptions["orders"].Start.Type)
	_, page = s.look(t, access.RoleIntegrator, path+"/subscribe?subscription=orders")
	require.Contains(t, page, "&#34;type&#34;: &#34;Order&#34;")
	behind.waiting = 12
	_, page = s.look(t, access.RoleIntegrator, path+"/unsubscribe?subscription=orders")
	require.Contains(t, page, "<dt>Pending</dt><dd>12</dd>")
	status, _, _ = s.send(t, access.RoleIntegrator, path+"/unsubscribe", named)
	require.Equal(t, 303, status)
	require.Empty(t, behind.subscriptions)
	status, _, _ = s.send(t, access.RoleIntegrator, path+"/delete", nil)
	require.Equal(t, 303, status)
	require.Empty(t, behind.all)
}

// Users see buttons only for what they may change, and other changes are refused: the roles are those of the API.
func TestOnlyWhoMayChangeADestinationSeesHow(t *testing.T) {
	t.Parallel()
	behind := newDestinations()
	behind.all["crm"] = delivery.Destination{ID: 3, Name: "crm", HTTP: &delivery.HTTP{URL: "https://crm.example.com"}}
	behind.subscriptions["customers"] = delivery.Subscription{ID: 9, Name: "customers", To: "crm", DestinationID: 3, Active: true}
	s := startShowing(t, behind.shown(), "", true)
	for role, may := range map[access.Role]bool{access.RoleViewer: false, access.RoleOperator: false, access.RoleIntegrator: true} {
		_, list := s.look(t, role, "/console/destinations")
		require.Equal(t, may, strings.Contains(list, "new-destination"), role)
		_, page := s.look(t, role, "/console/destinations/crm")
		for _, link := range []string{"/edit", "/delete", "/subscribe", "/active", "/unsubscribe"} {
			require.Equal(t, may, strings.Contains(page, "/console/destinations/crm"+link), "%s %s", role, link)
		}
		if may {
			continue
		}
		for _, path := range []string{
			"/console/new-destination", "/console/destinations/crm/edit", "/console/destinations/crm/delete", "/console/destinations/crm/subscribe",
			"/console/destinations/crm/active", "/console/destinations/crm/unsubscribe",
		} {
			status, _, _ := s.send(t, role, path, url.Values{"subscription": {"customers"}, "name": {"x"}})
			require.Equal(t, 403, status, "%s %s", role, path)
		}
	}
	require.Empty(t, behind.did)
	status, location, _ := s.send(t, access.RoleIntegrator, "/console/destinations/crm/pause", nil)
	require.Equal(t, "303 /console/destinations/crm", strconv.Itoa(status)+" "+location)
	require.Equal(t, delivery.DestinationPaused, behind.states["crm"])
}

// The secret of a new destination is shown even if the database fails right after the commit: it can't be shown later.
func TestASecretIsShownThoughTheConditionIsUnknown(t *testing.T) {
	t.Parallel()
	behind := newDestinations()
	s := startShowing(t, behind.shown(), "", true)
	behind.lost = &event.Error{Class: event.ClassTransient, Code: "connection_lost", Text: "away"}
	status, _, page := s.send(t, access.RoleIntegrator, "/console/new-destination", url.Values{
		"name": {"crm"}, "http.url": {"https://crm.example.com"},
	})
	require.Equal(t, 200, status, page)
	require.Contains(t, page, `<code id="secret">whsec_bWFkZSBieSB0aGUgZGVzaw==</code>`)
	v := newVisitor(t)
	for path, body := range map[string]string{
		"/destinations":  `{"name":"erp","http":{"url":"https://erp.example.com"}}`,
		"/subscriptions": `{"name":"flat","url":"https://flat.example.com"}`,
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+s.tokens[access.RoleIntegrator])
		res, err := v.Do(req)
		require.NoError(t, err)
		answer, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 201, res.StatusCode, string(answer))
		require.Contains(t, string(answer), `"secret":"whsec_`)
	}
}

// An operator has the next attempt made now where one waits for a retry, also before a breaker opens, and sees what came of it.
func TestADestinationIsTriedAgainNow(t *testing.T) {
	t.Parallel()
	since, later := time.Now().Add(-time.Hour), time.Now().Add(4*time.Minute+30*time.Second)
	failing := delivery.Condition{
		State: delivery.DestinationReady, Breaker: delivery.BreakerClosed, Failures: 2, FailingSince: &since, Failure: "503: unavailable",
		Waiting: 1, Retrying: 2, NextAt: &later,
	}
	probed := func(change func(*delivery.Condition)) delivery.Condition {
		c := failing
		change(&c)
		return c
	}
	for said, after := range map[string]delivery.Condition{
		"Tried again, and it failed: 503. The next attempt is in 4m.": probed(func(c *delivery.Condition) { c.Failures = 3 }),
		"Tried again, and the endpoint asked for another pause. The next attempt is in 4m.": probed(func(c *delivery.Condition) {
			c.ResumeAt = &later
		}),
		"Tried again, and the endpoint accepted it. 1 pending delivery follows now.": probed(func(c *delivery.Condition) {
			c.FailingSince, c.Failures, c.Waiting, c.Retrying = nil, 0, 1, 0
		}),
		"The destination is disabled now.": probed(func(c *delivery.Condition) { c.State, c.Retrying = delivery.DestinationDisabled, 1 }),
	} {
		behind := newDestinations()
		behind.all["crm"] = delivery.Destination{ID: 3, Name: "crm", HTTP: &delivery.HTTP{URL: "https://crm.example.com"}}
		behind.condition, behind.probed = &failing, after
		s := startShowing(t, behind.shown(), "", true)
		const path = "/console/destinations/crm"
		_, page := s.look(t, access.RoleOperator, path)
		require.Contains(t, page, `action="/console/destinations/crm/retry"`)
		require.Contains(t, page, "Next step: Attempts fail and are retried. Fix the endpoint, then choose Try again now.")
		require.Contains(t, page, "<dt>Pending</dt><dd>3 <small>(1 not tried yet, 2 after a failed attempt)</small>")
		require.Contains(t, page, ">in 4m</time>")
		_, list := s.look(t, access.RoleOperator, "/console/destinations")
		require.Contains(t, list, `action="/console/destinations/crm/retry"`)
		_, page = s.look(t, access.RoleViewer, path)
		require.NotContains(t, page, "/retry")
		status, _, _ := s.send(t, access.RoleViewer, path+"/retry", nil)
		require.Equal(t, 403, status)
		require.Empty(t, behind.did)

		v := newVisitor(t)
		require.Equal(t, 303, v.logIn(s, s.tokens[access.RoleOperator]).StatusCode)
		_, home := v.get(s.url + "/console")
		res, _ := v.ask("POST", s.url+path+"/retry", proofIn(t, home))
		require.Equal(t, "303 "+path, strconv.Itoa(res.StatusCode)+" "+res.Header.Get("Location"))
		_, page = v.get(s.url + path)
		require.Contains(t, page, said)
		require.Equal(t, "the-operator", behind.did[0].Name)
	}
}

// A delivery that has finished was not necessarily accepted.
func TestATryEndsWithARejection(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Minute)
	behind := newDestinations()
	behind.all["crm"] = delivery.Destination{ID: 3, Name: "crm", HTTP: &delivery.HTTP{URL: "https://crm.example.com"}}
	before := delivery.Condition{State: delivery.DestinationReady, Breaker: delivery.BreakerClosed, Retrying: 2, NextAt: &later}
	behind.condition, behind.probed = &before, before
	behind.probed.Retrying = 1
	s := startShowing(t, behind.shown(), "", true)
	v := newVisitor(t)
	require.Equal(t, 303, v.logIn(s, s.tokens[access.RoleOperator]).StatusCode)
	_, home := v.get(s.url + "/console")
	const path = "/console/destinations/crm"
	v.ask("POST", s.url+path+"/retry", proofIn(t, home))
	_, page := v.get(s.url + path)
	require.Contains(t, page, "a delivery has finished")
	require.NotContains(t, page, "accepted")
}

// Where nothing waits for a retry, there is nothing to try: the page doesn't offer it, and Now doesn't name it.
func TestNothingIsTriedAgainWithoutARetry(t *testing.T) {
	t.Parallel()
	behind := newDestinations()
	behind.all["crm"] = delivery.Destination{ID: 3, Name: "crm", HTTP: &delivery.HTTP{URL: "https://crm.example.com"}}
	since := time.Now()
	behind.condition = &delivery.Condition{
		State: delivery.DestinationReady, Breaker: delivery.BreakerClosed, Failures: 1, FailingSince: &since, Failure: "503",
	}
	_, page := startShowing(t, behind.shown(), "", true).look(t, access.RoleOperator, "/console/destinations/crm")
	require.NotContains(t, page, "Try again now")
	require.Contains(t, page, "the next event is sent as usual")
}

// The page of a destination shows which delivery blocks an ordered key, and operators can let the others go first.
func TestBlockedKeysAreShown(t *testing.T) {
	t.Parallel()
	const id = "01a229db-e87e-7747-a3a5-47512eca36d8"
	behind := newDestinations()
	s := startShowing(t, behind.shown(), "", true)
	status, _, _ := s.send(t, access.RoleIntegrator, "/console/new-destination", url.Values{
		"name": {"crm"}, "http.url": {"https://crm.example.com"},
	})
	require.Equal(t, 200, status)
	status, _, page := s.send(t, access.RoleIntegrator, "/console/destinations/crm/subscribe", url.Values{
		"name": {"customers"}, "order_by": {".body.customer"}, "active": {"true"},
	})
	require.Less(t, status, 400, page)
	sub := behind.subscriptions["customers"]
	require.Equal(t, delivery.JQ(".body.customer"), sub.OrderBy)

	_, page = s.look(t, access.RoleOperator, "/console/destinations/crm")
	require.Contains(t, page, "No key is blocked.")
	behind.ordered = map[int64]delivery.Ordered{sub.ID: {Keys: 30, Waiting: 5, Heads: []delivery.OrderHead{
		{OrderKey: "cus_good", EventID: id, Status: delivery.Pending, Since: time.Now()},
	}}}
	_, page = s.look(t, access.RoleOperator, "/console/destinations/crm")
	require.Contains(t, page, "None of the 1 keys with the oldest heads is blocked.", "others weren't read")
	behind.ordered = map[int64]delivery.Ordered{sub.ID: {Keys: 7, Waiting: 4711, Heads: []delivery.OrderHead{
		{OrderKey: "cus_<bad>", EventID: id, Status: delivery.Retrying, Code: "500", Attempts: 3, Since: time.Now(), Waiting: 4700},
		{OrderKey: "cus_good", EventID: id, Status: delivery.Pending, Since: time.Now()},
	}}}
	_, page = s.look(t, access.RoleOperator, "/console/destinations/crm")
	require.Contains(t, page, "cus_&lt;bad&gt;")
	require.Contains(t, page, "4\u202f700")
	require.NotContains(t, page, "cus_good", "it blocks nothing")
	skip := "/console/deliveries/" + id + "/head/skip"
	require.Contains(t, page, skip)
	_, page = s.look(t, access.RoleViewer, "/console/destinations/crm")
	require.Contains(t, page, "cus_&lt;bad&gt;")
	require.NotContains(t, page, skip)

	form := url.Values{"subscription": {strconv.FormatInt(sub.ID, 10)}}
	status, _, _ = s.send(t, access.RoleViewer, skip, form)
	require.Equal(t, 403, status)
	require.Empty(t, behind.skipped)
	status, to, _ := s.send(t, access.RoleOperator, skip, form)
	require.Equal(t, 303, status)
	require.Contains(t, to, "/console/destinations/crm")
	require.Equal(t, []delivery.Key{{EventID: id, SubscriptionID: sub.ID}}, behind.skipped)
	status, _, _ = s.send(t, access.RoleOperator, "/console/deliveries/"+id+"/head/explode", form)
	require.Equal(t, 404, status)
}

// A queue is created and edited in the same form. Its secret is stored, and no page shows it; what the form doesn't show is kept.
func TestAQueueIsCreatedAndEdited(t *testing.T) {
	t.Parallel()
	behind := newDestinations()
	s := startShowing(t, behind.shown(), "", true)
	connection := func(url string) delivery.Connection { return delivery.Connection{URL: url, User: "me"} }
	for name, c := range map[string]struct {
		fields url.Values
		want   delivery.Destination
	}{
		"nats": {
			url.Values{"nats.url": {"nats://a:4222"}, "nats.stream": {"STOCK"}, "nats.subject": {`"stock." + .event.type`}},
			delivery.Destination{NATS: &delivery.NATS{
				Connection: connection("nats://a:4222"), Stream: "STOCK", Subject: `"stock." + .event.type`,
			}},
		},
		"rabbitmq": {
			url.Values{"rabbitmq.url": {"amqps://a/shop"}, "rabbitmq.routing_key": {`"orders"`}},
			delivery.Destination{RabbitMQ: &delivery.RabbitMQ{Connection: connection("amqps://a/shop"), RoutingKey: `"orders"`}},
		},
		"kafka": {
			url.Values{"kafka.url": {"kafka://a,b"}, "kafka.topic": {"events"}, "kafka.partition_key": {".body.id"}, "kafka.mechanism": {"PLAIN"}},
			delivery.Destination{Kafka: &delivery.Kafka{
				Connection: connection("kafka://a,b"), Topic: "events", PartitionKey: ".body.id", Mechanism: "PLAIN",
			}},
		},
		"s3": {
			url.Values{"s3.url": {"https://s3.example.com"}, "s3.bucket": {"events"}, "s3.region": {"eu"}},
			delivery.Destination{S3: &delivery.S3{Connection: connection("https://s3.example.com"), Bucket: "events", Region: "eu"}},
		},
		"sqs": {
			url.Values{"sqs.url": {"https://sqs.example.com/1"}, "sqs.queue": {"orders.fifo"}, "sqs.group": {".body.id"}},
			delivery.Destination{SQS: &delivery.SQS{
				Connection: connection("https://sqs.example.com/1"), Queue: "orders.fifo", Group: ".body.id",
			}},
		},
		"pubsub": {
			url.Values{
				"pubsub.url": {"https://pubsub.example.com"}, "pubsub.user": {""}, "pubsub.topic": {"projects/p/topics/t"},
				"pubsub.ordering_key": {".body.id"},
			},
			delivery.Destination{PubSub: &delivery.PubSub{
				Connection: delivery.Connection{URL: "https://pubsub.example.com"}, Topic: "projects/p/topics/t", OrderingKey: ".body.id",
			}},
		},
	} {
		form := url.Values{"name": {name}, name + ".user": {"me"}, "secret": {"s"}}
		maps.Copy(form, c.fields)
		status, location, page := s.send(t, access.RoleIntegrator, "/console/new-destination", form)
		require.Equal(t, 303, status, "%s: %s", name, page)
		require.Equal(t, "/console/destinations/"+name, location)
		c.want.ID, c.want.Version, c.want.Name = int64(len(name)), 1, name
		require.Equal(t, c.want, behind.all[name])
		require.Equal(t, "s", behind.secrets[name][0].Value)
		status, page = s.look(t, access.RoleIntegrator, "/console/destinations/"+name+"/edit")
		require.Equal(t, 200, status, name)
		require.Contains(t, page, `name="secret" value=""`, name)
		require.NotContains(t, page, `name="http.url"`, name)
	}

	stored := behind.all["nats"]
	stored.NATS.CA, stored.NATS.Key = "ca.pem", "-----BEGIN PRIVATE KEY-----hunter"
	stored.NATS.Certificate = "-----BEGIN CERTIFICATE-----"
	form := url.Values{"version": {"1"}, "nats.stream": {"ORDERS"}, "nats.key": {"client.key"}, "nats.certificate": {"client.pem"}}
	_, page := s.look(t, access.RoleIntegrator, "/console/destinations/nats/edit")
	require.NotContains(t, page, "hunter")
	status, _, page := s.send(t, access.RoleIntegrator, "/console/destinations/nats/edit", form)
	require.Equal(t, 303, status, page)
	saved := behind.all["nats"].NATS
	require.Equal(t, []any{"ORDERS", "ca.pem", "client.key", "me"}, []any{saved.Stream, saved.CA, saved.Key, saved.User})
	require.Equal(t, "s", behind.secrets["nats"][0].Value, "it was kept")

	status, _, page = s.send(t, access.RoleIntegrator, "/console/destinations/nats/edit",
		url.Values{"version": {"2"}, "nats.url": {"nats://elsewhere"}})
	require.Equal(t, 422, status)
	require.Contains(t, page, `id="e-secret"`, "another server would get the secret")
	status, _, page = s.send(t, access.RoleIntegrator, "/console/new-destination",
		url.Values{"name": {"new"}, "kafka.url": {"nats://a"}, "secret": {"hidden-password"}})
	require.Equal(t, 422, status)
	require.Contains(t, page, `id="e-kafka.url"`)
	require.Contains(t, page, `id="e-kafka.topic"`)
	require.NotContains(t, page, "hidden-password")

	form = url.Values{
		"name": {"two"}, "http.certificate": {"client.pem"}, "http.key": {"client.key"}, "rabbitmq.url": {"amqps://a"},
		"rabbitmq.routing_key": {`"orders"`},
	}
	status, _, _ = s.send(t, access.RoleIntegrator, "/console/new-destination", form)
	require.Equal(t, 422, status, "a certificate in the part of another kind isn't dropped silently")
}
