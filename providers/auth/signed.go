package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// maxSignedID is in bytes.
const maxSignedID = 512

// signed is shared by the signing schemes: where the signature is, and what it covers.
type signed struct {
	secretsName string
	keyPrefix   string
	content     content
	header      signatureHeader
	time        signedTime
	idHeader    string
	partial     bool
	size        int // of a signature; 0 if it varies
	encoding    encoding
}

// encoding is how a signature is encoded in a header.
type encoding struct {
	decode func(string) ([]byte, error)
	encode func([]byte) string
}

var encodings = map[string]encoding{
	"hex":       {hex.DecodeString, hex.EncodeToString},
	"base64":    {base64.StdEncoding.Strict().DecodeString, base64.StdEncoding.EncodeToString},
	"base64url": {base64.RawURLEncoding.Strict().DecodeString, base64.RawURLEncoding.EncodeToString},
}

func newSigned(p *definition.Problems, field string, d definition.Signing) signed {
	p.SecretName(field+".secrets", d.Secrets)
	s := signed{secretsName: d.Secrets, keyPrefix: d.KeyPrefix, partial: d.Partial != ""}
	p.Required(field+".signed", d.Signed)
	s.content = newContent(p, field+".signed", d.Signed)
	s.content.bodyHash = d.BodyHash
	if s.content.has("named") {
		p.Add(field+".signed", "can't have {named:FIELD}: it is for jwt.detached")
	}
	s.header = newSignatureHeader(p, field+".signature", d.Signature, d.Timestamp)
	s.time = newSignedTime(p, field+".timestamp", d.Timestamp)
	if s.time.field != "" {
		s.time.part = "field " + s.time.field + " of " + s.header.part()
	}
	if d.ID != nil {
		s.idHeader = p.HeaderName(field+".id.header", d.ID.Header)
	}
	if s.content.has("timestamp") != s.time.present && (!s.content.has("listed") || s.time.header == "") {
		p.Add(field+".timestamp", "must be declared if, and only if, {timestamp} is signed")
	}
	if s.header.Query != "" && (s.content.has("url") || s.content.has("path")) {
		p.Add(field+".signature.query", "can't be in a URL that it signs")
	}
	if s.content.has("id") != (s.idHeader != "") {
		p.Add(field+".id", "must be declared if, and only if, {id} is signed")
	}
	if s.partial == s.content.coversBody() {
		p.Add(field+".partial",
			"must be given if, and only if, {body}, {body_sha256}, {params} and {crc32} are left out: a signature that leaves out "+
				"parts of the body proves nothing of them")
	}
	return s
}

// offer contains the signatures, time and ID that a request presents.
type offer struct {
	signatures []string
	at         time.Time
	parts      signedParts
	// modified means that the body isn't the one whose hash is signed.
	modified bool
}

// read collects the offer of a request, or returns what is missing.
func (s signed) read(r *Request) (offer, error) {
	found, err := s.header.read(r)
	if err != nil {
		return offer{}, err
	}
	o := offer{signatures: found.values, parts: signedParts{request: r, url: r.URL}}
	if o.parts.timestamp, o.at, err = s.time.read(r, found); err != nil {
		return offer{}, err
	}
	if o.parts.id, err = s.readID(r); err != nil {
		return offer{}, err
	}
	if o.parts.places, err = s.content.readPlaces(r); err != nil {
		return offer{}, err
	}
	if o.parts.sorted, err = s.content.readSorted(r); err != nil {
		return offer{}, err
	}
	if err = s.content.checkLines(o.parts.places); err != nil {
		return offer{}, err
	}
	if err = s.checkHeaders(r); err != nil {
		return offer{}, err
	}
	o.modified, err = s.content.checkBody(r)
	return o, err
}

// checkHeaders requires each header and query parameter of the template exactly once, or at most once if it may be missing.
func (s signed) checkHeaders(r *Request) error {
	for _, part := range s.content.parts {
		var value, where string
		var err error
		switch part.variable {
		case "header", "listed":
			where = partOf(part.of)
			value, err = r.header(part.of)
		case "query":
			where = "query parameter " + part.of
			value, err = r.parameter(part.of)
		default:
			continue
		}
		switch {
		case err != nil:
			return err
		case value == "" && part.after == "":
			return denial.At(denial.MissingID, where)
		case part.after != "" && strings.Contains(value, part.after):
			return denial.At(denial.MalformedHeader, where)
		}
	}
	return s.checkListed(r)
}

// checkListed requires the time among the listed headers, unless something else covers it.
func (s signed) checkListed(r *Request) error {
	for _, part := range s.content.parts {
		if part.variable == "listed" && s.time.header != "" && !slices.Contains(listed(r, part.of), s.time.header) {
			return denial.At(denial.MissingTimestamp, partOf(part.of))
		}
	}
	return nil
}

