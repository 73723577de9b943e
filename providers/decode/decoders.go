package decode

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/event"
	"holdfast/providers/auth/jws"
	"holdfast/providers/definition"
)

// FormType is the media type of forms.
const FormType = "application/x-www-form-urlencoded"

// MediaType returns the content type without its parameters, in lower case.
func MediaType(contentType string) string {
	t, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// decoder is one compiled rule for decoding a body.
type decoder struct {
	contentType string
	as          string
	jsonField   string
	jwtField    string
	tokens      [][]string // within the payload of a token
	rubyFields  []string
}

// Decoders are a definition's rules for its bodies.
type Decoders struct {
	// Identity lists the paths within a body that must not be repeated, because they identify the event.
	Identity [][]string
	// Projection lists the parts of a body that the ingress reads.
	Projection Projection
	rules      []decoder
}

// New compiles the rules; without any, bodies are JSON.
func New(p *definition.Problems, defs []definition.Decode) (all Decoders) {
	if len(defs) == 0 {
		return Decoders{rules: []decoder{{as: "json"}}}
	}
	for i, d := range defs {
		field := fmt.Sprintf("decode[%d]", i)
		dec := decoder{contentType: MediaType(d.ContentType), jsonField: d.JSONField, jwtField: d.JWTField, rubyFields: d.RubyFields}
		dec.as = p.OneOf(field+".as", d.As, "json", "form", "text", "jwt", "multipart")
		if d.JSONField != "" && dec.as != "form" && dec.as != "multipart" {
			p.Add(field+".json_field", "is for as: form and as: multipart")
		}
		if d.JWTField != "" && dec.as != "json" {
			p.Add(field+".jwt_field", "is for as: json")
		}
		if len(d.Tokens) > 0 && dec.as != "jwt" && d.JWTField == "" {
			p.Add(field+".tokens", "is for the payload of a verified token (as: jwt, or jwt_field): nothing else vouches for them")
		}
		for _, path := range d.Tokens {
			dec.tokens = append(dec.tokens, strings.Split(path, "."))
		}
		if len(d.RubyFields) > 0 && dec.as != "json" {
			p.Add(field+".ruby_fields", "is for as: json")
		}
		if last := i == len(defs)-1; last != (dec.contentType == "") {
			p.Add(field+".content_type", "must be given in every rule but the last, which is for all other types")
		}
		all.rules = append(all.rules, dec)
	}
	return all
}

// Decode decodes a body according to its content type. Errors are of ClassRejected; the value may then have what could be read.
func (all *Decoders) Decode(contentType string, body []byte) (any, error) {
	return all.read(contentType, body, nil, false)
}

// DecodeIdentity decodes a body for keys: the result has no more of a JSON body than the ingress reads, and different texts
// stay different.
func (all *Decoders) DecodeIdentity(contentType string, body []byte) (any, error) {
	return all.read(contentType, body, all.Projection, true)
}

func (all *Decoders) read(contentType string, body []byte, w Projection, exactly bool) (any, error) {
	d, ok := all.decoderOf(MediaType(contentType), body)
	if !ok {
		return nil, event.Rejectf("unknown_content_type", "no rule of the definition reads this content type")
	}
	return d.decode(body, all.Identity, w, exactly)
}

// As returns how a body is decoded: as json, form, multipart, text or jwt; "" if no rule is for its content type. Signatures must
// be looked for in the same way. Otherwise a body could have two meanings: one that is signed, and one that becomes the event.
func (all *Decoders) As(contentType string, body []byte) string {
	d, _ := all.decoderOf(MediaType(contentType), body)
	return d.as
}

// Plain reads bodies by their content type, for schemes without a definition.
var Plain = &Decoders{rules: []decoder{
	{contentType: FormType, as: "form"}, {contentType: MultipartType, as: "multipart"}, {as: "json"},
}}

// decoderOf returns the rule for a body. No signature covers the content type, so with one rule for forms and one for JSON the
// body itself decides: no form begins like an object, and a form with files begins with its boundary.
func (all *Decoders) decoderOf(media string, body []byte) (decoder, bool) {
	fits := func(d decoder) bool { return d.contentType == "" || d.contentType == media }
	i := slices.IndexFunc(all.rules, fits)
	if i < 0 {
		return decoder{}, false
	}
	meant := "form"
	if boundaryIn(body) != "" {
		meant = "multipart"
	} else if bytes.HasPrefix(bytes.TrimLeft(event.WithoutMark(body), " \t\r\n"), []byte("{")) {
		meant = "json"
	}
	if as := all.rules[i].as; as != meant && as != "text" {
		if other := slices.IndexFunc(all.rules, func(d decoder) bool { return d.as == meant }); other >= 0 {
			i = other
		}
	}
	return all.rules[i], true
}

// decode decodes a body. A field that is part of the event's identity must not be repeated.
func (d decoder) decode(body []byte, identity [][]string, w Projection, exactly bool) (any, error) {
	switch d.as {
	case "form":
		return d.decodeForm(body, identity, w, exactly)
	case "multipart":
		return d.decodeMultipart(body, identity, w, exactly)
	case "text":
		if !utf8.Valid(body) {
			return nil, event.Rejectf("invalid_utf8", "the body is not UTF-8")
		}
		return string(body), nil
	case "jwt":
		return d.decodeToken(string(body), identity, w, exactly)
	}
	if d.jwtField != "" {
		place, err := Places("json", body, []string{d.jwtField})
		if err != nil {
			return nil, err
		}
		return d.decodeToken(place[0].Text, identity, w, exactly)
	}
	if len(d.rubyFields) > 0 {
		w = nil
	}
	v, doubled, err := decodeJSONWatching(body, w, identity, exactly)
	if err != nil {
		return nil, err
	}
	if doubled {
		return nil, event.Rejectf("duplicate_key", "a field that identifies the event is there twice")
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, event.Rejectf("not_object", "the body is JSON, but not an object")
	}
	return d.decodeFields(m)
}

// decodeToken decodes the payload of a signed token, which authentication has verified.
func (d decoder) decodeToken(text string, identity [][]string, w Projection, exactly bool) (any, error) {
	payload, err := jws.Payload(text)
	if err != nil {
		return nil, event.Rejectf("invalid_token", "the body, or its field, isn't a signed token")
	}
	v, err := decoder{as: "json", rubyFields: d.rubyFields}.decode(payload, identity, w, exactly)
	for _, path := range d.tokens {
		if err == nil {
			err = expandToken(v, path, identity, exactly)
		}
	}
	return v, err
}

// expandToken replaces a token with its payload. The signature of the token around it covers its text, so its own signature isn't
// verified.
func expandToken(v any, path []string, identity [][]string, exactly bool) error {
	for _, name := range path[:len(path)-1] {
		fields, _ := v.(map[string]any)
		v = fields[name]
	}
	fields, _ := v.(map[string]any)
	name := path[len(path)-1]
	if fields[name] == nil {
		return nil
	}
	text, _ := fields[name].(string)
	payload, err := jws.Payload(text)
	if err != nil {
		return event.Rejectf("invalid_token", "a field that has a signed token by the definition has none")
	}
	var below [][]string
	for _, one := range identity {
		if len(one) > len(path) && slices.Equal(one[:len(path)], path) {
			below = append(below, one[len(path):])
		}
	}
	fields[name], err = decoder{as: "json"}.decode(payload, below, nil, exactly)
	return err
}

// NestedTokens returns the paths of tokens within the payload of a token.
func (all *Decoders) NestedTokens() (paths [][]string) {
	for _, rule := range all.rules {
		paths = append(paths, rule.tokens...)
	}
	return paths
}

// decodeFields replaces texts in Ruby's notation by their values. An invalid one is kept, and reported in the error: the fields
// around it can still be read.
func (d decoder) decodeFields(m map[string]any) (any, error) {
	var failed error
	for _, name := range d.rubyFields {
		s, ok := m[name].(string)
		if !ok {
			continue
		}
		v, err := Ruby(s)
		if err != nil {
			failed = err
			continue
		}
		m[name] = v
	}
	return m, failed
}

// decodeForm decodes a form: a single field is text, a repeated one is a list.
func (d decoder) decodeForm(body []byte, identity [][]string, w Projection, exactly bool) (any, error) {
	if len(body) == 0 {
		return nil, event.Rejectf("empty_body", "the body is empty")
	}
	fields := formFields(string(body))
	out := make(map[string]any, len(fields))
	for name, all := range fields {
		list := make([]any, len(all))
		for i, v := range all {
			if list[i] = v; !utf8.ValidString(v) || !utf8.ValidString(name) {
				return nil, event.Rejectf("invalid_utf8", "the form is not UTF-8")
			}
		}
		if out[name] = list; len(list) == 1 {
			out[name] = list[0]
		}
	}
	if nested, ok := out[d.jsonField].(string); ok && d.jsonField != "" {
		return decoder{as: "json"}.decode([]byte(nested), identity, w, exactly)
	}
	return out, nil
}

// overlapsAny reports whether a path leads to, or through, one of the others.
func overlapsAny(path []string, others [][]string) bool {
	for _, other := range others {
		n := min(len(path), len(other))
		if slices.Equal(path[:n], other[:n]) {
			return true
		}
	}
	return false
}
