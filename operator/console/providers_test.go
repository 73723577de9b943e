package console_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/event/shape"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/api/definitionapi"
	"holdfast/operator/console"
	"holdfast/providers"
)

// secretOfTests is the secret of these tests' providers; no page may show it.
const secretOfTests = "whsec_aG9sZGZhc3QgdGVzdCBzZWNyZXQgMDEyMzQ1Njc4OQ=="

func startWith(t *testing.T, o console.Options) site {
	t.Helper()
	return startShowing(t, o, "", true)
}

// as returns a visitor who has logged in.
func (s site) as(t *testing.T, role access.Role) visitor {
	t.Helper()
	v := newVisitor(t)
	require.Equal(t, 303, v.logIn(s, s.tokens[role]).StatusCode)
	return v
}

// send posts a form of a page, with the proof that the page holds.
func (v visitor) send(s site, from, to string, form url.Values) (status int, location, page string) {
	v.t.Helper()
	_, page = v.get(s.url + from)
	proof := proofField.FindStringSubmatch(page)
	require.NotEmpty(v.t, proof, from)
	form.Set("csrf", proof[1])
	res, page := v.ask("POST", s.url+to, form)
	return res.StatusCode, res.Header.Get("Location"), page
}

// definitions returns the built-in ones and one of the tests' own; only stripe and acme have a secret, and github has an
// unusable one.
func definitions(t *testing.T) *providers.Live {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte("name: acme\ntitle: <b>Acme</b>\nsecrets: ACME_SECRET\n"+
		"auth: [{token: {in: header, name: x-token}}]\ntype: .body.type\nkey: {parts: [.body.id]}\n"), 0o600))
	live, err := providers.LoadLive(dir, func(name string) []string {
		if name == "STRIPE_WEBHOOK_SECRET" || name == "ACME_SECRET" {
			return []string{secretOfTests}
		}
		if name == "GITHUB_WEBHOOK_SECRET" {
			return []string{"short"}
		}
		return nil
	}, nil, nil)
	require.NoError(t, err)
	return live
}

type refusals struct{}

func (refusals) Refusals(provider string) (all []oversight.ProviderRefusals) {
	at := time.Now().Add(-5 * time.Minute)
	for _, name := range []string{"stripe", "unknown"} {
		if provider == "" || provider == name {
			all = append(all, oversight.ProviderRefusals{
				Provider: name, Count: 1234,
				Causes: []oversight.RefusalCause{{Cause: "modified_body", Means: "what it means", Next: "what to do", Count: 1234, LastAt: at}},
				Last: []oversight.Refusal{{
					At: at, Cause: "modified_body", Status: 401, Scheme: "auth[0]", Detail: "Checked header stripe-signature",
					Address: "203.0.113.7", Headers: []string{"host"}, OtherHeaders: 3, BodyBytes: 17, BodySHA256: "0123456789abcdef",
				}},
			})
		}
	}
	return all
}

// The list shows which providers can be used and why requests were refused; the page of a provider shows all details with the
// definition.
func TestProvidersAreShown(t *testing.T) {
	t.Parallel()
	s := startWith(t, console.Options{Definitions: definitions(t), Refusals: refusals{}})
	v := s.as(t, access.RoleViewer)
	res, page := v.get(s.url + "/console/providers")
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, page, `<a href="/console/providers/stripe">stripe</a>`)
	require.Contains(t, page, "1\u202f234")
	require.Contains(t, page, "&lt;b&gt;Acme")
	require.Contains(t, page, "Database unavailable: events can't be counted", "there are no statistics here")
	require.Contains(t, page, "what to do", "of requests for nobody")
	require.Contains(t, page, "more definitions without events in the last hour")
	require.NotContains(t, page, "/console/providers/shopify")
	_, found := v.get(s.url + "/console/providers?name=SHOP")
	require.Contains(t, found, `<a href="/console/providers/shopify">shopify</a>`)
	require.Contains(t, found, `<span class="state missing" title="no_secret">missing`)
	require.NotContains(t, found, "/console/providers/stripe")
	require.Contains(t, page, `<span class="state unusable" title="short_secret">unusable`)
	require.Contains(t, page, `<span class="state configured">configured`)

	_, page = v.get(s.url + "/console/providers/stripe")
	for _, shown := range []string{
		"HMAC in stripe-signature", "STRIPE_WEBHOOK_SECRET", "what it means", "what to do", "203.0.113.7",
		"and 3 with unknown names", "customer.updated", "signature:",
	} {
		require.Contains(t, page, shown)
	}
	require.NotContains(t, page, secretOfTests)
	require.NotContains(t, page, "/try", "which viewers may not")
	res, page = v.get(s.url + "/console/providers/github")
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, page, `<span class="state unusable">secret unusable`)
	require.Contains(t, page, "No request can be authenticated: short_secret. Set <code>GITHUB_WEBHOOK_SECRET</code>")
	res, _ = v.get(s.url + "/console/providers/nobody")
	require.Equal(t, 404, res.StatusCode)
	res, _ = v.get(s.url + "/console/providers/stripe/try")
	require.Equal(t, 403, res.StatusCode)

	elsewhere := startWith(t, console.Options{Definitions: definitions(t)})
	_, page = elsewhere.as(t, access.RoleViewer).get(elsewhere.url + "/console/providers")
	require.Contains(t, page, "This process receives no webhooks")
}

