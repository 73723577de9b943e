package auth

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// The limits of a signature header: larger ones are attacks, not rotations.
const (
	maxSignatureHeader = 4096
	maxSignatures      = 10
	maxPairs           = 32
	maxNumbered        = 100
)

// signatureHeader is the compiled grammar of the signature header.
type signatureHeader struct {
	definition.Signature
	timestampField string
	spaced         bool     // allows a space after the separator
	names          []string // of the headers: several if they are numbered
}

// signatures are the undecoded signatures of a header.
type signatures struct {
	values    []string
	timestamp string
}

func newSignatureHeader(p *definition.Problems, field string, d definition.Signature, t *definition.Timestamp) signatureHeader {
	d.Grammar = p.OneOf(field+".grammar", d.Grammar, "plain", "prefix", "pairs", "list", "versions")
	checkUnused(p, field, d)
	switch {
	case d.Body == "" && d.Query == "":
		d.Header = p.HeaderName(field+".header", d.Header)
	case d.Header != "" || d.Body != "" && d.Query != "":
		p.Add(field, "want one of header, body and query")
	}
	d.Assign = cmp.Or(d.Assign, "=")
	s := signatureHeader{Signature: d, names: []string{d.Header}}
	if d.Numbered != 0 || d.Repeated {
		checkSeveral(p, field, d, t)
		s.names = numbered(d.Header, d.Numbered)
	}
	if t != nil {
		s.timestampField = t.Field
	}
	switch d.Grammar {
	case "prefix":
		p.Required(field+".prefix", d.Prefix)
	case "pairs":
		p.Required(field+".field", d.Field)
		s.spaced = checkSeparator(p, field, d.Separator)
	case "list":
		s.spaced = checkSeparator(p, field, d.Separator)
		if s.timestampField != "" && s.timestampField != "first" {
			p.Add(field+".grammar", "of a list the time is the first element: want timestamp.field: first")
		}
	case "versions":
		p.Required(field+".field", d.Field)
	}
	if d.Exact && (d.Grammar != "pairs" || s.timestampField == "") {
		p.Add(field+".exact", "is for pairs with a timestamp field")
	}
	return s
}

// checkUnused reports fields that the grammar doesn't use: with them the signature isn't what its author thinks.
func checkUnused(p *definition.Problems, field string, d definition.Signature) {
	for _, one := range []struct {
		name, value string
		grammars    []string
	}{
		{"prefix", d.Prefix, []string{"prefix", "list"}},
		{"field", d.Field, []string{"pairs", "versions"}},
		{"separator", d.Separator, []string{"pairs", "list"}},
		{"assign", d.Assign, []string{"pairs"}},
	} {
		if one.value != "" && !slices.Contains(one.grammars, d.Grammar) {
			p.Add(field+"."+one.name, "isn't used by grammar %s: set grammar to %s, or remove it",
				d.Grammar, strings.Join(one.grammars, " or "))
		}
	}
}

// checkSeparator requires one character, and reports whether a space may follow it. A space alone is one, too.
func checkSeparator(p *definition.Problems, field, separator string) (spaced bool) {
	if separator == " " {
		return false
	}
	character, spaced := strings.CutSuffix(separator, " ")
	if p.Required(field+".separator", separator) && len(character) != 1 {
		p.Add(field+".separator", "want one character, with or without a space behind it, or a space")
	}
	return spaced
}

// checkSeveral reports what doesn't go with several headers: none of them has the time.
func checkSeveral(p *definition.Problems, field string, d definition.Signature, t *definition.Timestamp) {
	if d.Numbered < 0 || d.Numbered > maxNumbered {
		p.Add(field+".numbered", "want a number from 1 to %d", maxNumbered)
	}
	if d.Body != "" || d.Query != "" || d.Numbered != 0 && d.Repeated || t != nil && t.Field != "" {
		p.Add(field, "want either repeated or numbered, for a header without the time")
	}
}

