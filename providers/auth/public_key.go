package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"strings"
	"time"

	"holdfast/providers/auth/jws"
	"holdfast/providers/definition"
)

// publicKeyScheme verifies with public keys instead of shared secrets. A secret without the prefix, or of another kind, isn't a
// key, so that one kind of signature can't replace the other.
type publicKeyScheme struct {
	signed
	keyKind
	hexKey bool
}

// keyKind is one kind of key pair. Keys are parsed from bytes: a public one as the sender publishes it, a private one as it
// follows privatePrefix.
type keyKind struct {
	label  string
	size   int // of a signature; 0 if it varies
	public func([]byte) (crypto.PublicKey, bool)
	verify func(key crypto.PublicKey, message, signature []byte) bool
	sign   func(private, message []byte) ([]byte, bool)
}

var (
	ed25519Keys = keyKind{"Ed25519", ed25519.SignatureSize, readEd25519, verifyEd25519, signEd25519}
	ecdsaKeys   = keyKind{"ECDSA", 0, readPublic[*ecdsa.PublicKey], verifyECDSA, signPKCS8[*ecdsa.PrivateKey]}
	rsaKeys     = keyKind{"RSA", 0, readPublic[*rsa.PublicKey], verifyRSA, signPKCS8[*rsa.PrivateKey]}
)

// privatePrefix marks the private key for Sign.
const privatePrefix = "whsk_"

func newPublicKey(p *definition.Problems, field string, d *definition.PublicKey, kind keyKind) scheme {
	s := &publicKeyScheme{signed: newSigned(p, field, d.Signing), keyKind: kind}
	s.signed.size = kind.size
	s.encoding = encodings[p.OneOf(field+".encoding", d.Encoding, "base64", "hex")]
	s.hexKey = p.OneOf(field+".key", d.Key, "base64", "hex") == "hex"
	if kind.label == ed25519Keys.label && d.Key == "" { // any 32 bytes are a key: without a prefix, say how they are written
		p.Required(field+".key_prefix", d.KeyPrefix)
	}
	return s
}

func readEd25519(raw []byte) (crypto.PublicKey, bool) {
	if len(raw) > ed25519.PublicKeySize {
		return readPublic[ed25519.PublicKey](raw)
	}
	return ed25519.PublicKey(raw), len(raw) == ed25519.PublicKeySize
}

// minRSABits is the minimum length of an RSA key.
const minRSABits = jws.MinRSABits

// readPublic parses a SubjectPublicKeyInfo, the content of a PEM file.
func readPublic[K crypto.PublicKey](raw []byte) (crypto.PublicKey, bool) {
	parsed, err := x509.ParsePKIXPublicKey(raw)
	key, ok := parsed.(K)
	if short, isRSA := parsed.(*rsa.PublicKey); isRSA && short.N.BitLen() < minRSABits {
		ok = false
	}
	return key, err == nil && ok
}

func verifyEd25519(key crypto.PublicKey, message, signature []byte) bool {
	return ed25519.Verify(key.(ed25519.PublicKey), message, signature)
}

func verifyECDSA(key crypto.PublicKey, message, signature []byte) bool {
	sum := sha256.Sum256(message)
	return ecdsa.VerifyASN1(key.(*ecdsa.PublicKey), sum[:], signature)
}

func verifyRSA(key crypto.PublicKey, message, signature []byte) bool {
	sum := sha256.Sum256(message)
	return rsa.VerifyPKCS1v15(key.(*rsa.PublicKey), crypto.SHA256, sum[:], signature) == nil
}

func signEd25519(private, message []byte) ([]byte, bool) {
	key := ed25519.PrivateKey(private)
	if len(private) == ed25519.SeedSize {
		key = ed25519.NewKeyFromSeed(private)
	}
	if len(key) != ed25519.PrivateKeySize {
		return nil, false
	}
	return ed25519.Sign(key, message), true
}

// signPKCS8 signs the SHA-256 of a message.
func signPKCS8[K crypto.Signer](private, message []byte) ([]byte, bool) {
	parsed, err := x509.ParsePKCS8PrivateKey(private)
	key, ok := parsed.(K)
	if err != nil || !ok {
		return nil, false
	}
	sum := sha256.Sum256(message)
	signature, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	return signature, err == nil
}

func (s *publicKeyScheme) keys(k keyring) ([]crypto.PublicKey, error) {
	return keysOf(k, s.secretsName, func(secret string) (crypto.PublicKey, bool) {
		raw, ok := s.decodeKey(secret)
		if !ok || !strings.HasPrefix(secret, s.keyPrefix) || strings.HasPrefix(secret, privatePrefix) {
			return nil, false
		}
		return s.public(raw)
	})
}

func (s *publicKeyScheme) decodeKey(secret string) ([]byte, bool) {
	if jws.IsPEM(secret) {
		return jws.PublicDER(secret)
	}
	if s.hexKey {
		raw, err := hex.DecodeString(strings.TrimPrefix(secret, s.keyPrefix))
		return raw, err == nil
	}
	return decodeKey(secret, s.keyPrefix)
}

func (s *publicKeyScheme) ready(k keyring) error {
	_, err := s.keys(k)
	return err
}

func (s *publicKeyScheme) authenticate(k keyring, r *Request, now time.Time) error {
	keys, err := s.keys(k)
	if err != nil {
		return err
	}
	return s.signed.verify(r, now, func(v signedParts, offered [][]byte) bool {
		message := s.content.message(v)
		for _, signature := range offered {
			for _, key := range keys {
				if s.keyKind.verify(key, message, signature) {
					return true
				}
			}
		}
		return false
	})
}

// privateKeyOf parses a private key of this kind after its prefix.
func (s *publicKeyScheme) privateKeyOf(secret string) ([]byte, bool) {
	key, ok := decodeKey(secret, privatePrefix)
	if ok = ok && strings.HasPrefix(secret, privatePrefix); ok {
		_, ok = s.keyKind.sign(key, nil)
	}
	return key, ok
}

func (s *publicKeyScheme) sign(r *Request, secrets []string, now time.Time) error {
	return s.signWith(r, secrets, now, s.privateKeyOf, func(key []byte, v signedParts) ([]byte, bool) {
		return s.keyKind.sign(key, s.content.message(v))
	})
}

func (s *publicKeyScheme) name() string { return s.label + " in " + s.header.where() }