// stored are the stored events of an installation, newest first.
type stored struct {
	api.EventStore

	rows []event.Record
}

func (s stored) Events(_ context.Context, q event.RecordQuery) (found []event.Record, _ error) {
	for _, r := range s.rows {
		if q.Provider == "" || q.Provider == r.Receipt.Provider {
			found = append(found, r)
		}
	}
	return found, nil
}

// The pages say in order how to connect a provider of one's own: with the folder of definitions, whose path viewers don't see, or
// how to set one.
func TestAnOwnProviderIsConnectedInOrder(t *testing.T) {
	t.Parallel()
	o := console.Options{Definitions: definitions(t), API: &api.API{Events: stored{}}}
	dir := o.Definitions.Dir()
	s := startWith(t, o)
	_, page := s.as(t, access.RoleOperator).get(s.url + "/console/connect")
	require.Contains(t, page, `<details><summary>Your provider isn't listed?`)
	require.Contains(t, page, `Keep the file in <code>`+dir+`</code>, the folder that`)
	require.Contains(t, page, `holdfast provider new NAME --dir `+dir+`</code>`)
	require.Contains(t, page, `holdfast provider new NAME --dir `+dir+` --from capture.http --secret SECRET</code>`)
	v := s.as(t, access.RoleViewer)
	_, page = v.get(s.url + "/console/connect")
	require.Contains(t, page, `Keep the file in the folder that <code>HOLDFAST_PROVIDERS_DIR</code> names.`)
	require.NotContains(t, page, dir)
	_, page = v.get(s.url + "/console/providers/acme/connect")
	require.Regexp(t, `<ol><li>Keep the definition in the folder that <code>HOLDFAST_PROVIDERS_DIR</code> names. `+
		`<code>make run</code> reloads .* send SIGHUP to each process, or restart it.</li><li>Add a webhook at `, page)
	_, page = v.get(s.url + "/console/providers/stripe/connect")
	require.NotContains(t, page, "Keep the definition")
	require.NotContains(t, page, "unproven")
	_, page = v.get(s.url + "/console/providers/calendly/connect")
	require.Contains(t, page, "The definition is unproven (documentation)")
	_, page = v.get(s.url + "/console/providers/calendly")
	require.Contains(t, page, "<dd>documentation, unproven: compare")

	builtIn, err := providers.LoadLive("", func(string) []string { return nil }, nil, nil)
	require.NoError(t, err)
	o.Definitions = builtIn
	s = startWith(t, o)
	_, page = s.as(t, access.RoleViewer).get(s.url + "/console/connect")
	require.Contains(t, page, "Start Holdfast again with this folder: <code>HOLDFAST_PROVIDERS_DIR=my-providers make run</code>")
}

