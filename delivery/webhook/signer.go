package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// secretsName is a placeholder: a destination's signature needn't name its secrets.
const secretsName = "SECRETS"

// standardWebhooks is the default signature.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
const standardWebhooks = `{"hmac": {
	"key": "base64", "key_prefix": "` + delivery.SecretPrefix + `", "encoding": "base64", "signed": "{id}.{timestamp}.{body}",
	"signature": {"header": "webhook-signature", "grammar": "versions", "field": "v1"},
	"timestamp": {"header": "webhook-timestamp"}, "id": {"header": "webhook-id"}
}}`

// signer is a compiled signature scheme.
type signer struct {
	*auth.Authenticator

	// idHeader is the header of the signed message ID; "" if the ID isn't signed.
	idHeader string
}

// newSigner compiles a scheme in the grammar of provider definitions, in JSON.
func newSigner(declared string) (*signer, error) {
	var tree map[string]any
	if err := json.Unmarshal([]byte(declared), &tree); err != nil {
		return nil, errors.New("must be one scheme, such as {hmac: {…}}")
	}
	p := &definition.Problems{File: "signature"}
	d, _ := p.Read(nil, definition.File{Name: p.File, Tree: map[string]any{"auth": []any{tree}}})
	s := &signer{Authenticator: auth.New(p, d.Auth, secretsName, nil)}
	for _, scheme := range d.Auth {
		if scheme.Address != nil || scheme.Certificate != nil || scheme.Proxied != nil {
			p.Add("auth[0]", "address and certificate can't sign outgoing requests")
		}
		if isForReceiving(scheme.JWT) {
			p.Add("auth[0].jwt", "keys, chain, detached, payload and body are for requests that are received")
		}
		if signsInBody(scheme) {
			p.Add("auth[0]", "a signature in the body would change the body: use a header")
		}
		s.idHeader = idHeader(scheme)
	}
	if err := p.Err(); err != nil {
		return nil, errors.New(problemsOf(err))
	}
	return s, nil
}

// isForReceiving reports whether a token is made with what only its sender has, or in a way that deliveries don't use.
func isForReceiving(d *definition.JWT) bool {
	return d != nil && (d.Keys != nil || d.Chain != nil || d.Detached != "" || d.Payload != "" || d.Body != "")
}

// signsInBody reports whether a part of the signature is in the body.
func signsInBody(s definition.Scheme) bool {
	for _, d := range []*definition.PublicKey{s.Ed25519, s.ECDSA, s.RSA} {
		if d != nil && isInBody(d.Signing) {
			return true
		}
	}
	for _, d := range []*definition.HMAC{s.HMAC, s.Hash} {
		if d != nil && isInBody(d.Signing) {
			return true
		}
	}
	return s.Token != nil && strings.Contains(s.Token.Name, "[]")
}

func isInBody(d definition.Signing) bool {
	return d.Signature.Body != "" || d.Timestamp != nil && d.Timestamp.Body != ""
}

// problemsOf names the fields without the prefix of a definition.
func problemsOf(err error) string {
	var texts []string
	for _, e := range definition.Errors(err) {
		field := strings.TrimPrefix(strings.TrimPrefix(e.Field, "auth[0]"), ".")
		texts = append(texts, strings.TrimSpace(field+" "+e.Reason))
	}
	return strings.Join(texts, "; ")
}

func idHeader(s definition.Scheme) string {
	var id *definition.ID
	switch {
	case s.HMAC != nil:
		id = s.HMAC.ID
	case s.Ed25519 != nil:
		id = s.Ed25519.ID
	}
	if id == nil {
		return ""
	}
	return strings.ToLower(id.Header)
}

const maxSigners = 1000

// signers caches compiled schemes.
type signers struct{ compiled *lru.Cache[string, *signer] }

func newSigners() *signers {
	cache, err := lru.New[string, *signer](maxSigners)
	if err != nil {
		panic(err) // only an invalid size is an error
	}
	return &signers{cache}
}

func (all *signers) of(declared json.RawMessage) (*signer, error) {
	text := string(declared)
	if text == "" || text == "null" {
		text = standardWebhooks
	}
	if s, ok := all.compiled.Get(text); ok {
		return s, nil
	}
	s, err := newSigner(text)
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	all.compiled.Add(text, s)
	return s, nil
}

var errNoSecret = errors.New("the destination has no secret")

// sign signs a request with all secrets, newest first.
func (all *signers) sign(r *auth.Request, declared json.RawMessage, secrets []string, id string, now time.Time) error {
	s, err := all.of(declared)
	if err != nil {
		return err
	}
	if len(secrets) == 0 {
		return errNoSecret
	}
	if s.idHeader != "" {
		r.SetHeader(s.idHeader, id)
	}
	return s.SignWithAll(r, secrets, now)
}

// signCode is the code of a request that can't be signed.
func signCode(err error) string {
	var unusable *denial.Error
	switch {
	case errors.Is(err, errNoSecret):
		return string(denial.NoSecret)
	case errors.As(err, &unusable):
		return string(unusable.Reason)
	}
	return "signature"
}

// CheckSignature checks a declared signature. The error is an event.Error of class rejected.
func CheckSignature(declared json.RawMessage) error {
	if _, err := newSigners().of(declared); err != nil {
		return event.Rejectf("invalid_destination", "http.%v", err)
	}
	return nil
}

// secretBytes is the length of new secrets. Standard Webhooks requires 24 to 64 bytes; 24 need no padding.
const secretBytes = 24

// NewSecret returns a random secret in the form of Standard Webhooks.
func NewSecret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return delivery.SecretPrefix + base64.StdEncoding.EncodeToString(b)
}
