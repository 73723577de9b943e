package recovery

import (
	"context"
	"net/url"
	"strings"

	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// maxCursor is in bytes.
const maxCursor = 4 << 10

// next finds the cursor of the next page in an answer.
type next struct {
	cursor, url *jq.Expression
	link        bool
	parameter   string
}

func newNext(p *definition.Problems, d definition.Next) next {
	n := next{link: d.Link, parameter: d.Parameter}
	n.cursor, n.url = expression(p, "recover.next", d.Cursor), expression(p, "recover.next.url", d.URL)
	set := 0
	for _, is := range []bool{d.Cursor != "", d.URL != "", d.Link} {
		if is {
			set++
		}
	}
	switch {
	case set == 0:
		p.Add("recover.next", "is missing: want an expression that returns the cursor, url, or link: true")
	case set > 1:
		p.Add("recover.next", "want exactly one of cursor, url and link")
	case d.Parameter != "" && d.Cursor != "":
		p.Add("recover.next.parameter", "is for url and link: an expression returns the cursor itself")
	}
	return n
}

// replacesQuery reports whether the cursor is the whole query of the next page.
func (n next) replacesQuery() bool { return (n.link || n.url != nil) && n.parameter == "" }

// of returns the cursor of the next page; "" at the end of the list.
func (n next) of(ctx context.Context, a Answer, value any, cursor string) (string, *Error) {
	var address string
	switch {
	case n.link:
		address = linkOf(a.Links)
	default:
		x := n.cursor
		if n.url != nil {
			x = n.url
		}
		in := jq.Input{Value: map[string]any{"answer": value, "cursor": nil}}
		if cursor != "" {
			in.Value["cursor"] = cursor
		}
		v, err := x.First(ctx, in, nil)
		if err != nil {
			return "", Errorf(KindUnreadable, "%s", x.Failed(err).Error())
		}
		text, ok := jq.Text(v)
		if !ok && v != nil && v != "" {
			return "", Errorf(KindUnreadable, "%s must return text, a number or null", x.Field)
		}
		if address = text; n.url == nil {
			return checkCursor(text)
		}
	}
	return n.cursorIn(address)
}

func (n next) cursorIn(address string) (string, *Error) {
	if address == "" {
		return "", nil
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return "", Errorf(KindUnreadable, "the address of the next page isn't a URL")
	}
	query, err := url.ParseQuery(parsed.RawQuery)
	if err != nil || len(query) == 0 {
		return "", Errorf(KindUnreadable, "the address of the next page has no readable query")
	}
	if n.parameter == "" {
		return checkCursor(query.Encode())
	}
	cursor := query.Get(n.parameter)
	if cursor == "" {
		return "", Errorf(KindUnreadable, "the address of the next page lacks the parameter %s", n.parameter)
	}
	return checkCursor(cursor)
}

func checkCursor(cursor string) (string, *Error) {
	if len(cursor) > maxCursor {
		return "", Errorf(KindUnreadable, "the cursor of the next page is longer than %d bytes", maxCursor)
	}
	return cursor, nil
}

// linkOf returns the address with rel="next" in Link headers (RFC 8288); "" if there is none.
func linkOf(headers []string) string {
	for _, link := range strings.Split(strings.Join(headers, ","), "<") {
		address, parameters, found := strings.Cut(link, ">")
		if !found {
			continue
		}
		for _, parameter := range strings.Split(parameters, ";") {
			name, value, _ := strings.Cut(strings.Trim(parameter, " ,"), "=")
			if strings.EqualFold(strings.TrimSpace(name), "rel") && strings.Trim(value, ` "`) == "next" {
				return address
			}
		}
	}
	return ""
}