// A viewer connects a provider: the page has the address, the variable, the steps and the state of the secret, and then the first
// event or the reason of the last refusal. It shows nothing else of a refused request.
func TestAProviderIsConnected(t *testing.T) {
	t.Parallel()
	o := console.Options{
		Definitions: definitions(t), Refusals: refusals{}, PublicURL: "https://hooks.example.com",
		API: &api.API{Events: stored{rows: []event.Record{{Receipt: event.Receipt{ID: "01a2", Provider: "acme"}, Type: "order.paid"}}}},
	}
	s := startWith(t, o)
	v := s.as(t, access.RoleViewer)
	_, page := v.get(s.url + "/console/connect?q=strIPE")
	require.Contains(t, page, `<a href="/console/providers/stripe/connect">stripe</a>`)
	require.NotContains(t, page, "github")
	_, page = v.get(s.url + "/console/connect?q=nobody")
	require.Contains(t, page, "No provider matches")
	require.Contains(t, page, `<details open><summary>Your provider isn't listed?`)
	require.Contains(t, page, `<a href="/console/docs/add-a-provider">Write a definition of your own</a>`)

	_, page = v.get(s.url + "/console/providers/stripe/connect")
	for _, shown := range []string{
		"<code>https://hooks.example.com/webhooks/stripe</code> <button", "<code>STRIPE_WEBHOOK_SECRET</code>",
		"<code>STRIPE_WEBHOOK_SECRET_FILE</code>", "Send a test event from the webhook settings at Stripe",
		"<code>holdfast send stripe</code>", "https://docs.stripe.com/webhooks",
		`<span class="state configured">`, "Waiting for the first event", "modified_body", "what it means", "what to do",
		`hx-sse:connect="/console/providers/stripe/connect/tail"`,
	} {
		require.Contains(t, page, shown)
	}
	for _, hidden := range []string{secretOfTests, "203.0.113.7", "Checked header", "0123456789abcdef"} {
		require.NotContains(t, page, hidden)
	}
	_, page = v.get(s.url + "/console/providers/acme/connect")
	require.Contains(t, page, "order.paid")
	require.NotContains(t, page, "Waiting for the first event")
	_, page = v.get(s.url + "/console/providers/github/connect")
	require.Contains(t, page, "Requests can't be authenticated: short_secret. Set <code>GITHUB_WEBHOOK_SECRET</code>")
	res, _ := v.get(s.url + "/console/providers/nobody/connect")
	require.Equal(t, 404, res.StatusCode)

	_, page = v.get(s.url + "/console")
	require.Contains(t, page, "<code>https://hooks.example.com/webhooks/stripe</code>")
	require.Contains(t, page, "order.paid", "with the first events of all providers")
	require.Greater(t, strings.Index(page, `id="first"`), strings.Index(page, `id="well"`), "another provider is connected")
	require.NotContains(t, page, "Only this machine")
	o.PublicURL = "http://127.0.0.1:8080"
	local := startWith(t, o)
	_, page = local.as(t, access.RoleViewer).get(local.url + "/console/providers/stripe/connect")
	require.Contains(t, page, "Only this machine can reach it")
	o.PublicURL, o.API = "", &api.API{Events: stored{rows: make([]event.Record, 5)}}
	full := startWith(t, o)
	v = full.as(t, access.RoleViewer)
	_, page = v.get(full.url + "/console")
	require.NotContains(t, page, "Connect a provider")
	_, page = v.get(full.url + "/console/providers/stripe/connect")
	require.Contains(t, page, "<code>https://YOUR-HOST/webhooks/stripe</code>")
	require.Contains(t, page, "Replace YOUR-HOST")
}

