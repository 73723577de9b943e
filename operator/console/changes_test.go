package console_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/console"
	"holdfast/providers"
)

// everything returns a console with all pages. Only destinations have a backend: any other change that gets through panics.
func everything(behind *destinations) console.Options {
	shown := behind.shown()
	shown.API.Events = struct{ api.EventStore }{}
	shown.API.DeadLetters = struct{ api.DeadLetterStore }{}
	shown.API.SingleReplays = struct{ api.SingleReplayer }{}
	shown.API.Entities = struct{ api.EntityStore }{}
	shown.API.Replays = struct{ api.BulkReplayer }{}
	shown.API.Rebuilds = struct{ api.Rebuilder }{}
	shown.API.Imports = &api.Importer{}
	shown.Definitions = &providers.Live{}
	return shown
}

var parameter = regexp.MustCompile(`:\w+`)

// changed is a route that changes something, and the role that it needs.
type changed struct {
	method, path string
	needs        access.Role
}

// changesOf returns all routes of a console that change something.
func changesOf(o console.Options) (all []changed) {
	for _, p := range console.New(o).Site().Pages {
		if p.Method == "GET" || p.Path == "/console/login" {
			continue
		}
		path := parameter.ReplaceAllStringFunc(p.Path, func(name string) string {
			switch {
			case name == ":verb":
				return "pause"
			case strings.HasPrefix(p.Path, "/console/events/"):
				return replayed
			case strings.HasPrefix(p.Path, "/console/dead-letters/"):
				return "7"
			}
			return "crm"
		})
		all = append(all, changed{p.Method, path, access.Needs(p.Method, p.Path)})
	}
	return all
}

// withCRM returns one destination with secrets in its headers, and a subscription to it.
func withCRM() *destinations {
	behind := newDestinations()
	behind.all["crm"] = delivery.Destination{ID: 3, Version: 1, Name: "crm", HTTP: &delivery.HTTP{
		URL: "https://crm.example.com/hooks/path-secret", Headers: delivery.Headers{"X-Key": "header-secret"}, Secrets: "pasted-secret",
	}}
	behind.subscriptions["customers"] = delivery.Subscription{
		ID: 9, Version: 1, Name: "customers", To: "crm", DestinationID: 3, Active: true,
	}
	return behind
}

// A change needs a session of a sufficient role and a form from one of our pages; without either, nothing changes.
func TestEveryChangeOfTheConsoleIsGuarded(t *testing.T) {
	t.Parallel()
	behind := withCRM()
	behind.waiting = 5
	s := startShowing(t, everything(behind), "", true)
	changes := changesOf(everything(behind))
	require.Greater(t, len(changes), 25)
	form := url.Values{
		"subscription": {"customers"}, "name": {"new"}, "http.url": {"https://a.example"}, "id": {"4"}, "count": {"5"}, "version": {"1"},
		"reason": {"x"}, "rate": {"1"},
	}
	with := func(proof url.Values) url.Values {
		sent := url.Values{}
		for _, some := range []url.Values{form, proof} {
			for name, values := range some {
				sent[name] = values
			}
		}
		return sent
	}
	until := "?destination=crm&until=" + url.QueryEscape(time.Now().Format(time.RFC3339))
	for _, role := range access.Roles() {
		v := newVisitor(t)
		cookie := v.logIn(s, s.tokens[role]).Cookies()[0]
		_, home := v.get(s.url + "/console")
		proof := proofIn(t, home)
		for _, c := range changes {
			at := s.url + c.path + until
			for why, refused := range map[string]struct {
				form    url.Values
				headers []string
			}{
				"no proof":         {form, nil},
				"a proof of zeros": {with(url.Values{"csrf": {strings.Repeat("0", 64)}}), nil},
				"an empty proof":   {with(url.Values{"csrf": {""}}), nil},
				"a foreign origin": {with(proof), []string{"Origin", "https://evil.example"}},
				"no origin":        {with(proof), []string{"Origin", "null"}},
				"a foreign page":   {with(proof), []string{"Sec-Fetch-Site", "cross-site"}},
			} {
				res, _ := v.ask(c.method, at, refused.form, refused.headers...)
				require.Equal(t, 403, res.StatusCode, "%s %s as %s with %s", c.method, c.path, role, why)
			}
			res, _ := v.ask(c.method, at+"&csrf="+proof.Get("csrf"), form)
			require.Equal(t, 403, res.StatusCode, "%s as %s with the proof in the address", c.path, role)
			for _, method := range []string{"PUT", "DELETE", "PATCH"} {
				res, _ := v.ask(method, at, with(proof))
				require.Contains(t, []int{403, 404, 405}, res.StatusCode, "%s %s as %s", method, c.path, role)
			}
			if !role.Includes(c.needs) {
				res, page := v.ask(c.method, at, with(proof))
				require.Equal(t, 403, res.StatusCode, "%s as %s", c.path, role)
				require.NotContains(t, page, "<textarea", "%s as %s", c.path, role)
			}
		}
		s.sessions.expire()
		for _, c := range changes {
			res, _ := v.with(s, cookie).ask(c.method, s.url+c.path+until, with(proof))
			require.Equal(t, 303, res.StatusCode, c.path)
			require.True(t, strings.HasPrefix(res.Header.Get("Location"), "/console/login"), "%s leads to %s", c.path, res.Header.Get("Location"))
		}
	}
	require.Empty(t, behind.did)
	require.Len(t, behind.all, 1)
}

func (s *sessions) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = nil
}

var posting = regexp.MustCompile(`<form[^>]*method="post"[^>]*action="([^"]*)"`)

// A viewer gets no form except logout and the choice of colors, and nothing that can be a secret.
func TestAViewerSeesNoSecretAndNoForm(t *testing.T) {
	t.Parallel()
	behind := withCRM()
	s := startShowing(t, behind.shown(), "", true)
	for _, path := range []string{
		"/console/destinations", "/console/destinations/crm", "/console/deliveries", "/console/deliveries?destination=crm", "/console",
	} {
		status, page := s.look(t, access.RoleViewer, path)
		require.Equal(t, 200, status, path)
		require.NotContains(t, page, "-secret", path)
		for _, form := range posting.FindAllStringSubmatch(page, -1) {
			require.Contains(t, []string{"/console/logout", "/console/theme"}, form[1], path)
		}
	}
	for _, role := range []access.Role{access.RoleOperator, access.RoleIntegrator, access.RoleAdmin} {
		for _, path := range []string{"/console/destinations/crm", "/console/destinations/crm/edit"} {
			_, page := s.look(t, role, path)
			require.NotContains(t, page, "header-secret", "%s as %s", path, role)
			require.NotContains(t, page, "pasted-secret", "%s as %s", path, role)
		}
	}
}
