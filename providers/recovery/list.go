package recovery

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// The defaults of a list.
const (
	defaultOverlap = event.Duration(time.Hour)
	defaultSettle  = event.Duration(5 * time.Minute)
)

// List is a provider's compiled list of events. It is immutable and safe for concurrent use.
type List struct {
	// Reach, Overlap, Settle and Retrying are those of the definition.
	Reach, Overlap, Settle, Retrying event.Duration
	// Order says which items come first.
	Order Order
	// Types are the event types to recover; nil for those that have arrived by webhook.
	Types []definition.Glob

	webhook string // the path of the webhook
	host    template
	headers map[string]template
	basic   *definition.APIBasic
	oauth   *definition.OAuth
	path    template
	query   map[string]template
	post    *jq.Expression
	items   []string
	next    next
	time    *jq.Expression
	unit    string
	body    body
	// filters means that the provider leaves out what is before, or after, the window.
	filtersFrom, filtersTo bool
}

// Order is the order of a list.
type Order string

// The orders of a list.
const (
	NewestFirst Order = "newest_first"
	OldestFirst Order = "oldest_first"
)

// New compiles a definition's list; nil if it has none. It reports every problem. The webhook is the path that the provider
// calls.
func New(p *definition.Problems, webhook string, api *definition.API, r *definition.Recover) *List {
	l := &List{webhook: webhook}
	if api != nil {
		l.compileAPI(p, api)
	}
	switch {
	case r == nil:
		return nil
	case api == nil:
		p.Add("api", "is missing: recover needs the host and a credential")
	}
	l.compileRequest(p, r)
	l.compileAnswer(p, r)
	l.compileTimes(p, r)
	return l
}

// hostPattern is a host name with at least two labels: no address, no port and no path.
var hostPattern = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$`)

// configuredPattern is a host name from a variable, which is the installation's configuration: it may be that of a test server
// or a gateway, with a port. Which addresses a client connects to is its transport's decision.
var configuredPattern = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z]([a-z0-9-]*[a-z0-9])?(:[0-9]{1,5})?$`)

func (l *List) compileAPI(p *definition.Problems, api *definition.API) {
	if p.Required("api.host", api.Host) {
		l.host = newTemplate(p, "api.host", api.Host, true)
		one := variablePattern.ReplaceAllString(api.Host, "a.bc")
		if !hostPattern.MatchString(one) {
			p.Add("api.host", "%q isn't a host name: use one such as api.example.com, or {NAME} for a variable that has it", api.Host)
		}
	}
	l.headers = map[string]template{}
	hasCredential := api.Basic != nil || api.OAuth != nil
	for _, name := range slices.Sorted(maps.Keys(api.Headers)) {
		field := "api.headers." + name
		header := newTemplate(p, field, api.Headers[name], true, varTarget)
		l.headers[p.HeaderName(field, name)] = header
		hasCredential = hasCredential || len(header.secrets()) > 0
	}
	switch {
	case api.Basic != nil && api.OAuth != nil:
		p.Add("api.oauth", "conflicts with basic: use one of them")
	case !hasCredential:
		p.Add("api", `has no credential: use headers ("Bearer {ACME_API_KEY}"), basic or oauth`)
	}
	if l.basic = api.Basic; l.basic != nil {
		p.SecretName("api.basic.user", l.basic.User)
		if l.basic.Password != "" {
			p.SecretName("api.basic.password", l.basic.Password)
		}
	}
	if l.oauth = api.OAuth; l.oauth != nil {
		p.SecretName("api.oauth.client", l.oauth.Client)
		p.SecretName("api.oauth.secret", l.oauth.Secret)
		l.checkPath(p, "api.oauth.path", l.oauth.Path)
	}
	if api.Rate == nil || api.Rate.Requests == definition.Unlimited {
		p.Add("api.rate", "is missing: a tenth of the provider's limit leaves the rest to your other calls")
	}
}

// pathPattern allows no query, no fragment and no empty segment.
var pathPattern = regexp.MustCompile(`^(/[A-Za-z0-9._~:@{}-]+)+/?$`)

func (l *List) checkPath(p *definition.Problems, field, path string, variables ...string) template {
	if p.Required(field, path) && (!pathPattern.MatchString(path) || slices.Contains(strings.Split(path, "/"), "..")) {
		p.Add(field, "%q isn't a path: use one such as /v1/events, without a query", path)
	}
	return newTemplate(p, field, path, false, variables...)
}