// After a reload the page of providers shows what was loaded, or why the reload was rejected.
func TestAReloadIsConfirmed(t *testing.T) {
	t.Parallel()
	live := definitions(t)
	s := startWith(t, console.Options{Definitions: live})
	v := s.as(t, access.RoleOperator)
	page := func() string { _, shown := v.get(s.url + "/console/providers"); return shown }
	require.Contains(t, page(), "definitions, loaded")
	require.NotContains(t, page(), "rejected")
	wrong := errors.New("acme.yaml:9:1: priority")
	require.ErrorIs(t, live.Reload(func(_, _ *providers.Catalogue) error { return wrong }), wrong)
	require.Contains(t, page(), "was rejected, and the definitions before it stay in use. acme.yaml:9:1: priority")
	_, one := v.get(s.url + "/console/providers/acme")
	require.Contains(t, one, "was rejected, and those before it stay in use. acme.yaml:9:1: priority")
	_, now := v.get(s.url + "/console")
	require.Contains(t, now, "the last reload was rejected")
	require.Contains(t, now, `<a href="/console/providers">Open providers</a>`)
	_, hidden := s.as(t, access.RoleViewer).get(s.url + "/console/providers/acme")
	require.Contains(t, hidden, "was rejected")
	require.NotContains(t, hidden, "acme.yaml", "viewers don't see paths, nor what is wrong")
	require.NoError(t, live.Reload(func(_, _ *providers.Catalogue) error { return nil }))
	require.NotContains(t, page(), "rejected")
	_, now = v.get(s.url + "/console")
	require.NotContains(t, now, "rejected")
}

// storedEvent is an event that is stored, for its page.
type storedEvent struct {
	api.EventStore

	of   event.Receipt
	body string
}

func (s storedEvent) Event(context.Context, string) (event.Record, error) {
	return event.Record{Receipt: s.of, Type: s.of.Type, Body: []byte(s.body)}, nil
}

func (s storedEvent) Decision(context.Context, string) (d event.Decision, _ error) {
	return d, event.ErrNotFound
}

func (s storedEvent) Duplicates(context.Context, string) (d event.Duplicates, _ error) { return d, nil }

func (s storedEvent) Events(context.Context, event.RecordQuery) ([]event.Record, error) {
	return make([]event.Record, 5), nil
}

func (s storedEvent) RecentTypes(context.Context) (_, _ []string, _ error) { return nil, nil, nil }

type mappings struct{}

func (mappings) Mapped(context.Context) ([]oversight.MappedEvents, error) {
	return []oversight.MappedEvents{
		{Provider: "github", Unmapped: 5}, {Provider: "gitlab", Mapped: 90, Unmapped: 10}, {Provider: "other", Unmapped: 77},
		{Provider: "shop", Mapped: 3, Unmapped: 4}, {Provider: "stripe", Mapped: 90, Unmapped: 10},
		{Provider: "stripe-eu", Mapped: 90, Unmapped: 10},
	}, nil
}