// verify accepts a request if one of the signatures that it offers is valid for its content.
func (s signed) verify(r *Request, now time.Time, isGood func(v signedParts, offered [][]byte) bool) error {
	o, err := s.read(r)
	if err != nil {
		return err
	}
	offered := s.decoded(o.signatures)
	if len(offered) == 0 {
		return denial.At(denial.MalformedSignature, s.header.part())
	}
	return s.result(o, slices.ContainsFunc(s.content.urls(r), func(url string) bool {
		o.parts.url = url
		return isGood(o.parts, offered)
	}), now)
}

// decoded returns the signatures of the right form and size.
func (s signed) decoded(texts []string) (all [][]byte) {
	for _, text := range texts {
		signature, err := s.encoding.decode(text)
		if err == nil && len(signature) > 0 && (s.size == 0 || s.size == len(signature)) {
			all = append(all, signature)
		}
	}
	return all
}

// result returns the result for an offer, given whether one of its signatures is valid.
func (s signed) result(o offer, good bool, now time.Time) error {
	switch {
	case !good:
		return s.time.deny(denial.BadSignature, s.header.part(), o.at, now)
	case o.modified:
		return s.time.deny(denial.ModifiedBody, "query parameter "+s.content.bodyHash, o.at, now)
	}
	return s.time.check(o.at, now)
}

// readID returns the signed message ID. One with a dot is refused: in {id}.{timestamp}.{body} it could move bytes from one part
// into the next.
func (s signed) readID(r *Request) (string, error) {
	if s.idHeader == "" {
		return "", nil
	}
	id, err := r.header(s.idHeader)
	switch {
	case err != nil:
		return "", err
	case id == "":
		return "", denial.At(denial.MissingID, partOf(s.idHeader))
	case len(id) > maxSignedID || strings.Contains(id, "."):
		return "", denial.At(denial.MalformedHeader, partOf(s.idHeader))
	}
	return id, nil
}

// prepare sets the signed headers and returns the values to sign.
func (s signed) prepare(r *Request, now time.Time) (v signedParts, err error) {
	s.content.declareBody(r)
	v = signedParts{timestamp: s.time.format(now), request: r, url: r.URL}
	if s.time.header != "" {
		r.SetHeader(s.time.header, v.timestamp)
	}
	for _, part := range s.content.parts {
		if part.variable == "listed" {
			r.SetHeader(part.of, strings.Trim(part.of+","+s.time.header, ","))
		}
	}
	if s.time.body != "" {
		if err = r.setBody(s.time.body, v.timestamp); err != nil {
			return v, err
		}
	}
	if s.idHeader != "" {
		if url.Values(r.Header).Get(s.idHeader) == "" {
			sum := sha256.Sum256(append([]byte(v.timestamp), r.Body...))
			r.SetHeader(s.idHeader, "msg_"+hex.EncodeToString(sum[:12]))
		}
		v.id = r.Header[s.idHeader][0]
	}
	if v.sorted, err = s.content.readSorted(r); err != nil {
		return v, err
	}
	v.places, err = s.content.readPlaces(r)
	return v, err
}

// signWith signs a request with as many of the keys as the header can contain.
func (s signed) signWith(
	r *Request, secrets []string, now time.Time, read func(secret string) ([]byte, bool),
	sign func(key []byte, v signedParts) ([]byte, bool),
) error {
	v, err := s.prepare(r, now)
	if err != nil {
		return err
	}
	var signatures []string
	for _, secret := range secrets {
		key, isKey := read(secret)
		if !isKey || len(signatures) == s.header.capacity() {
			continue
		}
		signature, ok := sign(key, v)
		if !ok {
			return denial.Of(denial.UnusableSecret)
		}
		signatures = append(signatures, s.encoding.encode(signature))
	}
	if len(signatures) == 0 {
		return denial.Of(denial.UnusableSecret)
	}
	return s.header.put(r, v.timestamp, signatures)
}

func (s signed) reference() string { return s.secretsName }

func (s signed) messageIDHeader() string { return s.idHeader }

func (s signed) covers() Coverage {
	c := Coverage{
		URL: s.content.has("url") || s.content.has("path"), Headers: s.content.headers(), Query: s.content.queries(),
	}
	if s.partial {
		c.Body = append([]string{}, s.content.places...)
		for _, part := range s.content.parts {
			if part.variable == "sorted" {
				c.Body = append(c.Body, part.of+".*")
			}
		}
		if s.time.body != "" {
			c.Body = append(c.Body, s.time.body)
		}
	}
	for _, h := range []string{s.idHeader, s.time.header} {
		if h != "" {
			c.Headers = append(c.Headers, h)
		}
	}
	return c
}

func (s signed) hidden() (headers, query, path []string) {
	return s.header.hidden(), s.header.hiddenQuery(), nil
}
