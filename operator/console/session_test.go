package console_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/operator/access"
)

// with returns a visitor with another visitor's cookie.
func (v visitor) with(s site, cookie *http.Cookie) visitor {
	v.t.Helper()
	at, err := url.Parse(s.url)
	require.NoError(v.t, err)
	other := newVisitor(v.t)
	other.Jar.SetCookies(at, []*http.Cookie{cookie})
	return other
}

func proofIn(t *testing.T, page string) url.Values {
	t.Helper()
	found := proofField.FindStringSubmatch(page)
	require.NotNil(t, found, page)
	return url.Values{"csrf": {found[1]}}
}

// Logging out ends the session everywhere: copies of the cookie become invalid.
func TestALogoutEndsTheSessionWhereverItsCookieIs(t *testing.T) {
	t.Parallel()
	s := start(t, "", true)
	v := newVisitor(t)
	cookie := v.logIn(s, s.tokens[access.RoleOperator]).Cookies()[0]
	thief := v.with(s, cookie)
	_, page := thief.get(s.url + "/console")
	require.Contains(t, page, "the-operator")
	res, _ := v.ask("POST", s.url+"/console/logout", proofIn(t, page))
	require.Equal(t, 303, res.StatusCode)
	res, _ = thief.get(s.url + "/console")
	require.Equal(t, 303, res.StatusCode)
	res, _ = thief.get(s.url + "/openapi.json")
	require.Equal(t, 401, res.StatusCode)
	require.Equal(t, []oversight.AuditAction{oversight.AuditLogin, oversight.AuditLogout}, s.sessions.audited())
}

// A session belongs to the installation: other processes accept it, and so does this one after a restart. What its holder may do
// follows the token in each process.
func TestASessionIsKnownToEveryProcess(t *testing.T) {
	t.Parallel()
	s := start(t, "", true)
	cookie := newVisitor(t).logIn(s, s.tokens[access.RoleAdmin]).Cookies()[0]
	replica := s.serve(t)
	res, page := newVisitor(t).with(replica, cookie).get(replica.url + "/console")
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, page, "the-admin <small>admin</small>")

	demoted := s
	demoted.all = append(access.Tokens{}, s.all...)
	for i := range demoted.all {
		demoted.all[i].Role = access.RoleViewer
	}
	demoted = demoted.serve(t)
	_, page = newVisitor(t).with(demoted, cookie).get(demoted.url + "/console")
	require.Contains(t, page, "the-admin <small>viewer</small>")

	_, another, err := access.NewToken("the-admin", access.RoleAdmin)
	require.NoError(t, err)
	for name, tokens := range map[string]access.Tokens{"gone": s.all[:1], "replaced": {another}} {
		changed := s
		changed.all = tokens
		changed = changed.serve(t)
		res, _ = newVisitor(t).with(changed, cookie).get(changed.url + "/console")
		require.Equal(t, 303, res.StatusCode, name)
	}
}

// While the database doesn't answer, sessions seen recently still see what is down; new ones are refused, and users who are
// logged in aren't shown as logged out.
func TestWhoIsLoggedInStaysWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	s := start(t, "", true)
	v := newVisitor(t)
	cookie := v.logIn(s, s.tokens[access.RoleViewer]).Cookies()[0]
	_, page := v.get(s.url + "/console")
	unseen := s.serve(t)
	s.sessions.fail(&event.Error{Class: event.ClassTransient, Code: "connection_lost", Text: "away"})
	res, _ := v.get(s.url + "/console")
	require.Equal(t, 200, res.StatusCode)
	res, _ = newVisitor(t).with(unseen, cookie).get(unseen.url + "/console")
	require.Equal(t, 503, res.StatusCode)
	require.Equal(t, 503, newVisitor(t).logIn(s, s.tokens[access.RoleViewer]).StatusCode)
	res, _ = v.ask("POST", s.url+"/console/logout", proofIn(t, page))
	require.Equal(t, 503, res.StatusCode)
	require.Equal(t, 401, newVisitor(t).logIn(s, "wrong").StatusCode)
}

// An attacker behind a shared address doesn't block the login page for others.
func TestALockedOutAddressMayUseACorrectToken(t *testing.T) {
	t.Parallel()
	s := start(t, "", true)
	for range 11 {
		newVisitor(t).logIn(s, "wrong")
	}
	v := newVisitor(t)
	res, _ := v.get(s.url + "/console/events")
	require.Equal(t, "303 /console/login?next=%2Fconsole%2Fevents", res.Status[:3]+" "+res.Header.Get("Location"))
	res, _ = v.get(s.url + res.Header.Get("Location"))
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, 303, v.logIn(s, s.tokens[access.RoleViewer]).StatusCode)
	res, _ = newVisitor(t).get(s.url + "/openapi.json")
	require.Equal(t, 429, res.StatusCode, "programs are told to wait")
}

// For failed logins, the audit log gets at most one row per minute, and none of the submitted tokens.
func TestRefusedLoginsAreReportedOnceAMinute(t *testing.T) {
	t.Parallel()
	s := start(t, "", true)
	for range 8 {
		require.Equal(t, 401, newVisitor(t).logIn(s, "CANARY").StatusCode)
	}
	require.Eventually(t, func() bool { return len(s.sessions.audited()) > 0 }, waiting, tick)
	require.Equal(t, []oversight.AuditAction{oversight.AuditLoginRefused}, s.sessions.audited())
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	require.JSONEq(t, `{"times":1,"addresses":["127.0.0.1"]}`, string(s.sessions.audit[0].Detail))
	require.Equal(t, "nobody", s.sessions.audit[0].Actor)
}

// A proxy that asks for a password passes it on with each request.
func TestAProxyPasswordIsNotAWrongToken(t *testing.T) {
	t.Parallel()
	s := start(t, "", true)
	v := newVisitor(t)
	v.logIn(s, s.tokens[access.RoleViewer])
	for range 20 {
		res, _ := newVisitor(t).get(s.url+"/console", "Authorization", "Basic dTpw")
		require.Equal(t, 303, res.StatusCode)
	}
	res, page := v.get(s.url+"/console", "Authorization", "Basic dTpw")
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, page, "the-viewer")
	res, _ = v.ask("POST", s.url+"/console/logout", nil, "Authorization", "Basic dTpw")
	require.Equal(t, 403, res.StatusCode, "a session shows that it comes from a page of ours")
	res, _ = v.get(s.url+"/console", "Authorization", "Bearer wrong")
	require.Equal(t, 303, res.StatusCode, "who shows a token is taken by it")
}
