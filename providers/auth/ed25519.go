package auth

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"time"

	"holdfast/providers/definition"
)

// ed25519Scheme verifies with public keys (whpk_) in place of shared secrets. A secret without the prefix is not a key
// of it, so that neither kind of signature can stand in for the other.
type ed25519Scheme struct {
	signed
}

// privatePrefix marks the private key that Sign takes.
const privatePrefix = "whsk_"

func newEd25519(p *definition.Problems, field string, d *definition.Ed25519) scheme {
	p.Required(field+".key_prefix", d.KeyPrefix)
	return &ed25519Scheme{signed: newSigned(p, field, d.Signing)}
}

func (s *ed25519Scheme) keys(k keyring) ([]ed25519.PublicKey, error) {
	return keysOf(k, s.secretsName, func(secret string) (ed25519.PublicKey, bool) {
		key, ok := decodeKey(secret, s.keyPrefix)
		return key, ok && strings.HasPrefix(secret, s.keyPrefix) && len(key) == ed25519.PublicKeySize
	})
}

func (s *ed25519Scheme) ready(k keyring) error {
	_, err := s.keys(k)
	return err
}

func (s *ed25519Scheme) authenticate(k keyring, r *Request, now time.Time) error {
	keys, err := s.keys(k)
	if err != nil {
		return err
	}
	o, err := s.read(r)
	if err != nil {
		return err
	}
	var message bytes.Buffer
	s.content.write(&message, o.parts)
	for _, text := range o.signatures {
		sig, err := base64.StdEncoding.Strict().DecodeString(text)
		for _, key := range keys {
			if err == nil && len(sig) == ed25519.SignatureSize && ed25519.Verify(key, message.Bytes(), sig) {
				return s.time.check(o.at, now)
			}
		}
	}
	return deny(ReasonBadSignature)
}

func (s *ed25519Scheme) sign(r *Request, secret string, now time.Time) error {
	key, ok := decodeKey(secret, privatePrefix)
	if !ok || !strings.HasPrefix(secret, privatePrefix) {
		return deny(ReasonUnusableSecret)
	}
	switch len(key) {
	case ed25519.SeedSize:
		key = ed25519.NewKeyFromSeed(key)
	case ed25519.PrivateKeySize:
	default:
		return deny(ReasonUnusableSecret)
	}
	v := s.prepare(r, now)
	var message bytes.Buffer
	s.content.write(&message, v)
	sig := base64.StdEncoding.EncodeToString(ed25519.Sign(key, message.Bytes()))
	r.SetHeader(s.header.Header, s.header.format(v.timestamp, sig))
	return nil
}

func (s *ed25519Scheme) name() string { return "Ed25519 in " + s.header.Header }
