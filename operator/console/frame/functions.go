package frame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/printable"
	"holdfast/operator/httpapi"
)

// functions returns the template functions: our own and the pages'.
func (f *Frame) functions(own template.FuncMap) template.FuncMap {
	all := template.FuncMap{
		"url":       f.URL,
		"asset":     func(name string) string { return f.prefix + assetPath(name) },
		"csrf":      csrfField,
		"may":       func(v View, method, path string) bool { return f.May(v.Caller.Role, method, path) },
		"time":      timeElement,
		"filtersIn": func(query url.Values) int { return len(setIn(query)) },
		"ago":       func(at any) template.HTML { return agoElement(at, time.Now()) },
		"due":       func(at any) template.HTML { return dueElement(at, time.Now()) },
		"short":     ShortDuration,
		"since":     func(at time.Time) string { return ShortDuration(max(time.Since(at), time.Second)) },
		"number":    Number,
		"id":        idElement,
		"copy":      func(text string) template.HTML { return element("copy", text) },
		"prose":     proseElement,
		"body":      bodyText,
		"editor":    editorElement,
		"clip":      Clip,
		"json":      Indented,
		"bytes":     byteSize,
		"share":     func(part float64) string { return strconv.FormatFloat(100*part, 'f', 1, 64) + " %" },
		"pair":      func(first, second any) pair { return pair{first, second} },
		"next":      func(n int) int { return n + 1 },
		"text":      func(v any) string { return fmt.Sprint(v) },
	}
	maps.Copy(all, own)
	return all
}

// pair passes two values to a template that needs both.
type pair struct{ First, Second any }

// URL returns the URL of a page. The %s of the format are path segments, which are escaped.
func (f *Frame) URL(format string, parts ...any) string {
	if len(parts) == 0 {
		return f.prefix + format // it may have a query, which is already escaped
	}
	escaped := make([]any, len(parts))
	for i, part := range parts {
		escaped[i] = httpapi.PathSegment(fmt.Sprint(part))
	}
	return f.prefix + fmt.Sprintf(format, escaped...)
}

// csrfField proves that a form is on one of our pages. Each form that changes something needs it: {{csrf $}}.
func csrfField(v View) template.HTML {
	return element("csrf", v.csrf)
}

// instant converts a time that may be absent.
func instant(at any) time.Time {
	switch at := at.(type) {
	case time.Time:
		return at
	case *time.Time:
		if at != nil {
			return *at
		}
	}
	return time.Time{}
}

var elements = template.Must(template.New("elements").Parse(`
{{- define "csrf"}}<input type="hidden" name="csrf" value="{{.}}">{{end}}
{{- define "none"}}<span class="none">–</span>{{end}}
{{- define "time"}}<time datetime="{{.Full}}" title="{{.Full}}">{{.Text}}</time>{{end}}
{{- define "clock"}}<time class="clock" datetime="{{.Full}}">{{.Text}}</time>{{end}}
{{- define "prose"}}{{range .}}{{if .IsCode}}<code>{{.Text}}</code>{{else}}{{.Text}}{{end}}{{end}}{{end}}
{{- define "copy"}}<code>{{.}}</code> <button type="button" class="copy" aria-label="Copy {{.}}" hidden>Copy</button>{{end}}
{{- define "id"}}<code class="id">{{.Head}}{{with .Middle}}<span>{{.}}</span>{{end}}{{.Tail}}</code>{{end}}`))

// shortText is a short text, with the full text for the tooltip.
type shortText struct{ Full, Text string }

func element(name string, data any) template.HTML {
	var out strings.Builder
	if err := elements.ExecuteTemplate(&out, name, data); err != nil {
		panic(err) // the templates are ours, and their data are texts
	}
	return template.HTML(out.String()) //nolint:gosec // a template has escaped it
}

// timeElement renders a time to the second, in UTC until console.js shows it in local time, with UTC on hover.
func timeElement(at any) template.HTML {
	moment := instant(at).UTC()
	if moment.IsZero() {
		return element("none", nil)
	}
	return element("clock", shortText{moment.Format(time.RFC3339), moment.Format(time.DateTime) + " UTC"})
}

// InstantText formats a time for a URL; "" for zero.
func InstantText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// agoElement renders how long ago a time was, or how far ahead it is.
func agoElement(at any, now time.Time) template.HTML {
	moment := instant(at).UTC()
	if moment.IsZero() {
		return element("none", nil)
	}
	text := "just now"
	switch ago := now.Sub(moment); {
	case ago >= time.Second:
		text = ShortDuration(ago) + " ago"
	case ago <= -time.Second:
		text = "in " + ShortDuration(-ago)
	}
	return element("time", shortText{moment.Format(time.RFC3339), text})
}

