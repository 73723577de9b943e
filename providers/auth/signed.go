package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"holdfast/providers/definition"
)

// maxSignedID is in bytes.
const maxSignedID = 512

// signed is what the signing schemes share: where the signature is, and what it covers.
type signed struct {
	secretsName string
	keyPrefix   string
	content     content
	header      signatureHeader
	time        signedTime
	idHeader    string
	partial     bool
}

func newSigned(p *definition.Problems, field string, d definition.Signing) signed {
	p.SecretName(field+".secrets", d.Secrets)
	s := signed{secretsName: d.Secrets, keyPrefix: d.KeyPrefix, partial: d.Partial != ""}
	p.Required(field+".signed", d.Signed)
	s.content = newContent(p, field+".signed", d.Signed)
	s.content.bodyHash = d.BodyHash
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
	if s.content.has("id") != (s.idHeader != "") {
		p.Add(field+".id", "must be declared if, and only if, {id} is signed")
	}
	if s.partial == s.content.coversBody() {
		p.Add(field+".partial",
			"must be given if, and only if, {body}, {params} and {crc32} are left out: a signature that leaves out "+
				"parts of the body proves nothing of them")
	}
	return s
}

// offer is what a request brings to be verified.
type offer struct {
	signatures []string
	at         time.Time
	parts      signedParts
	// modified says that the body is not the one whose hash is signed.
	modified bool
}

// read collects the offer of a request, or says what is missing.
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
	if err = s.checkHeaders(r); err != nil {
		return offer{}, err
	}
	o.modified, err = s.content.checkBody(r)
	return o, err
}

// checkHeaders wants each header that the template names, once.
func (s signed) checkHeaders(r *Request) error {
	for _, name := range s.content.headers() {
		switch value, err := r.header(name); {
		case err != nil:
			return err
		case value == "":
			return denyAt(ReasonMissingID, partOf(name))
		}
	}
	return s.checkListed(r)
}

// checkListed wants the time among the headers that are listed, where nothing else covers it.
func (s signed) checkListed(r *Request) error {
	for _, part := range s.content.parts {
		if part.variable == "listed" && s.time.header != "" && !slices.Contains(listed(r, part.of), s.time.header) {
			return denyAt(ReasonMissingTimestamp, partOf(part.of))
		}
	}
	return nil
}

// judge says what comes of an offer, once it is known whether one of its signatures is good.
func (s signed) judge(o offer, good bool, now time.Time) error {
	switch {
	case !good:
		return s.time.deny(ReasonBadSignature, s.header.part(), o.at, now)
	case o.modified:
		return s.time.deny(ReasonModifiedBody, "query parameter "+s.content.bodyHash, o.at, now)
	}
	return s.time.check(o.at, now)
}

// readID gives the signed message id. One with a dot is refused: in {id}.{timestamp}.{body} it could move bytes from
// one part into the next.
func (s signed) readID(r *Request) (string, error) {
	if s.idHeader == "" {
		return "", nil
	}
	id, err := r.header(s.idHeader)
	switch {
	case err != nil:
		return "", err
	case id == "":
		return "", denyAt(ReasonMissingID, partOf(s.idHeader))
	case len(id) > maxSignedID || strings.Contains(id, "."):
		return "", denyAt(ReasonMalformedHeader, partOf(s.idHeader))
	}
	return id, nil
}

// prepare sets the headers that are signed, and gives the values to sign.
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
	v.places, err = s.content.readPlaces(r)
	return v, err
}

// signingKeys are the keys of the secrets that have one, at most as many as there is room for; ok is false if there is none.
func signingKeys[K any](secrets []string, room int, read func(secret string) (K, bool)) (keys []K, ok bool) {
	for _, secret := range secrets {
		if key, ok := read(secret); ok && len(keys) < room {
			keys = append(keys, key)
		}
	}
	return keys, len(keys) > 0
}

func (s signed) reference() string { return s.secretsName }

func (s signed) covers() Coverage {
	c := Coverage{URL: s.content.has("url") || s.content.has("path"), Headers: s.content.headers()}
	if s.partial {
		c.Body = append([]string{}, s.content.places...)
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
	return s.header.hidden(), nil, nil
}
