package auth

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // Twilio signs with HMAC-SHA1, which the weakness of SHA-1 does not reach.
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"time"

	"holdfast/providers/definition"
)

// hmacScheme is a keyed hash over the signed content.
type hmacScheme struct {
	signed
	newHash func() hash.Hash
	size    int // of a hash
	decode  func(string) ([]byte, error)
	encode  func([]byte) string
	base64  bool // the secret is base64
}

func newHMAC(p *definition.Problems, field string, d *definition.HMAC) scheme {
	s := &hmacScheme{signed: newSigned(p, field, d.Signing)}
	s.newHash = sha256.New
	if p.OneOf(field+".algorithm", d.Algorithm, "sha256", "sha1") == "sha1" {
		s.newHash = sha1.New
	}
	s.size = s.newHash().Size()
	s.decode, s.encode = hex.DecodeString, hex.EncodeToString
	if p.OneOf(field+".encoding", d.Encoding, "hex", "base64") == "base64" {
		strict := base64.StdEncoding.Strict()
		s.decode, s.encode = strict.DecodeString, strict.EncodeToString
	}
	s.base64 = p.OneOf(field+".key", d.Key, "text", "base64") == "base64"
	if s.keyPrefix != "" && !s.base64 {
		p.Add(field+".key_prefix", "is for key: base64; a text key is used whole")
	}
	return s
}

func (s *hmacScheme) keys(k keyring) ([][]byte, error) { return keysOf(k, s.secretsName, s.key) }

func (s *hmacScheme) key(secret string) ([]byte, bool) {
	if s.base64 {
		return decodeKey(secret, s.keyPrefix)
	}
	return []byte(secret), secret != ""
}

func (s *hmacScheme) ready(k keyring) error {
	_, err := s.keys(k)
	return err
}

func (s *hmacScheme) authenticate(k keyring, r *Request, now time.Time) error {
	keys, err := s.keys(k)
	if err != nil {
		return err
	}
	o, err := s.read(r)
	if err != nil {
		return err
	}
	if !s.matches(keys, o) {
		return deny(ReasonBadSignature)
	}
	return s.time.check(o.at, now)
}

// matches compares every key with every signature in constant time. The hashes have one length, so nothing is ever
// compared in part.
func (s *hmacScheme) matches(keys [][]byte, o offer) bool {
	var offered [][]byte
	for _, text := range o.signatures {
		if sig, err := s.decode(text); err == nil && len(sig) == s.size {
			offered = append(offered, sig)
		}
	}
	if len(offered) == 0 {
		return false
	}
	for _, url := range s.content.urls(o.parts.request) {
		o.parts.url = url
		for _, key := range keys {
			sum := s.content.sum(hmac.New(s.newHash, key), o.parts)
			for _, sig := range offered {
				if hmac.Equal(sum, sig) {
					return true
				}
			}
		}
	}
	return false
}

func (s *hmacScheme) sign(r *Request, secret string, now time.Time) error {
	key, ok := s.key(secret)
	if !ok {
		return deny(ReasonUnusableSecret)
	}
	v := s.prepare(r, now)
	sum := s.content.sum(hmac.New(s.newHash, key), v)
	r.SetHeader(s.header.Header, s.header.format(v.timestamp, s.encode(sum)))
	return nil
}

func (s *hmacScheme) name() string { return "HMAC in " + s.header.Header }