// numbered returns the name with each number from 1 to n; the name itself if n is 0.
func numbered(name string, n int) []string {
	if n <= 0 || n > maxNumbered {
		return []string{name}
	}
	names := make([]string, n)
	for i := range names {
		names[i] = name + strconv.Itoa(i+1)
	}
	return names
}

// readAll parses the signatures of all headers. Invalid headers are skipped, unless no other one has a signature.
func (s signatureHeader) readAll(r *Request) (found signatures, err error) {
	limit := maxSignatures
	if s.Numbered > 0 {
		limit = s.Numbered
	}
	err = denial.At(denial.MissingSignature, s.part())
	for _, name := range s.names {
		for _, value := range r.Header[name] {
			one, failed := s.parseOne(value)
			if failed == nil {
				found.values = append(found.values, one.values...)
			} else if denial.Further(failed, err) {
				err = failed
			}
		}
	}
	switch {
	case len(found.values) == 0:
		return found, err
	case len(found.values) > limit:
		return found, denial.At(denial.TooManySignatures, s.part())
	}
	return found, nil
}

// read parses the signatures of the request. The error is a *denial.Error; without one there is at least one signature.
func (s signatureHeader) read(r *Request) (signatures, error) {
	if s.Repeated || s.Numbered > 0 {
		return s.readAll(r)
	}
	value, err := s.value(r)
	if err != nil {
		return signatures{}, err
	}
	return s.parseOne(value)
}

func (s signatureHeader) parseOne(value string) (signatures, error) {
	switch {
	case value == "":
		return signatures{}, denial.At(denial.MissingSignature, s.part())
	case len(value) > maxSignatureHeader:
		return signatures{}, denial.At(denial.MalformedHeader, s.part())
	}
	found, err := s.parse(value)
	switch {
	case err != nil:
		return found, err
	case len(found.values) == 0:
		return found, denial.At(denial.MalformedHeader, s.part()) // there are others, or none in this grammar
	case len(found.values) > maxSignatures:
		return found, denial.At(denial.TooManySignatures, s.part())
	}
	return found, nil
}

// value returns the value of the header, query parameter or body field.
func (s signatureHeader) value(r *Request) (string, error) {
	if s.Query != "" {
		return r.parameter(s.Query)
	}
	if s.Body == "" {
		return r.header(s.Header)
	}
	places, err := placesOf(r, s.Body)
	return places[s.Body].Text, err
}

func (s signatureHeader) parse(value string) (signatures, error) {
	switch s.Grammar {
	case "prefix":
		sig, ok := strings.CutPrefix(value, s.Prefix)
		if !ok {
			return signatures{}, denial.At(denial.MalformedHeader, s.part())
		}
		return signatures{values: []string{sig}}, nil
	case "pairs":
		return s.parsePairs(value)
	case "list":
		return s.parseList(value)
	case "versions":
		return s.parseVersions(value), nil
	}
	return signatures{values: []string{value}}, nil
}

// elements splits a header at its separators.
func (s signatureHeader) elements(value string) []string {
	elements := strings.Split(value, cmp.Or(strings.TrimSuffix(s.Separator, " "), " "))
	for i := range elements {
		if s.spaced && i > 0 {
			elements[i] = strings.TrimPrefix(elements[i], " ")
		}
	}
	return elements
}

// parseList parses "1700000000,abc,def": the time first, if the definition has one in the header, then signatures. A prefix
// stands before the whole list.
func (s signatureHeader) parseList(value string) (found signatures, err error) {
	value, ok := strings.CutPrefix(value, s.Prefix)
	if !ok {
		return signatures{}, denial.At(denial.MalformedHeader, s.part())
	}
	found.values = s.elements(value)
	if len(found.values) > maxPairs {
		return signatures{}, denial.At(denial.MalformedHeader, s.part())
	}
	if s.timestampField != "" {
		found.timestamp, found.values = found.values[0], found.values[1:]
	}
	return found, nil
}

