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
	// Reach, Overlap, Settle and Retrying are the definition's settings.
	Reach, Overlap, Settle, Retrying event.Duration
	// Order says which items come first.
	Order Order
	// Types are the event types to recover; nil for those that have arrived by webhook.
	Types []definition.Glob
	// FollowUp is the request that each missed event needs; nil if the list has all of them.
	FollowUp *FollowUp

	webhook string // the path of the webhook
	access  access
	path    template
	query   map[string]template
	post    *jq.Expression
	items   []string
	next    next
	time    *jq.Expression
	unit    string
	body    body
	headers map[string]template
	// delivery is nil unless events are known by their deliveries.
	delivery, delivered *jq.Expression
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
		l.access = newAccess(p, api)
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
	l.compileFollowUp(p, r)
	return l
}

// wordPattern finds the fields that an expression may read.
var wordPattern = regexp.MustCompile(`[a-z_]+`)

func (l *List) compileRequest(p *definition.Problems, r *definition.Recover) {
	l.path = checkPath(p, "recover.path", r.Path, varTarget, varCursor)
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
func (l *List) SecretNames() []string { return l.access.secretNames() }

// String returns the list's method and address without the query: it has no secret.
func (l *List) String() string {
	return fmt.Sprintf("%s %s%s", l.method(), l.access.host, l.path)
}
