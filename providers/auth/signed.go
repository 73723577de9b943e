package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
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
}

func newSigned(p *definition.Problems, field string, d definition.Signing) signed {
	p.SecretName(field+".secrets", d.Secrets)
	s := signed{secretsName: d.Secrets, keyPrefix: d.KeyPrefix}
	p.Required(field+".signed", d.Signed)
	s.content = newContent(p, field+".signed", d.Signed)
	s.content.bodyHash = d.BodyHash
	s.header = newSignatureHeader(p, field+".signature", d.Signature, d.Timestamp)
	s.time = newSignedTime(p, field+".timestamp", d.Timestamp)
	if d.ID != nil {
		s.idHeader = p.HeaderName(field+".id.header", d.ID.Header)
	}
	if s.content.has("timestamp") != s.time.present {
		p.Add(field+".timestamp", "must be declared if, and only if, {timestamp} is signed")
	}
	if s.content.has("id") != (s.idHeader != "") {
		p.Add(field+".id", "must be declared if, and only if, {id} is signed")
	}
	if s.content.has("params") && d.BodyHash == "" {
		p.Add(field+".body_hash", "is needed with {params}, which leaves out a body that is not a form")
	}
	return s
}

// offer is what a request brings to be verified.
type offer struct {
	signatures []string
	at         time.Time
	parts      signedParts
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
	return o, s.content.checkBody(r)
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
		return "", deny(ReasonMissingID)
	case len(id) > maxSignedID || strings.Contains(id, "."):
		return "", deny(ReasonMalformedHeader)
	}
	return id, nil
}

// prepare sets the headers that are signed, and gives the values to sign.
func (s signed) prepare(r *Request, now time.Time) signedParts {
	s.content.declareBody(r)
	v := signedParts{timestamp: s.time.format(now), request: r, url: r.URL}
	if s.time.header != "" {
		r.SetHeader(s.time.header, v.timestamp)
	}
	if s.idHeader != "" {
		if url.Values(r.Header).Get(s.idHeader) == "" {
			sum := sha256.Sum256(append([]byte(v.timestamp), r.Body...))
			r.SetHeader(s.idHeader, "msg_"+hex.EncodeToString(sum[:12]))
		}
		v.id = r.Header[s.idHeader][0]
	}
	return v
}

func (s signed) reference() string { return s.secretsName }

func (s signed) covers() Coverage {
	c := Coverage{URL: s.content.has("url")}
	for _, h := range []string{s.idHeader, s.time.header} {
		if h != "" {
			c.Headers = append(c.Headers, h)
		}
	}
	return c
}

func (s signed) hidden() (headers, query, path []string) {
	return []string{s.header.Header}, nil, nil
}
