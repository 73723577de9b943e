package lint

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // some senders sign with HMAC-SHA1
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/internal/lint/infer"
)

// Guess is the result of analyzing a captured request: an initial definition, and open questions.
type Guess struct {
	Definition string
	// Found lists what was recognised, and Open what the author must find out. Neither contains a value of the request.
	Found, Open []string
}

// GuessDefinition makes a skeleton from one captured request. With the sender's secret it tries the common schemes.
func GuessDefinition(name string, p Pasted, secret string) Guess {
	g := guesser{name: name, p: p, secret: secret}
	return Guess{Definition: g.write(), Found: g.found, Open: g.open}
}

type guesser struct {
	name, secret string
	p            Pasted
	event        infer.Event
	found, open  []string
}

func (g *guesser) say(format string, args ...any) {
	g.found = append(g.found, fmt.Sprintf(format, args...))
}
func (g *guesser) ask(format string, args ...any) {
	g.open = append(g.open, fmt.Sprintf(format, args...))
}

// write returns the definition. What is unknown becomes a comment that begins with TODO.
func (g *guesser) write() string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"# Guessed from one request. Every line is to be compared with what the sender documents.\nname: %s\ntitle: %s\n",
		g.name, g.name)
	fmt.Fprintf(&b, "# TODO sources: [{documentation: https://…}]\nsecrets: %s_WEBHOOK_SECRET\n\n",
		strings.ToUpper(strings.ReplaceAll(g.name, "-", "_")))
	b.WriteString(g.auth())
	decode := g.decode()
	b.WriteString(decode)
	fmt.Fprintf(&b, "\ntype: %s\n", g.typeOf())
	b.WriteString(g.key())
	b.WriteString(g.time())
	g.ask("entities: which things the event is about, and where their IDs are unique")
	body := exampleBody
	if strings.HasPrefix(decode, formBody) {
		body = exampleForm
	}
	fmt.Fprintf(&b, examples, body)
	g.ask("samples and reasons (why): `holdfast provider check --catalogue` names what is missing")
	return b.String()
}

// formBody is how a form is read.
const formBody = "\ndecode: [{as: form}]\n"

// examples are of what one request can't show, with the body of a sample.
const (
	examples = `
# TODO what the event says of which thing, such as
# entities:
#   - {kind: order, id: .body.order, op: snapshot, state: '.body | {order, status}'}
entities: []

# TODO a body of each type, with \(.id) in the place of what is new every time, such as
# samples:
#   order.paid:
#     body: '%s'
samples: {}
`
	exampleBody = `{id: "ev_\(.id)", event: "order.paid", sent_at: .rfc3339, order: "o_77", status: "paid"}`
	exampleForm = `"id=ev_\(.id)&event=order.paid&sent_at=\(.rfc3339 | @uri)&order=o_77&status=paid"`
)

// signatureNames match header names for signatures, and tokenNames those for tokens.
var (
	signatureNames = regexp.MustCompile(`signature|hmac|(^|-)(sig|sign|mac|digest)$`)
	tokenNames     = regexp.MustCompile(`token|secret|api-?key|^authorization$`)
	timeNames      = regexp.MustCompile(`timestamp|(-time)$`)
	idNames        = regexp.MustCompile(`-id$`)
)