// A rule with a wrong path finds nothing, which is no error. The provider's page names the rule, the file and how many events it
// concerns, and an event is explained with the definition of today.
func TestARuleThatFindsNothingIsExplained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "shop.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: shop\nsecrets: SHOP_SECRET\nauth: [{token: {in: header, name: x-token}}]\n"+
		"type: .body.type\nkey: {parts: [.body.id]}\nentities: [{kind: order, id: .body.ordr, op: patch}]\n"+
		"samples: {paid: {body: '{id: .id, type: \"paid\", order: \"o1\"}'}}\n"), 0o600))
	for name, text := range map[string]string{"gitlab": "extends: gitlab\npriority: high\n", "stripe-eu": "extends: stripe\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte("name: "+name+"\n"+text), 0o600))
	}
	live, err := providers.LoadLive(dir, nil, nil, nil)
	require.NoError(t, err)
	const id = "01a2ae5d-0000-7000-8000-000000000001"
	s := startWith(t, console.Options{
		Definitions: live,
		API: &api.API{Mappings: mappings{}, Events: storedEvent{
			of: event.Receipt{ID: id, Provider: "shop", Key: "e1", Type: "paid"}, body: `{"id":"e1","type":"paid","order":"<o1>"}`,
		}},
	})
	v := s.as(t, access.RoleOperator)
	_, page := v.get(s.url + "/console/providers/shop")
	for _, shown := range []string{
		`applies to no sample: in &#34;paid&#34;, .body.ordr gave null`, "<code>" + file + "</code>", "none in 4 of 7 events",
		`href="/console/operations/rebuild?provider=shop"`,
	} {
		require.Contains(t, page, shown)
	}
	_, page = v.get(s.url + "/console/providers")
	require.Contains(t, page, "gitlab, shop, stripe-eu in <code>"+dir)
	const broken = `<a href="/console/providers/shop">shop</a>: 4 of 7 events of the last 24 hours changed no entity, though rules are ` +
		`meant for them; entities[0] finds nothing in the sample that it is for.`
	require.Contains(t, page, broken)
	require.Equal(t, 1, strings.Count(page, broken))
	require.Contains(t, page, `<a href="/console/providers/github">github</a>: 5 of 5 events`)
	for _, name := range []string{"gitlab", "stripe", "stripe-eu"} {
		require.NotContains(t, page, ">"+name+"</a>: ", "some events are about no entity, by the rules of a built-in definition")
	}
	require.NotContains(t, page, ">other</a>: ", "it has no definition any more")
	_, page = v.get(s.url + "/console/providers?name=SHO")
	require.Equal(t, 1, strings.Count(page, broken), "a search for a part of the name keeps the warning")
	require.NotContains(t, page, ">github</a>: ")
	_, page = v.get(s.url + "/console/events?provider=shop")
	require.Equal(t, 1, strings.Count(page, broken))
	require.NotContains(t, page, ">github</a>: ")
	_, page = v.get(s.url + "/console")
	require.Contains(t, page, "shop changes too few entities")
	require.Contains(t, page, `<a href="/console/providers/shop">Open shop</a>`)
	_, page = s.as(t, access.RoleViewer).get(s.url + "/console/providers/shop")
	require.NotContains(t, page, dir)

	const path = "/console/providers/shop/try"
	_, page = v.get(s.url + path + "?event=" + id)
	for _, shown := range []string{
		"No entity would change", "<code>entities[0]</code>: .body.ordr gave null", `<a href="/console/events/` + id + `">`,
		"&#34;order&#34;:&#34;&lt;o1&gt;&#34;", `value="yes" checked`,
		`<a href="/console/docs/add-a-provider#rules-that-find-nothing">Documentation`,
	} {
		require.Contains(t, page, shown)
	}
	require.NotContains(t, page, "authentic", "nothing is known of its signature")
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	request := url.Values{
		"request": {`{"id":"e1","type":"paid","order":"o1"}`}, "event": {id},
		"definition": {strings.Replace(string(source), ".ordr", ".order", 1)},
	}
	_, _, page = v.send(s, path, path, request)
	for _, shown := range []string{
		`made from <a href="/console/events/` + id + `">a stored event</a>`,
		`href="/console/events/` + id + `">Back to the event`,
		"Next step: copy the changed text into <code>" + file + "</code>", "rebuild the entities of earlier events",
	} {
		require.Contains(t, page, shown)
	}
	request.Set("event", "x")
	request.Set("definition", string(source)+"priority: high\n")
	_, _, page = v.send(s, path, path, request)
	require.Contains(t, page, "Back to the provider")
	require.NotContains(t, page, "Next step: copy", "it still finds no entity")
	for _, wrong := range []string{"/console/providers/stripe/try?event=" + id, path + "?event=x"} {
		res, _ := v.get(s.url + wrong)
		require.Equal(t, 400, res.StatusCode, wrong)
	}
}

