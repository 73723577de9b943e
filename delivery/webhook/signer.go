package webhook

import (
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

// secretsName stands for the secrets of a destination, which its signature need not name.
const secretsName = "SECRETS"

// standardWebhooks is how requests are signed where nothing is declared.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
const standardWebhooks = `{"hmac": {
	"key": "base64", "key_prefix": "` + delivery.SecretPrefix + `", "encoding": "base64", "signed": "{id}.{timestamp}.{body}",
	"signature": {"header": "webhook-signature", "grammar": "versions", "field": "v1"},
	"timestamp": {"header": "webhook-timestamp"}, "id": {"header": "webhook-id"}
}}`

// signer signs requests in one way.
type signer struct {
	*auth.Authenticator

	// idHeader is where the name of a message is, if it is signed; "" if it is not.
	idHeader string
}

// newSigner compiles a scheme of the definitions' grammar, in JSON.
func newSigner(declared string) (*signer, error) {
	var tree map[string]any
	if err := json.Unmarshal([]byte(declared), &tree); err != nil {
		return nil, errors.New("want one scheme, such as {hmac: {…}}")
	}
	p := &definition.Problems{File: "signature"}
	d, _ := p.Read(nil, definition.File{Name: p.File, Tree: map[string]any{"auth": []any{tree}}})
	s := &signer{Authenticator: auth.New(p, d.Auth, secretsName, nil)}
	for _, scheme := range d.Auth {
		if scheme.Address != nil || scheme.Certificate != nil {
			p.Add("auth[0]", "address and certificate prove nothing that could be sent from here")
		}
		if signsInBody(scheme) {
			p.Add("auth[0]", "a signature in the body would change what is sent: want a header")
		}
		s.idHeader = idHeader(scheme)
	}
	if err := p.Err(); err != nil {
		return nil, errors.New(mistakesOf(err))
	}
	return s, nil
}

// signsInBody says that a part of the signature stands in the body.
func signsInBody(s definition.Scheme) bool {
	for _, d := range []*definition.PublicKey{s.Ed25519, s.ECDSA, s.RSA} {
		if d != nil && isInBody(d.Signing) {
			return true
		}
	}
	return s.HMAC != nil && isInBody(s.HMAC.Signing)
}

func isInBody(d definition.Signing) bool {
	return d.Signature.Body != "" || d.Timestamp != nil && d.Timestamp.Body != ""
}

// mistakesOf names the fields without the place that the scheme has in a definition.
func mistakesOf(err error) string {
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

// maxSigners is how many declared signatures stay compiled.
const maxSigners = 1000

// signers compile each declaration once.
type signers struct{ compiled *lru.Cache[string, *signer] }

func newSigners() *signers {
	cache, err := lru.New[string, *signer](maxSigners)
	if err != nil {
		panic(err) // only a size below 1 is an error
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

// errNoSecret says that there is nothing to sign with.
var errNoSecret = errors.New("the destination has no secret")

// sign makes a request authentic with the secrets, the newest first.
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

// signCode names why a request cannot be signed.
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

// CheckSignature says what is wrong with a declared signature: an event.Error of class rejected; nil if nothing is.
func CheckSignature(declared json.RawMessage) error {
	if _, err := newSigners().of(declared); err != nil {
		return event.Rejectf("invalid_destination", "http.%v", err)
	}
	return nil
}
