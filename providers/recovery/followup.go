package recovery

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// FollowUp is one more request for a missed event: a GET for its body, or a POST with which the provider sends it again.
type FollowUp struct {
	// Redelivers reports whether it is the POST.
	Redelivers bool

	access *access
	path   template
	body   []string
}

// varItem is a part of an item: {item.id}.
const varItem = "item"

func (l *List) compileFollowUp(p *definition.Problems, r *definition.Recover) {
	l.headers = map[string]template{}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		field := "recover.headers." + name
		l.headers[p.HeaderName(field, name)] = newTemplate(p, field, r.Headers[name], false, varItem)
	}
	l.delivery = expression(p, "recover.delivery", r.Delivery)
	l.delivered = expression(p, "recover.delivered", r.Delivered)
	switch {
	case r.Delivery != "" && r.Delivered == "":
		p.Add("recover.delivered", "is missing: an event with a delivery ID is known by its deliveries")
	case r.Detail != nil && r.Redeliver != "":
		p.Add("recover.redeliver", "conflicts with detail: use detail if it has the body")
	case r.Delivery != "" && r.Redeliver == "":
		p.Add("recover.delivery", "needs redeliver: an event that is known by its deliveries can only be sent again")
	case r.Delivery != "" && l.Order != NewestFirst:
		p.Add("recover.order", "must be newest_first with delivery: the last attempt of a delivery must come first")
	case r.Detail != nil:
		l.FollowUp = &FollowUp{access: &l.access, path: checkPath(p, "recover.detail.path", r.Detail.Path, varTarget, varItem)}
		if p.Required("recover.detail.body", r.Detail.Body) && r.Detail.Body != "." {
			l.FollowUp.body = strings.Split(r.Detail.Body, ".")
		}
	case r.Redeliver != "":
		l.FollowUp = &FollowUp{
			Redelivers: true, access: &l.access, path: checkPath(p, "recover.redeliver", r.Redeliver, varTarget, varItem),
		}
	}
	if l.FollowUp != nil && !slices.ContainsFunc(l.FollowUp.path.variables(), isItem) {
		p.Add("recover", "the path of detail or redeliver has no {item.PATH}: it must name the item")
	}
}

func isItem(variable string) bool { return strings.HasPrefix(variable, varItem+".") }

// partPattern is a part of an item that may become a segment of a path, or a header. It can't be . or .. and has no slash.
var partPattern = regexp.MustCompile(`^[A-Za-z0-9_~@=-][A-Za-z0-9._~:@=-]{0,199}$`)

// fillItem replaces the parts of an item, and the target. ok is false if a part is missing, or isn't an ID.
func (t template) fillItem(item []byte, target string) (text string, ok bool) {
	text, ok = t.fill(func(name string) string {
		if name == varTarget {
			return target
		}
		part, _ := rawAt(item, strings.Split(name, ".")[1:])
		if text := textOf(part); partPattern.MatchString(text) {
			return text
		}
		return ""
	}, func(name, value string) string {
		if name == varTarget {
			return value
		}
		return url.PathEscape(value)
	})
	if !ok {
		return "", false
	}
	return text, true
}

// textOf returns the value of JSON text, or a number as it is written; "" for anything else.
func textOf(part []byte) string {
	var text string
	var number json.Number
	switch {
	case json.Unmarshal(part, &text) == nil:
		return text
	case json.Unmarshal(part, &number) == nil:
		return number.String()
	}
	return ""
}

// Request returns the request for an item's Path. Secret returns the value of a variable; "" if it isn't set. The error is a
// *Error.
func (f *FollowUp) Request(path, target string, secret func(name string) string) (Request, error) {
	r := Request{
		Method: f.method(), Header: map[string]string{"accept": "application/json"}, AnySuccess: f.Redelivers, MaxAnswer: MaxDetail,
	}
	host, err := f.access.hostOf(secret)
	if err != nil {
		return r, err
	}
	r.URL = "https://" + host + path
	err = f.access.authorize(&r, host, target, secret)
	return r, err
}

// Read returns the body of the webhook in the answer to a GET. The error is a *Error.
func (f *FollowUp) Read(a Answer) ([]byte, error) {
	body, err := a.valueAt(f.body, f, MaxDetail)
	if err != nil {
		return nil, err
	}
	if text := textOf(body); text != "" {
		return []byte(text), nil
	}
	return body, nil
}

// SecretNames returns the names of the secrets and variables that the request needs, sorted.
func (f *FollowUp) SecretNames() []string { return f.access.secretNames() }

// String returns the method and the address, without values: it has no secret.
func (f *FollowUp) String() string { return fmt.Sprintf("%s %s%s", f.method(), f.access.host, f.path) }

func (f *FollowUp) method() string {
	if f.Redelivers {
		return "POST"
	}
	return "GET"
}

// addFollowUp sets what an item has in addition to an event: its Path and headers, and those of a delivery.
func (l *List) addFollowUp(ctx context.Context, item *Item, in jq.Input, target string) error {
	for name, header := range l.headers {
		if text, ok := header.fillItem(item.Text, target); ok {
			item.Request.SetHeader(name, text)
		}
	}
	if l.FollowUp != nil {
		item.Path, _ = l.FollowUp.path.fillItem(item.Text, target)
	}
	v, err := l.delivery.First(ctx, in, nil)
	if err != nil {
		return Errorf(KindUnreadable, "%s", l.delivery.Failed(err).Error())
	}
	item.Delivery, _ = jq.Text(v)
	if v, err = l.delivered.First(ctx, in, nil); err != nil {
		return Errorf(KindUnreadable, "%s", l.delivered.Failed(err).Error())
	}
	item.IsDelivered, _ = v.(bool)
	return nil
}

// IsByDelivery reports whether events are known by their deliveries, since nothing but the bytes of the webhook has their keys.
func (l *List) IsByDelivery() bool { return l.delivery != nil }