// A pasted request gets the same result as from the ingress and the parse step, and no part of a secret is shown.
func TestARequestIsTried(t *testing.T) {
	t.Parallel()
	live := definitions(t)
	s := startWith(t, console.Options{Definitions: live})
	v := s.as(t, access.RoleOperator)
	const path = "/console/providers/stripe/try"
	try := func(form url.Values) (int, string) {
		status, _, page := v.send(s, path, path, form)
		require.NotContains(t, page, secretOfTests)
		return status, page
	}
	stripe, _ := live.Lookup("stripe")
	r, err := stripe.Sample("customer.updated", "x1", time.Now())
	require.NoError(t, err)
	require.NoError(t, stripe.Sign(r, secretOfTests, time.Now()))
	text := "stripe-signature: " + r.Header["stripe-signature"][0] + "\n\n" + string(r.Body)

	status, page := try(url.Values{"request": {text}})
	require.Equal(t, 200, status)
	for _, shown := range []string{"<small>authentic</small>", "Event 1 of 1", "customer.updated", "a workflow of its own", "customer"} {
		require.Contains(t, page, shown)
	}
	for name, c := range map[string]struct {
		form  url.Values
		shown string
	}{
		"changed":           {url.Values{"request": {strings.Replace(text, "{", "{ ", 1)}}, "refused: modified_body"},
		"forged":            {url.Values{"request": {strings.Replace(text, "customer", "cust0mer", 1)}}, "refused: bad_signature"},
		"late":              {url.Values{"request": {text}, "at": {time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}}, "refused: stale_timestamp"},
		"a body alone":      {url.Values{"request": {string(r.Body)}}, "choose <i>Skip the signature check</i>"},
		"of another path":   {url.Values{"request": {"curl https://x.example/webhooks/github -d x"}}, "is none of stripe, which has: /webhooks/stripe;"},
		"a body, signed":    {url.Values{"request": {string(r.Body)}, "sign": {"yes"}}, "signature not checked"},
		"no JSON, signed":   {url.Values{"request": {"<x>"}, "sign": {"yes"}}, "It would become a dead letter"},
		"markup is no page": {url.Values{"request": {`{"id":"<script>alert(1)</script>"}`}, "sign": {"yes"}}, "&lt;script&gt;"},
	} {
		status, page := try(c.form)
		require.Equal(t, 200, status, name)
		require.Contains(t, page, c.shown, name)
		require.NotContains(t, page, "<script>alert", name)
	}
	for shown, form := range map[string]url.Values{
		"there is nothing in it":        {"request": {" "}},
		"invalid time of arrival":       {"request": {"{}"}, "at": {"noon"}},
		"invalid address of the sender": {"request": {"{}"}, "remote_ip": {"x"}},
	} {
		status, page := try(form)
		require.Equal(t, 400, status, shown)
		require.Contains(t, page, shown)
	}
	status, _ = try(url.Values{"request": {strings.Repeat("x", 2<<20+1)}})
	require.Equal(t, 400, status)
}

// The samples of a changed definition are run for a few seconds only, and a page that would have to wait longer says that the
// console is busy: one slow definition must not block all pages that try something.
func TestSlowDefinitionsDontBlockOthers(t *testing.T) {
	t.Parallel()
	live := definitions(t)
	s := startWith(t, console.Options{Definitions: live})
	v := s.as(t, access.RoleOperator)
	const path = "/console/providers/acme/try"
	acme, _ := live.Lookup("acme")
	source, err := live.Source(acme)
	require.NoError(t, err)
	slow := strings.Replace(string(source), "type: .body.type", `type: 'last(range(400000)) | "t"'`, 1) + "samples:\n"
	for i := range 1000 {
		slow += fmt.Sprintf("  t%d: {body: '{id: .id, type: \"t%d\"}'}\n", i, i)
	}
	_, page := v.get(s.url + path)
	proof := proofField.FindStringSubmatch(page)
	require.NotEmpty(t, proof)
	type answer struct {
		status int
		page   string
	}
	answers := make(chan answer, 2)
	for range 2 {
		go func() {
			form := url.Values{"csrf": {proof[1]}, "request": {`{"id": "e7", "type": "t"}`}, "definition": {slow}}
			res, page := v.ask("POST", s.url+path, form)
			answers <- answer{res.StatusCode, page}
		}()
	}
	refused, tried := <-answers, <-answers
	require.Equal(t, 503, refused.status)
	require.Contains(t, refused.page, "Try again in a few seconds.")
	require.Contains(t, html.UnescapeString(refused.page), "last(range(400000))", "the form keeps the definition")
	require.Equal(t, 200, tried.status)
	require.Contains(t, tried.page, "not all of them were run")
	require.NotContains(t, tried.page, "busy")
}