// parsePairs parses "t=1700000000,v1=abc,v1=def". Unknown fields are skipped; an element that isn't a pair makes the header
// invalid, and so does a second timestamp.
func (s signatureHeader) parsePairs(value string) (signatures, error) {
	var found signatures
	elements := s.elements(value)
	if len(elements) > maxPairs || (s.Exact && !s.isExact(elements)) {
		return found, denial.At(denial.MalformedHeader, s.part())
	}
	stamps := 0
	for _, element := range elements {
		k, v, ok := strings.Cut(element, s.Assign)
		switch {
		case !ok || strings.Contains(v, s.Assign):
			return found, denial.At(denial.MalformedHeader, s.part())
		case k == s.timestampField:
			found.timestamp = v
			stamps++
		case k == s.Field || s.Field == "*":
			found.values = append(found.values, v)
		}
	}
	if stamps > 1 {
		return found, denial.At(denial.MalformedHeader, s.part())
	}
	return found, nil
}

func (s signatureHeader) isExact(elements []string) bool {
	return len(elements) == 2 && strings.HasPrefix(elements[0], s.timestampField+"=") &&
		strings.HasPrefix(elements[1], s.Field+"=") && elements[1] == strings.ToLower(elements[1])
}

// parseVersions parses "v1,abc v1,def v2,ghi". Versions other than the field's are skipped.
func (s signatureHeader) parseVersions(value string) signatures {
	var found signatures
	for _, element := range strings.Fields(value) {
		if version, sig, ok := strings.Cut(element, ","); ok && version == s.Field && sig != "" {
			found.values = append(found.values, sig)
		}
	}
	return found
}

func (s signatureHeader) part() string {
	if s.Query != "" {
		return "query parameter " + s.Query
	}
	if s.Body != "" {
		return partOfBody(s.Body)
	}
	return partOf(s.shownName())
}

// shownName is the name of the header as errors show it.
func (s signatureHeader) shownName() string {
	if s.Numbered > 0 {
		return s.Header + "1 to " + strconv.Itoa(s.Numbered)
	}
	return s.Header
}

// where names the header, the query parameter or the body field.
func (s signatureHeader) where() string {
	if s.Body != "" || s.Query != "" {
		return s.part()
	}
	return s.shownName()
}

func (s signatureHeader) hidden() []string {
	if s.Header == "" {
		return nil
	}
	return s.names
}

func (s signatureHeader) hiddenQuery() []string {
	if s.Query == "" {
		return nil
	}
	return []string{s.Query}
}

func (s signatureHeader) put(r *Request, timestamp string, signatures []string) error {
	value := s.format(timestamp, signatures)
	if s.Query != "" {
		r.setQuery(s.Query, value)
		return nil
	}
	if s.Body != "" {
		return r.setBody(s.Body, value)
	}
	r.SetHeader(s.names[0], value)
	return nil
}

// capacity returns how many signatures a header may contain.
func (s signatureHeader) capacity() int {
	if s.Grammar == "versions" || s.Grammar == "list" || s.Grammar == "pairs" && !s.Exact {
		return maxSignatures
	}
	return 1
}

// format returns a header that read accepts, with at least one signature and at most as many as its capacity.
func (s signatureHeader) format(timestamp string, signatures []string) string {
	switch s.Grammar {
	case "prefix":
		return s.Prefix + signatures[0]
	case "pairs":
		var pairs []string
		if s.timestampField != "" {
			pairs = append(pairs, s.timestampField+s.Assign+timestamp)
		}
		for _, signature := range signatures {
			pairs = append(pairs, s.Field+s.Assign+signature)
		}
		return strings.Join(pairs, s.Separator)
	case "list":
		if s.timestampField != "" {
			signatures = append([]string{timestamp}, signatures...)
		}
		return s.Prefix + strings.Join(signatures, s.Separator)
	case "versions":
		return s.Field + "," + strings.Join(signatures, " "+s.Field+",")
	}
	return signatures[0]
}