// dueElement renders in how much time something is due.
func dueElement(at any, now time.Time) template.HTML {
	if moment := instant(at).UTC(); !moment.IsZero() && moment.Sub(now) < time.Second {
		return element("time", shortText{moment.Format(time.RFC3339), "now"})
	}
	return agoElement(at, now)
}

// ShortDuration formats a duration in one unit: 450ms, 12s, 5m, 3h, 9d.
func ShortDuration(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(max(d.Milliseconds(), 0), 10) + "ms"
	case d < 100*time.Second:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < 100*time.Minute:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

// Number formats a number with thousands separators.
func Number(n any) string {
	text := fmt.Sprint(n)
	whole, rest, hasRest := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	var grouped strings.Builder
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			grouped.WriteString("\u202f")
		}
		grouped.WriteRune(digit)
	}
	if hasRest {
		return sign + grouped.String() + "." + rest
	}
	return sign + grouped.String()
}

var bodyEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// bodyText escapes a body for the content of an element. Unlike a template, it leaves quotes alone: escaped, they make JSON much
// larger. It escapes directional and control characters itself, since a page keeps them in what looks like a form's value.
func bodyText(body string) template.HTML {
	return template.HTML(bodyEscapes.Replace(printable.Text(body))) //nolint:gosec // it is escaped
}

// EscapeBody escapes a body as the content of a text area, which submits exactly these characters. Quotes stay: escaped, they
// would make JSON much larger.
func EscapeBody(body string) string { return bodyEscapes.Replace(body) }

// editorElement renders a required text area with a body; a template would escape the quotes. Parsers skip the first line break.
func editorElement(id, name, body string) template.HTML {
	begin := `<textarea id="` + template.HTMLEscapeString(id) + `" name="` + template.HTMLEscapeString(name) +
		`" spellcheck="false" required>`
	return template.HTML(begin + "\n" + EscapeBody(body) + "</textarea>") //nolint:gosec // it is escaped
}

// shownID is an ID in three parts, of which the style sheet replaces the middle one by an ellipsis. A selection copies all of it.
type shownID struct{ Head, Middle, Tail string }

// idElement renders an ID by its ends: 4 and 8 bytes.
func idElement(id string) template.HTML {
	const head, tail = 4, 8
	if len(id) <= head+tail+2 {
		return element("id", shownID{Tail: id})
	}
	return element("id", shownID{id[:head], id[head : len(id)-tail], id[len(id)-tail:]})
}

type proseSpan struct {
	Text   string
	IsCode bool
}

// proseElement renders a sentence with its backticked commands as code. An unpaired backtick stays.
func proseElement(text string) template.HTML {
	parts := strings.Split(text, "`")
	if len(parts)%2 == 0 {
		last := len(parts) - 1
		parts = append(parts[:last-1], parts[last-1]+"`"+parts[last])
	}
	all := make([]proseSpan, len(parts))
	for i, part := range parts {
		all[i] = proseSpan{part, i%2 == 1}
	}
	return element("prose", all)
}

// Clip cuts a text after some characters.
func Clip(most int, text any) string { return printable.Shorten(fmt.Sprint(text), most) }

// Indented indents JSON and keeps its numbers unchanged. Anything else stays as it is.
func Indented(raw any) string {
	var text []byte
	switch raw := raw.(type) {
	case json.RawMessage:
		text = raw
	case []byte:
		text = raw
	default:
		encoded, err := json.Marshal(raw)
		if err != nil {
			return fmt.Sprint(raw)
		}
		text = encoded
	}
	var out bytes.Buffer
	if spaceToIndent(text) > maxIndent || json.Indent(&out, text, "", "  ") != nil {
		return string(text)
	}
	return out.String()
}

// maxIndent bounds the bytes that indentation adds. A long body that is nested deeply would grow to gigabytes.
const maxIndent = 8 << 20

// spaceToIndent estimates how many bytes indentation adds to JSON.
func spaceToIndent(text []byte) (size int) {
	depth, isQuoted := 0, false
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case isQuoted && b == '\\':
			i++
			continue
		case b == '"':
			isQuoted = !isQuoted
			continue
		case isQuoted || strings.IndexByte("{}[],", b) < 0:
			continue
		case b == '{' || b == '[':
			depth++
		case b != ',':
			depth--
		}
		size += 2*depth + 1
	}
	return size
}

// byteSize formats a size in the largest unit that it fills.
func byteSize(n int) string {
	switch {
	case n < 10<<10:
		return Number(n) + " B"
	case n < 10<<20:
		return Number(n>>10) + " KiB"
	}
	return Number(n>>20) + " MiB"
}