// A changed definition is tried without its file: its errors and what can't be meant in it are shown, no secret is used, and the
// definition in use stays. Built-in definitions have no file.
func TestAChangedDefinitionIsTried(t *testing.T) {
	t.Parallel()
	live := definitions(t)
	s := startWith(t, console.Options{Definitions: live})
	v := s.as(t, access.RoleOperator)
	const path = "/console/providers/acme/try"
	acme, _ := live.Lookup("acme")
	source, err := live.Source(acme)
	require.NoError(t, err)
	_, page := v.get(s.url + path)
	require.Contains(t, html.UnescapeString(page), string(source), "the form has the file")
	try := func(definition string) (int, string) {
		form := url.Values{"request": {`{"event_id": "e7", "type": "order.paid"}`}, "definition": {definition}}
		status, _, page := v.send(s, path, path, form)
		require.NotContains(t, page, secretOfTests)
		return status, html.UnescapeString(page)
	}

	status, page := try(strings.ReplaceAll(string(source), "\n", "\r\n"))
	require.Equal(t, 200, status)
	require.Contains(t, page, "refused: missing_token", "an unchanged definition is the one in use")
	require.NotContains(t, page, "with the changed definition")

	status, page = try(strings.Replace(string(source), ".body.id", ".body.event_id", 1))
	require.Equal(t, 200, status)
	require.Contains(t, page, "with the changed definition")
	require.Contains(t, page, "e7")
	require.NotContains(t, page, "It would become a dead letter")

	status, page = try(string(source) + "entities: [{kind: order, id: .body.ordr, op: patch}]\nsamples: {order.paid: {body: '{id: .id, type: \"order.paid\"}'}}\n")
	require.Equal(t, 200, status)
	require.Contains(t, page, `applies to no sample: in "order.paid", .body.ordr gave null`)
	require.NotContains(t, page, "A reload would refuse", "null is no error")

	status, page = try(string(source) + "samples: {order.paid: {body: '{no: .id, type: \"order.paid\"}'}}\n")
	require.Equal(t, 200, status)
	require.Contains(t, page, "A reload would refuse the changed definition, and the one in use would stay.")
	require.Equal(t, 1, strings.Count(page, "becomes a dead letter: missing_key: "), "it is no other problem besides")
	require.NotContains(t, page, "(missing_key)")

	status, page = try("name: acme\nsecrets: [\n")
	require.Equal(t, 400, status)
	require.Contains(t, page, "The changed definition can't be used, and a reload would refuse it:")
	status, page = try(string(source) + "priority: urgent\n")
	require.Equal(t, 400, status)
	require.Contains(t, page, `priority: "urgent" is unknown`)

	_, page = try(string(source))
	require.Contains(t, page, "refused: missing_token", "nothing was kept")
	_, page = v.get(s.url + "/console/providers/stripe/try")
	require.NotContains(t, page, `name="definition"`)
}

// A sample fills the form and is authentic without further changes.
func TestASampleIsTried(t *testing.T) {
	t.Parallel()
	live := definitions(t)
	s := startWith(t, console.Options{Definitions: live})
	v := s.as(t, access.RoleOperator)
	catalogue := live.Catalogue()
	for _, name := range catalogue.Names() {
		p, _ := catalogue.Lookup(name)
		for _, sample := range p.SampleTypes()[:min(1, len(p.SampleTypes()))] {
			path := "/console/providers/" + name + "/try"
			res, page := v.get(s.url + path + "?" + url.Values{"sample": {sample}}.Encode())
			require.Equal(t, 200, res.StatusCode, name)
			require.Contains(t, page, `value="yes" checked`, name)
			_, rest, _ := strings.Cut(page, `spellcheck="false">`)
			text, _, _ := strings.Cut(rest, "</textarea>")
			_, _, page = v.send(s, path, path, url.Values{"request": {html.UnescapeString(text)}, "sign": {"yes"}})
			require.Contains(t, page, "signature not checked", name)
		}
	}
	res, _ := v.get(s.url + "/console/providers/stripe/try?sample=nothing")
	require.Equal(t, 400, res.StatusCode)
}

// A pasted request may be as large as an event, and no more is read.
func TestALargeRequestIsTried(t *testing.T) {
	t.Parallel()
	s := startWith(t, console.Options{Definitions: definitions(t)})
	v := s.as(t, access.RoleOperator)
	const path = "/console/providers/acme/try"
	status, _, page := v.send(s, path, path, url.Values{"request": {`{"id":"` + strings.Repeat("x", 1<<20) + `"}`}, "sign": {"yes"}})
	require.Equal(t, 200, status)
	require.Contains(t, page, "signature not checked")
}

type lists struct{}

