package auth

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // Twilio signs with HMAC-SHA1, which the weakness of SHA-1 does not reach.
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"slices"
	"strings"
	"time"

	"holdfast/providers/definition"
)

type hmacScheme struct {
	signed
	newHash func() hash.Hash
	keyForm string // of the secret: text, base64, base64url, hex, or sha1 (its hash is the key)
	// plain is a hash without a key, of a content with the secret in it.
	plain bool
}

// newPlainHash compiles a hash of a content with the secret. Who knows one can compute the hash of a longer content, unless the
// secret comes last.
func newPlainHash(p *definition.Problems, field string, d *definition.HMAC) scheme {
	s := newHMAC(p, field, d).(*hmacScheme)
	s.plain = true
	if d.Key != "" {
		p.Add(field+".key", "has no meaning here: the text of the secret is hashed")
	}
	return s
}

// checkSecret requires the secret in the content of a plain hash, and in that alone.
func checkSecret(p *definition.Problems, field, signed string, isPlain bool) {
	if n := strings.Count(signed, "{secret}"); isPlain != (n == 1) {
		p.Add(field+".signed", "{secret} is for hash, which needs it once: an hmac has the secret as its key")
	}
}

func newHMAC(p *definition.Problems, field string, d *definition.HMAC) scheme {
	s := &hmacScheme{signed: newSigned(p, field, d.Signing)}
	s.newHash = hashes[p.OneOf(field+".algorithm", d.Algorithm, "sha256", "sha1", "sha512")]
	s.size = s.newHash().Size()
	s.encoding = encodings[p.OneOf(field+".encoding", d.Encoding, "hex", "base64", "base64url")]
	s.keyForm = p.OneOf(field+".key", d.Key, "text", "base64", "base64url", "hex", "sha1")
	if s.keyPrefix != "" && s.keyForm != "base64" {
		p.Add(field+".key_prefix", "is for key: base64; a text key is used whole")
	}
	return s
}

// hashes are those supported for HMAC.
var hashes = map[string]func() hash.Hash{"sha256": sha256.New, "sha1": sha1.New, "sha512": sha512.New}

func (s *hmacScheme) keys(k keyring) ([][]byte, error) { return keysOf(k, s.secretsName, s.key) }

func (s *hmacScheme) key(secret string) ([]byte, bool) {
	switch s.keyForm {
	case "base64":
		return decodeKey(secret, s.keyPrefix)
	case "base64url":
		key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(secret, "="))
		return key, err == nil && len(key) > 0
	case "hex":
		key, err := hex.DecodeString(secret)
		return key, err == nil && len(key) > 0
	case "sha1":
		key := sha1.Sum([]byte(secret)) //nolint:gosec // Braintree's way to make a key of a secret
		return key[:], secret != ""
	}
	return []byte(secret), secret != ""
}

func (s *hmacScheme) ready(k keyring) error {
	_, err := s.keys(k)
	return err
}

// authenticate compares every key with every signature in constant time. All hashes have the same length, so none is compared
// in part.
func (s *hmacScheme) authenticate(k keyring, r *Request, now time.Time) error {
	keys, err := s.keys(k)
	if err != nil {
		return err
	}
	return s.verify(r, now, func(v signedParts, offered [][]byte) bool {
		for _, key := range keys {
			sum := s.sum(key, v)
			for _, signature := range offered {
				if hmac.Equal(sum, signature) {
					return true
				}
			}
		}
		return false
	})
}

func (s *hmacScheme) sign(r *Request, secrets []string, now time.Time) error {
	return s.signWith(r, secrets, now, s.key, func(key []byte, v signedParts) ([]byte, bool) {
		return s.sum(key, v), true
	})
}

func (s *hmacScheme) sum(key []byte, v signedParts) []byte {
	if s.plain {
		v.secret = string(key)
		return s.content.sum(s.newHash(), v)
	}
	return s.content.sum(hmac.New(s.newHash, key), v)
}

// MAC returns the HMAC-SHA256 of a text, in hex, with the secret that authenticates the request. ok is false if none does, or
// its scheme has no key.
func (a *Authenticator) MAC(r *Request, text string, now time.Time) (sum string, ok bool) {
	r.decoders = a.decoders
	chosen, _ := a.chosen(r)
	for _, i := range chosen {
		s, isHMAC := a.schemes[i].scheme.(*hmacScheme)
		if !isHMAC || s.plain {
			continue
		}
		secrets, _ := a.usable(s.secretsName)
		for _, secret := range secrets {
			one := keyring{source: func(string) []string { return []string{secret} }, placeholders: a.placeholders}
			if key, usable := s.key(secret); usable && s.authenticate(one, r, now) == nil {
				h := hmac.New(sha256.New, key)
				h.Write([]byte(text))
				return hex.EncodeToString(h.Sum(nil)), true
			}
		}
	}
	return "", false
}

// HasKey reports whether a scheme is an HMAC.
func (a *Authenticator) HasKey() bool {
	return slices.ContainsFunc(a.schemes, func(s alternative) bool {
		one, is := s.scheme.(*hmacScheme)
		return is && !one.plain
	})
}

// OwnMAC returns the HMAC of a text by the definition's first keyed scheme, in hex, with the first usable secret. ok is false
// if there is none.
func (a *Authenticator) OwnMAC(text string) (sum string, ok bool) {
	for _, s := range a.schemes {
		if s, isHMAC := s.scheme.(*hmacScheme); isHMAC && !s.plain {
			keys, err := s.keys(a.keyring)
			if err != nil {
				return "", false
			}
			h := hmac.New(s.newHash, keys[0])
			h.Write([]byte(text))
			return hex.EncodeToString(h.Sum(nil)), true
		}
	}
	return "", false
}

func (s *hmacScheme) name() string {
	if s.plain {
		return "hash in " + s.header.where()
	}
	return "HMAC in " + s.header.where()
}
