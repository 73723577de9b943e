package console_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/oversight"
	"holdfast/operator/access"
	"holdfast/operator/console"
)

// Commands in advice are shown as code, and a card links to the page that helps, if there is one.
func TestAFindingLeadsToItsPage(t *testing.T) {
	t.Parallel()
	s := startShowing(t, console.Options{Doctor: func(context.Context) oversight.Examination {
		return oversight.Examination{At: time.Now(), Findings: []oversight.SeenFinding{
			{Finding: oversight.Finding{Check: "inbox", Result: "warn", Detail: "<b>`a`</b>", Advice: "run `holdfast inbox list`, it's ` odd"}},
			{Finding: oversight.Finding{Check: "schedule holdfast-sweep", Result: "warn", Detail: "paused"}},
			{Finding: oversight.Finding{Check: "dead letters", Result: "fail", Detail: "no page of dead letters is served here"}},
			{Finding: oversight.Finding{Check: "pooler", Result: "warn", Detail: "nothing here shows it"}},
		}}
	}}, "/tools", false)
	_, page := newVisitor(t).get(s.url + "/console")
	require.Contains(t, page, "<p>&lt;b&gt;<code>a</code>&lt;/b&gt;</p>")
	require.Contains(t, page, "run <code>holdfast inbox list</code>, it&#39;s ` odd")
	cards := regexp.MustCompile(`(?s)<article.*?</article>`).FindAllString(page, -1)
	require.Len(t, cards, 4)
	for card, to := range map[string]string{
		"inbox": "/tools/console#inbox", "schedule holdfast-sweep": "/tools/console#schedules", "dead letters": "", "pooler": "",
	} {
		for _, drawn := range cards {
			if strings.Contains(drawn, "<h3>"+card+" ") {
				require.Equal(t, to != "", strings.Contains(drawn, `href="`+to+`"`), drawn)
				require.Equal(t, to != "", strings.Contains(drawn, "<a "), drawn)
			}
		}
	}
}

// Users and proxies append a slash.
func TestATrailingSlashIsIgnored(t *testing.T) {
	t.Parallel()
	s := start(t, "/tools", true)
	v := newVisitor(t)
	res, _ := v.get(s.url + "/console/")
	require.Equal(t, "/tools/console/login?next=%2Ftools%2Fconsole%2F", res.Header.Get("Location"))
	v.logIn(s, s.tokens[access.RoleViewer])
	session := newVisitor(t).logIn(s, s.tokens[access.RoleViewer]).Cookies()[0]
	for path, to := range map[string]string{
		"/console/?window=1h": "/tools/console?window=1h",
		"/console/":           "/tools/console", "/console//": "/tools/console", "/console/events/": "/tools/console/events",
	} {
		for _, prefix := range []string{"", "/tools"} {
			res, _ := newVisitor(t).get(s.url+prefix+path, "Cookie", session.Name+"="+session.Value)
			require.Equal(t, "303 "+to, res.Status[:3]+" "+res.Header.Get("Location"), path)
		}
	}
}

// API clients and browsers get different error responses.
func TestAMissingPageIsExplained(t *testing.T) {
	t.Parallel()
	res, page := newVisitor(t).get(start(t, "", false).url + "/console/nothing")
	require.Equal(t, 404, res.StatusCode)
	require.Contains(t, page, "Page not found.")
	require.NotContains(t, page, "GET /")
	res, answer := newVisitor(t).get(start(t, "", false).url + "/nothing")
	require.Equal(t, 404, res.StatusCode)
	require.Contains(t, answer, "GET / lists what there is.")
}