func (lists) Health(context.Context) ([]operation.ListHealth, error) {
	none, at := int64(0), time.Date(2026, 11, 26, 2, 10, 0, 0, time.UTC)
	stripe := operation.ListHealth{
		RecoveryMark: operation.RecoveryMark{Provider: "stripe", SwitchedOn: at.Add(-time.Hour), Watermark: at.Add(time.Hour)},
		Gaps: []operation.Recovery{{
			Base: operation.Base{ID: "one", State: operation.Completed, StartedAt: at}, Missed: 14, Recovered: 14, FirstMissed: at,
			LastMissed: at.Add(45 * time.Minute), Refused: &none,
		}},
		Blocked: &operation.Recovery{Base: operation.Base{ID: "two"}, Problem: "the credential is refused"},
	}
	return []operation.ListHealth{{RecoveryMark: operation.RecoveryMark{Provider: "paddle", Watermark: at}}, stripe}, nil
}

// The page of a provider with a list of events says until when everything is here, what was missed, and what blocks its recovery.
func TestThePageOfAProviderSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	v := startWith(t, console.Options{Definitions: definitions(t), API: &api.API{Lists: lists{}}})
	viewer := v.as(t, access.RoleViewer)
	_, page := viewer.get(v.url + "/console/providers/stripe")
	for _, shown := range []string{
		"list is here until <time", "2026-11-26T03:10:00Z",
		"14 events from 2026-11-26 02:10 to 02:55 UTC never arrived; none was refused here; 14 recovered",
		"Recovery two is paused: the credential is refused",
	} {
		require.Contains(t, page, shown)
	}
	_, page = viewer.get(v.url + "/console/providers/okta")
	require.Contains(t, page, "No credential for the provider")
	_, page = viewer.get(v.url + "/console/providers/adyen")
	require.NotContains(t, page, `id="recovery"`)
}

// shopShapes has one type, which lacks the field that its definition needs.
type shopShapes struct{}

func (shopShapes) Types(_ context.Context, _, eventType string, _ int) ([]shape.Observed, error) {
	if eventType == "other" {
		return nil, nil
	}
	known := shape.New("salt")
	for range 20 {
		known.Add(idOfShop, time.Now(), map[string]any{"id": "e1", "order": "o1"})
	}
	known.Add(idOfShop, time.Now(), map[string]any{"id": "e1"})
	return []shape.Observed{{Provider: "shop", Type: "paid", LastEvent: idOfShop, At: time.Now(), Shape: known}}, nil
}

func (shopShapes) Sample(context.Context, string, string, string, int) ([]event.Record, error) {
	return []event.Record{{Receipt: event.Receipt{ID: idOfShop, Provider: "shop"}, Body: []byte(`{"id":"e1","order":"secret-o1"}`)}}, nil
}

const idOfShop = "01a2ae5d-0000-7000-8000-000000000001"

// The page of a type shows its fields, the rules that read them, and what changed since when; a viewer sees no value.
func TestTheFieldsOfAType(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte("name: shop\nsecrets: SHOP_SECRET\n"+
		"auth: [{token: {in: header, name: x-token}}]\ntype: .body.type\nkey: {parts: [.body.id]}\n"+
		"entities: [{kind: order, id: .body.order, op: patch}]\n"), 0o600))
	live, err := providers.LoadLive(dir, nil, nil, nil)
	require.NoError(t, err)
	s := startWith(t, console.Options{Definitions: live, API: &api.API{Definitions: &definitionapi.API{
		Live: func() *providers.Live { return live }, Shapes: shopShapes{},
	}}})
	v := s.as(t, access.RoleViewer)
	_, page := v.get(s.url + "/console/providers/shop")
	require.Contains(t, page, `href="/console/providers/shop/fields"`)
	_, page = v.get(s.url + "/console/providers/shop/fields")
	for _, shown := range []string{
		"<code>order</code>", "100%", "<code>entities[0].id</code>", `<span class="state warn">missing in some events</span>`,
		"the latest 1 events",
	} {
		require.Contains(t, page, shown)
	}
	require.NotContains(t, page, "secret-o1")
	missing, _ := v.get(s.url + "/console/providers/shop/fields?type=other")
	require.Equal(t, 404, missing.StatusCode)
}
