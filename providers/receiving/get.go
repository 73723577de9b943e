package receiving

import (
	"net/http"
	"slices"
	"strings"

	"holdfast/providers/auth"
	"holdfast/providers/decode"
)

// The values of get.
const (
	getRefused = "refused"
	getEvents  = "events"
)

// checkGet requires a signature over the URL in each scheme: a GET has nothing else. With a token, which is the same in every
// request, a link in a browser's history or a log would be an event.
func (c compiler) checkGet(g *Gate) {
	for _, one := range g.Alternatives() {
		if covers := one.Coverage(); !covers.URL || covers.All {
			c.Add("get", "every scheme of auth must sign the URL ({url} or {path}): a GET has nothing else, and %s doesn't",
				strings.Join(one.Schemes(), ""))
		}
	}
	if as := g.decoders.As(decode.FormType, nil); as != "form" {
		c.Add("get", "needs a rule of decode with content_type: %s and as: form, by which the query is read", decode.FormType)
	}
}

// MayBeGetEvent reports whether a GET may be an event: it has a query, no body, and a header in which one of the schemes expects
// its signature. Others, such as those of browsers, aren't for the provider.
func (g *Gate) MayBeGetEvent(r *auth.Request) bool {
	if !g.takesGet || r.Method != http.MethodGet || len(r.Body) > 0 || len(r.Query) == 0 {
		return false
	}
	headers, _, _ := g.Hidden()
	return slices.ContainsFunc(headers, func(name string) bool { return len(r.Header[name]) > 0 })
}

// QueryAsBody makes the query of an authentic GET its body, which the event is read from. It is what the sender has signed. Other
// requests stay as they are.
func QueryAsBody(r *auth.Request) {
	if r.Method != http.MethodGet {
		return
	}
	_, query, _ := strings.Cut(r.URL, "?")
	r.Body = []byte(query)
	r.SetHeader("content-type", decode.FormType)
}