// wordPattern finds the fields that an expression may read.
var wordPattern = regexp.MustCompile(`[a-z_]+`)

func (l *List) compileRequest(p *definition.Problems, r *definition.Recover) {
	l.path = l.checkPath(p, "recover.path", r.Path, varTarget, varCursor)
	l.query = map[string]template{}
	templates := []template{l.path}
	for _, name := range slices.Sorted(maps.Keys(r.Query)) {
		t := newTemplate(p, "recover.query."+name, r.Query[name], false, varFrom, varTo, varCursor, varTarget)
		l.query[name] = t
		templates = append(templates, t)
	}
	l.post = expression(p, "recover.post", r.Post)
	if (r.Post != "") != r.Reads {
		p.Add("recover.reads", "must be true for a list with post, which declares that it changes nothing, and only for it")
	}
	uses := func(name string) bool {
		return slices.ContainsFunc(templates, func(t template) bool { return t.uses(name) }) ||
			slices.Contains(wordPattern.FindAllString(string(r.Post), -1), name)
	}
	l.filtersFrom, l.filtersTo = uses(varFrom), uses(varTo)
	l.next = newNext(p, r.Next)
	if !uses(varCursor) && !l.next.replacesQuery() {
		p.Add("recover.query", "has no {cursor}: every page would be the first one")
	}
}

func (l *List) compileAnswer(p *definition.Problems, r *definition.Recover) {
	if p.Required("recover.items", r.Items) && r.Items != "." {
		l.items = strings.Split(r.Items, ".")
		if slices.Contains(l.items, "") {
			p.Add("recover.items", "%q isn't a dotted path: use one such as data.events, or . for the answer itself", r.Items)
		}
	}
	p.Required("recover.time.expr", string(r.Time.Expr))
	l.time = expression(p, "recover.time.expr", r.Time.Expr)
	p.Required("recover.time.unit", r.Time.Unit)
	l.unit = p.OneOf("recover.time.unit", r.Time.Unit, "rfc3339", "unix_s", "unix_ms")
	p.Required("recover.order", r.Order)
	l.Order = Order(p.OneOf("recover.order", r.Order, string(NewestFirst), string(OldestFirst)))
	l.body = newBody(p, r.Body)
	if r.Types != nil {
		l.Types = definition.Globs(r.Types)
	}
}

func (l *List) compileTimes(p *definition.Problems, r *definition.Recover) {
	if r.Reach == nil || *r.Reach == 0 {
		p.Add("recover.reach", "want how far back the list goes, such as 30d")
	} else {
		l.Reach = event.Duration(*r.Reach)
	}
	l.Overlap, l.Settle = defaultOverlap, defaultSettle
	for _, one := range []struct {
		field string
		value *definition.Duration
		to    *event.Duration
	}{{"overlap", r.Overlap, &l.Overlap}, {"settle", r.Settle, &l.Settle}, {"retrying", r.Retrying, &l.Retrying}} {
		switch {
		case one.value == nil:
		case *one.value == 0:
			p.Add("recover."+one.field, "want a duration such as 1h, not forever")
		default:
			*one.to = event.Duration(*one.value)
		}
	}
	if l.Reach > 0 && l.Overlap+l.Settle >= l.Reach {
		p.Add("recover.reach", "must be longer than overlap and settle together")
	}
}

func expression(p *definition.Problems, field string, source definition.JQ) *jq.Expression {
	x, err := jq.Compile(field, string(source))
	if err != nil {
		p.Add(field, "%s", err.Error())
	}
	return x
}

// SecretNames returns the names of the secrets and variables that a walk needs, sorted.
func (l *List) SecretNames() []string {
	names := l.host.secrets()
	for _, header := range l.headers {
		names = append(names, header.secrets()...)
	}
	if l.basic != nil {
		names = append(names, l.basic.User, l.basic.Password)
	}
	if l.oauth != nil {
		names = append(names, l.oauth.Client, l.oauth.Secret)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

// String returns the list's method and address without the query: it has no secret.
func (l *List) String() string {
	return fmt.Sprintf("%s %s%s", l.method(), l.host, l.path)
}
