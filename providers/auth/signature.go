package auth

import (
	"strings"

	"holdfast/providers/definition"
)

// The bounds of a signature header: more is an attack, not a rotation.
const (
	maxSignatureHeader = 4096
	maxSignatures      = 10
	maxPairs           = 32
)

// signatureHeader is the compiled grammar of the header with the signatures.
type signatureHeader struct {
	definition.Signature
	timestampField string
}

// signatures are what a header offers, still as text.
type signatures struct {
	values    []string
	timestamp string
}

func newSignatureHeader(p *definition.Problems, field string, d definition.Signature, t *definition.Timestamp) signatureHeader {
	d.Grammar = p.OneOf(field+".grammar", d.Grammar, "plain", "prefix", "pairs", "versions")
	d.Header = p.HeaderName(field+".header", d.Header)
	s := signatureHeader{Signature: d}
	if t != nil {
		s.timestampField = t.Field
	}
	switch d.Grammar {
	case "prefix":
		p.Required(field+".prefix", d.Prefix)
	case "pairs":
		p.Required(field+".field", d.Field)
		if p.Required(field+".separator", d.Separator) && len(d.Separator) != 1 {
			p.Add(field+".separator", "want one character")
		}
	case "versions":
		p.Required(field+".field", d.Field)
	}
	if d.Exact && (d.Grammar != "pairs" || s.timestampField == "") {
		p.Add(field+".exact", "is for pairs with a timestamp field")
	}
	return s
}

// read finds the signatures in the request's header. An error is an *Error; with none there is at least one.
func (s signatureHeader) read(r *Request) (signatures, error) {
	value, err := r.header(s.Header)
	switch {
	case err != nil:
		return signatures{}, err
	case value == "":
		return signatures{}, deny(ReasonMissingSignature)
	case len(value) > maxSignatureHeader:
		return signatures{}, deny(ReasonMalformedHeader)
	}
	found, err := s.parse(value)
	switch {
	case err != nil:
		return found, err
	case len(found.values) == 0:
		return found, deny(ReasonMissingSignature)
	case len(found.values) > maxSignatures:
		return found, deny(ReasonTooManySignatures)
	}
	return found, nil
}

func (s signatureHeader) parse(value string) (signatures, error) {
	switch s.Grammar {
	case "prefix":
		sig, ok := strings.CutPrefix(value, s.Prefix)
		if !ok {
			return signatures{}, deny(ReasonMalformedHeader)
		}
		return signatures{values: []string{sig}}, nil
	case "pairs":
		return s.parsePairs(value)
	case "versions":
		return s.parseVersions(value), nil
	}
	return signatures{values: []string{value}}, nil
}

// parsePairs reads "t=1700000000,v1=abc,v1=def". Fields that are unknown are skipped; an element that is not a pair
// makes the header invalid, and so does a second timestamp.
func (s signatureHeader) parsePairs(value string) (signatures, error) {
	var found signatures
	elements := strings.Split(value, s.Separator)
	if len(elements) > maxPairs || (s.Exact && !s.isExact(elements)) {
		return found, deny(ReasonMalformedHeader)
	}
	stamps := 0
	for _, element := range elements {
		k, v, ok := strings.Cut(element, "=")
		switch {
		case !ok || strings.Contains(v, "="):
			return found, deny(ReasonMalformedHeader)
		case k == s.timestampField:
			found.timestamp = v
			stamps++
		case k == s.Field:
			found.values = append(found.values, v)
		}
	}
	if stamps > 1 {
		return found, deny(ReasonMalformedHeader)
	}
	return found, nil
}

func (s signatureHeader) isExact(elements []string) bool {
	return len(elements) == 2 && strings.HasPrefix(elements[0], s.timestampField+"=") &&
		strings.HasPrefix(elements[1], s.Field+"=") && elements[1] == strings.ToLower(elements[1])
}

// parseVersions reads "v1,abc v1,def v2,ghi". Versions other than the field's are skipped.
func (s signatureHeader) parseVersions(value string) signatures {
	var found signatures
	for _, element := range strings.Fields(value) {
		if version, sig, ok := strings.Cut(element, ","); ok && version == s.Field && sig != "" {
			found.values = append(found.values, sig)
		}
	}
	return found
}

// format writes a header that read accepts.
func (s signatureHeader) format(timestamp, signature string) string {
	switch s.Grammar {
	case "prefix":
		return s.Prefix + signature
	case "pairs":
		if s.timestampField == "" {
			return s.Field + "=" + signature
		}
		return s.timestampField + "=" + timestamp + s.Separator + s.Field + "=" + signature
	case "versions":
		return s.Field + "," + signature
	}
	return signature
}