// headersLike returns the matching names, sorted.
func (g *guesser) headersLike(pattern *regexp.Regexp) (names []string) {
	for name := range g.p.Header {
		if pattern.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (g *guesser) auth() string {
	signatures := slices.DeleteFunc(g.headersLike(signatureNames), timeNames.MatchString)
	if slices.ContainsFunc(signatures, g.hasDigest) { // the others say how it is made
		signatures = slices.DeleteFunc(signatures, func(name string) bool { return !g.hasDigest(name) })
	}
	for _, header := range signatures {
		for _, c := range g.candidates(header) {
			if c.fits(g.secret) {
				g.say("%s is HMAC-%s in %s over %s, with the secret as it is", header, strings.ToUpper(c.algorithm), c.encoding, c.signed)
				return "auth:\n" + c.yaml()
			}
		}
	}
	switch tokens := g.headersLike(tokenNames); {
	case len(signatures) > 0:
		if g.secret == "" {
			g.ask("auth: what %s signs and how; give the secret with --secret, and the common ways are tried", signatures[0])
		} else {
			g.ask("auth: none of the common ways to sign gives %s with this secret: "+
				"the signed text may hold a URL, or the key be decoded first", signatures[0])
		}
		return fmt.Sprintf("# TODO signed, encoding and key are guessed\nauth:\n  - hmac:\n"+
			"      signed: \"{body}\"\n      signature: {header: %s}\n",
			signatures[0])
	case len(tokens) > 0:
		g.say("%s may carry a token", tokens[0])
		if tokens[0] == "authorization" {
			return "auth:\n  - token: {in: bearer}\n"
		}
		return fmt.Sprintf("auth:\n  - token: {in: header, name: %s}\n", tokens[0])
	}
	g.ask("auth: no header looks like a signature or a token; " +
		"a sender that can send neither can call an address with a secret in it")
	return "# TODO nothing in the request proves who has sent it\nauth:\n  - token: {in: query, name: key}\n"
}

// candidate is one way to sign, tried on the captured request.
type candidate struct {
	header, prefix, separator, field string
	value                            string
	algorithm, encoding, signed      string
	timeHeader, timeField, idHeader  string
	unit                             string
	message                          []byte
}

var hashesTried = map[string]func() hash.Hash{"sha256": sha256.New, "sha1": sha1.New, "sha512": sha512.New}

func (c candidate) fits(secret string) bool {
	if secret == "" {
		return false
	}
	sig, err := hex.DecodeString(c.value)
	if c.encoding == "base64" {
		sig, err = base64.StdEncoding.DecodeString(c.value)
	}
	h := hmac.New(hashesTried[c.algorithm], []byte(secret))
	h.Write(c.message)
	return err == nil && hmac.Equal(sig, h.Sum(nil))
}

func (c candidate) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - hmac:\n      algorithm: %s\n      encoding: %s\n      signed: %q\n", c.algorithm, c.encoding, c.signed)
	switch {
	case c.field != "":
		fmt.Fprintf(&b, "      signature: {header: %s, grammar: pairs, separator: %q, field: %s}\n", c.header, c.separator, c.field)
	case c.prefix != "":
		fmt.Fprintf(&b, "      signature: {header: %s, grammar: prefix, prefix: %q}\n", c.header, c.prefix)
	default:
		fmt.Fprintf(&b, "      signature: {header: %s}\n", c.header)
	}
	if c.timeField != "" {
		fmt.Fprintf(&b, "      timestamp: {field: %s, unit: %s, tolerance: 300s}\n", c.timeField, c.unit)
	}
	if c.timeHeader != "" {
		fmt.Fprintf(&b, "      timestamp: {header: %s, unit: %s, tolerance: 300s}\n", c.timeHeader, c.unit)
	}
	if c.idHeader != "" {
		fmt.Fprintf(&b, "      id: {header: %s}\n", c.idHeader)
	}
	return b.String()
}

// candidates returns the common ways to read a header and to sign.
func (g *guesser) candidates(header string) (all []candidate) {
	for _, read := range readSignature(header, g.p.Header[header][0]) {
		for _, text := range g.texts(read) {
			for _, algorithm := range []string{"sha256", "sha1", "sha512"} {
				for _, encoding := range []string{"hex", "base64"} {
					one := text
					one.algorithm, one.encoding = algorithm, encoding
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// readSignature reads a header as a value, as one after a prefix, and as pairs.
func readSignature(header, value string) []candidate {
	all := []candidate{{header: header, value: value}}
	if i := strings.IndexByte(value, '='); i > 0 && i < 24 {
		all = append(all, candidate{header: header, prefix: value[:i+1], value: value[i+1:]})
	}
	for _, separator := range []string{",", ";"} {
		pairs := strings.Split(value, separator)
		if len(pairs) < 2 {
			continue
		}
		timeField := ""
		for _, pair := range pairs {
			if k, v, _ := strings.Cut(pair, "="); isTime(v) {
				timeField = k
			}
		}
		for _, pair := range pairs {
			if k, v, ok := strings.Cut(pair, "="); ok && k != timeField {
				all = append(all, candidate{header: header, separator: separator, field: k, value: v, timeField: timeField})
			}
		}
	}
	return all
}

// timeUnit returns the unit of a current time; "" if the text isn't one.
func timeUnit(text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	_, notDate := time.Parse(time.RFC3339Nano, text)
	_, notHTTP := http.ParseTime(text)
	switch {
	case err == nil && len(text) == 10 && n > 1e9:
		return "s"
	case err == nil && len(text) == 13 && n > 1e12:
		return "ms"
	case notDate == nil:
		return "rfc3339"
	case notHTTP == nil:
		return "http_date"
	}
	return ""
}

func isTime(text string) bool { return timeUnit(text) != "" }

// hasDigest reports whether a header is long enough for a signature.
func (g *guesser) hasDigest(header string) bool { return len(g.p.Header[header][0]) >= minDigest }

// minDigest is the length of a short SHA-1 in base64.
const minDigest = 24

// texts returns what a signature may cover, for each form of the body: an editor adds a line end.
func (g *guesser) texts(c candidate) (all []candidate) {
	for _, form := range formsOf(g.p.Body) {
		all = append(all, g.textsOf(c, form.body)...)
	}
	return all
}

// textsOf returns the body, alone and with a time and an ID before or after it.
func (g *guesser) textsOf(c candidate, body string) (all []candidate) {
	add := func(c candidate, signed string, parts ...string) {
		c.signed, c.message = signed, []byte(strings.Join(parts, ""))
		all = append(all, c)
	}
	add(c, "{body}", body)
	times := map[string]candidate{}
	if c.timeField != "" {
		for pair := range strings.SplitSeq(g.p.Header[c.header][0], c.separator) {
			if k, v, _ := strings.Cut(pair, "="); k == c.timeField {
				times[v] = c
			}
		}
	}
	for _, header := range g.headersLike(timeNames) {
		if v := g.p.Header[header][0]; isTime(v) {
			with := c
			with.timeHeader, with.timeField = header, ""
			times[v] = with
		}
	}
	for at, with := range times {
		with.unit = timeUnit(at)
		for _, between := range []string{".", ":", "", "|"} {
			add(with, "{timestamp}"+between+"{body}", at, between, body)
			add(with, "{body}"+between+"{timestamp}", body, between, at)
		}
		add(with, "v0:{timestamp}:{body}", "v0:", at, ":", body)
		for _, header := range g.headersLike(idNames) {
			named := with
			named.idHeader = header
			add(named, "{id}.{timestamp}.{body}", g.p.Header[header][0], ".", at, ".", body)
			add(named, "{id}{timestamp}{body}", g.p.Header[header][0], at, body)
		}
	}
	return all
}

// decode says how the body is read, and looks for events in it.
func (g *guesser) decode() string {
	var body any
	switch text := event.WithoutMark(g.p.Body); {
	case strings.Contains(strings.Join(g.p.Header["content-type"], ""), "form-urlencoded"):
		return g.decodeForm(string(text))
	case json.Unmarshal(text, &body) != nil:
		g.ask("decode: the body is no JSON object")
		return ""
	}
	return g.batch(body)
}

// decodeForm reads a form, which may have the JSON in one of its fields.
func (g *guesser) decodeForm(text string) string {
	fields, _ := url.ParseQuery(text)
	body := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields.Get(name)
		var inside any
		if (strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[")) && json.Unmarshal([]byte(value), &inside) == nil {
			g.say("the body is a form whose field %s is JSON", name)
			return fmt.Sprintf("\ndecode: [{as: form, json_field: %s}]\n", name) + g.batch(inside)
		}
		body[name] = value
	}
	g.say("the body is a form")
	return formBody + g.batch(body)
}

// batch says how a body with several events is split.
func (g *guesser) batch(body any) string {
	g.event = infer.Find(body)
	switch g.event.Items {
	case "":
		return ""
	case ".":
		g.say("the body is a list of events")
	default:
		g.say("%s is a list of events", g.event.Items)
	}
	return fmt.Sprintf("\nbatch: {items: %s}\n", g.event.Items)
}

// typeHeaders match names of headers with the type of the event.
var typeHeaders = regexp.MustCompile(`^x-.*-(event|topic|event-type|event-name|event-key)$`)

func (g *guesser) typeOf() string {
	headers := g.headersLike(typeHeaders)
	switch {
	case g.event.Type == "" && len(headers) > 0:
		g.say("the type may be in the header %s", headers[0])
		g.ask("unsigned: whether the signature covers the header %s; if it does, remove `unsigned`", headers[0])
		return fmt.Sprintf("'.headers[%q]'\nkeep: {headers: [%s]}\n"+
			"unsigned: The header with the type isn't signed.   # TODO is that so?", headers[0], headers[0])
	case g.event.Type == "":
		g.ask("type: no field of the body looks like one")
		return ".body.type   # TODO"
	}
	g.say("the type may be %s", g.event.Type)
	return inYAML(g.event.Type)
}

func (g *guesser) key() string {
	if g.event.ID == "" {
		g.ask("key: nothing looks like the ID of an event; until you set a key, equal bodies count as one event")
		return "# TODO nothing looks like the ID of an event\nkey: {parts: [body_sha256]}\ndedupe: 1d\n"
	}
	g.ask("key: whether %s is that of the event, or of a thing that has many; "+
		"what a retry, a resend by hand and a second subscription do", g.event.ID)
	return fmt.Sprintf("# TODO is it the event's own, or that of a thing that has many?\n"+
		"key: {parts: [%s]}\ndedupe: 7d\n", inYAML(g.event.ID))
}

func (g *guesser) time() string {
	if g.event.Time == "" {
		g.ask("occurred_at: no field looks like a time; the time of the receipt counts")
		return ""
	}
	g.say("the time may be %s, as %s", g.event.Time, g.event.Unit)
	if g.event.Zoneless {
		g.ask("occurred_at: the time has no zone, and is taken for UTC")
	}
	return fmt.Sprintf("\noccurred_at: [{expr: %s, units: [%s]}]\n", inYAML(g.event.Time), g.event.Unit)
}

// inYAML is an expression as YAML: between quotes if it is more than a path.
func inYAML(expression string) string {
	if strings.ContainsAny(expression, `"'|[]{},:#`) {
		return "'" + strings.ReplaceAll(expression, "'", "''") + "'"
	}
	return expression
}
