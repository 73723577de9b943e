package recovery

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"holdfast/event"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// Fetch is a compiled GET for the current state of what an event names. It is immutable and safe for concurrent use.
type Fetch struct {
	// DeletesGone means that a 404 deletes what the event names.
	DeletesGone bool
	// Also are the GETs that follow, for what the states before them name.
	Also []*Fetch
	// Name is the state's name, if the GET is one of Also.
	Name string

	access access
	types  []definition.Glob
	path   template
	values []fetchValue
	answer []string
}

type fetchValue struct {
	name string
	expr *jq.Expression
}

// maxAlso bounds the GETs that follow the first one.
const maxAlso = 2

// namePattern is the name of a value in a path, or of a state.
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// NewFetches compiles a definition's fetches, and reports every problem, except for those of the API, which New reports.
func NewFetches(p *definition.Problems, api *definition.API, all []definition.Fetch) (fetches []*Fetch) {
	var access access
	switch {
	case len(all) == 0:
		return nil
	case api == nil:
		p.Add("api", "is missing: fetch needs the host and a credential")
	default:
		access = newAccess(&definition.Problems{}, api)
	}
	for i := range all {
		fetches = append(fetches, newFetch(p, fmt.Sprintf("fetch[%d].", i), access, &all[i]))
	}
	return fetches
}

func newFetch(p *definition.Problems, at string, access access, d *definition.Fetch) *Fetch {
	f := &Fetch{access: access, types: p.Globs(at+"types", d.Types)}
	f.DeletesGone = p.OneOf(at+"gone", d.Gone, "keep", "delete") == "delete"
	names := slices.Sorted(maps.Keys(d.Values))
	f.path = checkPath(p, at+"path", d.Path, names...)
	for _, name := range names {
		field := at + "values." + name
		x := expression(p, field, d.Values[name])
		switch {
		case !namePattern.MatchString(name):
			p.Add(field, "invalid name %q: use lower-case letters, digits and _", name)
		case !f.path.uses(name):
			p.Add(field, "is not in the path: use it as {%s}", name)
		case x != nil && !x.Dependencies.OnlyBody():
			p.Add(field, "reads more than the body: what is fetched must come from the body of the event")
		}
		f.values = append(f.values, fetchValue{name, x})
	}
	if d.Answer != "" && d.Answer != "." {
		f.answer = strings.Split(d.Answer, ".")
		if slices.Contains(f.answer, "") {
			p.Add(at+"answer", "%q isn't a dotted path: use one such as payments, or . for the answer itself", d.Answer)
		}
	}
	f.addAlso(p, at+"also", d.Also)
	return f
}

func (f *Fetch) addAlso(p *definition.Problems, field string, all []definition.AlsoFetch) {
	if len(all) > maxAlso {
		p.Add(field, "has %d GETs: an event has up to %d, and each costs a request of the API's rate", len(all), maxAlso+1)
	}
	for i, d := range all {
		at := fmt.Sprintf("%s[%d].", field, i)
		also := newFetch(p, at, f.access, &definition.Fetch{Path: d.Path, Values: d.Values, Answer: d.Answer})
		if also.Name = d.Name; !namePattern.MatchString(d.Name) {
			p.Add(at+"name", "invalid name %q: use lower-case letters, digits and _", d.Name)
		}
		f.Also = append(f.Also, also)
	}
}

// Matches reports whether the fetch is for events of a type.
func (f *Fetch) Matches(eventType string) bool {
	return len(f.types) == 0 || definition.AnyMatch(f.types, eventType)
}

// valuePattern is an ID as providers have them. It allows nothing that could change more of a path than its place.
var valuePattern = regexp.MustCompile(`^[A-Za-z0-9._~:@=-]{1,200}$`)

// Values reads the values of the path from an event. ok is false if one of them is missing. The error is an *event.Error.
func (f *Fetch) Values(ctx context.Context, in jq.Input) (values map[string]string, ok bool, err error) {
	values = map[string]string{}
	for _, one := range f.values {
		v, err := one.expr.First(ctx, in, nil)
		if err != nil {
			return nil, false, one.expr.Failed(err)
		}
		text, _ := jq.Text(v)
		if v == nil || v == "" {
			return nil, false, nil
		}
		if !valuePattern.MatchString(text) || text == "." || text == ".." {
			return nil, false, one.expr.Reject("bad_fetch_value", "isn't an ID that can be a part of a path")
		}
		values[one.name] = text
	}
	return values, true, nil
}

// Request returns the request for the state. Secret returns the value of a variable; "" if it isn't set. The error is a *Error.
func (f *Fetch) Request(values map[string]string, secret func(name string) string) (Request, error) {
	r := Request{Method: "GET", Header: map[string]string{"accept": "application/json"}}
	host, err := f.access.hostOf(secret)
	if err != nil {
		return r, err
	}
	path, _ := f.path.fill(func(name string) string { return values[name] }, func(_, value string) string {
		return url.PathEscape(value)
	})
	r.URL = "https://" + host + path
	err = f.access.authorize(&r, host, "", secret)
	return r, err
}

// Read returns the state in an answer, as the provider wrote it. The error is a *Error.
func (f *Fetch) Read(a Answer) ([]byte, error) { return a.valueAt(f.answer, f, MaxAnswer) }

// valueAt returns the text of a value in the answer to a GET. The error is a *Error.
func (a Answer) valueAt(path []string, get fmt.Stringer, most int) ([]byte, error) {
	if len(a.Body) > most {
		return nil, Errorf(KindUnreadable, "%s: the answer is larger than %d bytes", get, most)
	}
	done, err := decode.Turn(context.Background(), len(a.Body))
	if err != nil {
		return nil, err
	}
	defer done()
	if _, err := decode.JSON(a.Body); err != nil {
		return nil, a.notJSON(get)
	}
	value, ok := rawAt(a.Body, path)
	if !ok || string(value) == "null" {
		return nil, Errorf(KindUnreadable, "%s: the answer has nothing at %q", get, strings.Join(path, "."))
	}
	return value, nil
}

// SecretNames returns the names of the secrets and variables that the request needs, sorted.
func (f *Fetch) SecretNames() []string { return f.access.secretNames() }

// String returns the method and the address, without values: it has no secret.
func (f *Fetch) String() string { return fmt.Sprintf("GET %s%s", f.access.host, f.path) }

// FetchPolicy is the retry policy of a fetch: ten attempts in about five hours. What the provider asks to wait for isn't counted.
func FetchPolicy() event.Policy {
	const second, minute = event.Duration(1e9), event.Duration(60e9)
	return event.Policy{
		Attempts: 10, Jitter: 0.2, Timeout: 2 * minute,
		Delays: []event.Duration{5 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute, 60 * minute},
	}
}
