package lint

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // some senders sign with HMAC-SHA1
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast/event"
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
	_ = json.Unmarshal(event.WithoutMark(p.Body), &g.body) // a body that isn't an object has no fields
	return Guess{Definition: g.write(), Found: g.found, Open: g.open}
}

type guesser struct {
	name, secret string
	p            Pasted
	body         map[string]any
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
	b.WriteString(g.decode())
	fmt.Fprintf(&b, "\ntype: %s\n", g.typeOf())
	b.WriteString(g.key())
	b.WriteString(g.time())
	b.WriteString("\n# TODO entities: what the event says of which thing\nentities: []\n")
	g.ask("entities: which things the event is about, and where their IDs are unique")
	b.WriteString("\n# TODO samples: a body of each type, with \\(.id) in the place of what is new every time\nsamples: {}\n")
	g.ask("samples and reasons (why): `holdfast provider check --catalogue` names what is missing")
	return b.String()
}

// signatureNames match header names for signatures, and tokenNames those for tokens.
var (
	signatureNames = regexp.MustCompile(`signature|hmac|-sig$|-mac$|-digest$`)
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

// isTime matches current times in unix seconds or milliseconds.
func isTime(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && (len(text) == 10 || len(text) == 13) && n > 1e9
}

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
		with.unit = map[bool]string{true: "ms", false: "s"}[len(at) == 13]
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

func (g *guesser) decode() string {
	if bytes.Contains([]byte(strings.Join(g.p.Header["content-type"], "")), []byte("form-urlencoded")) {
		g.say("the body is a form")
		return "\ndecode: [{as: form}]\n"
	}
	if g.body == nil {
		g.ask("decode: the body is no JSON object")
	}
	return ""
}

func (g *guesser) typeOf() string {
	for _, name := range []string{"type", "event", "event_type", "eventType", "event_name", "action", "topic", "triggerEvent"} {
		if _, ok := g.body[name].(string); ok {
			g.say("the type may be .body.%s", name)
			return ".body." + name
		}
	}
	g.ask("type: no field of the body looks like one")
	return ".body.type   # TODO"
}

func (g *guesser) key() string {
	for _, name := range []string{"event_id", "eventId", "id", "uuid", "delivery_id", "message_id"} {
		if v, ok := g.body[name]; ok && v != nil {
			g.ask("key: whether .body.%s is that of the event, or of a thing that has many; "+
				"what a retry, a resend by hand and a second subscription do", name)
			return fmt.Sprintf("# TODO is it the event's own, or that of a thing that has many?\n"+
				"key: {parts: [.body.%s]}\ndedupe: 7d\n", name)
		}
	}
	g.ask("key: nothing looks like the ID of an event; until you set a key, equal bodies count as one event")
	return "# TODO nothing looks like the ID of an event\nkey: {parts: [body_sha256]}\ndedupe: 1d\n"
}

func (g *guesser) time() string {
	for _, name := range []string{"created_at", "occurred_at", "timestamp", "created", "time", "sent_at", "createdAt",
		"event_time"} {
		unit := "rfc3339"
		switch v := g.body[name].(type) {
		case float64:
			unit = map[bool]string{true: "unix_ms", false: "unix_s"}[v > 1e11]
		case string:
		default:
			continue
		}
		g.say("the time may be .body.%s, as %s", name, unit)
		return fmt.Sprintf("\noccurred_at: [{expr: .body.%s, units: [%s]}]\n", name, unit)
	}
	g.ask("occurred_at: no field looks like a time; the time of the receipt counts")
	return ""
}
