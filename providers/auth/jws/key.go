package jws

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strings"
	"time"
)

// Limits of a set of keys. Larger ones are mistakes: senders publish the current key, the next and the last.
const (
	maxKeys = 100
	// maxTried is how many keys are tried for one token, if its header doesn't say which.
	maxTried = 8
)

// Key is a public key with what its publisher says about it.
type Key struct {
	ID string
	// Algorithm is "" if the publisher doesn't say it.
	Algorithm string
	Public    crypto.PublicKey
	// Expired is when the key ceases to be valid; zero if its publisher doesn't say it.
	Expired time.Time
	// Root is a certificate to which the chain in a token may lead, instead of a key; nil for a key.
	Root *x509.Certificate
}

// jwk is a key as it is written. Kty, crv and the numbers are RFC 7518's. Plaid adds expired_at, in unix seconds.
type jwk struct {
	Type       string   `json:"kty"`
	ID         string   `json:"kid"`
	Algorithm  string   `json:"alg"`
	Use        string   `json:"use"`
	Operations []string `json:"key_ops"`
	Curve      string   `json:"crv"`
	X          string   `json:"x"`
	Y          string   `json:"y"`
	N          string   `json:"n"`
	E          string   `json:"e"`
	Expired    *float64 `json:"expired_at"`
}

// ParseKeys parses a set of keys: an object with the list `keys`. A key that can't be used, such as one of another type, is
// skipped: it says nothing about the others. The error is of a text that isn't a set.
func ParseKeys(text []byte) (keys []Key, skipped int, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil || set.Keys == nil {
		return nil, 0, errors.New("not a set of keys")
	}
	for _, one := range set.Keys[:min(len(set.Keys), maxKeys)] {
		if key, ok := ParseKey(one); ok {
			keys = append(keys, key)
		}
	}
	return keys, len(set.Keys) - len(keys), nil
}

// ParseKey parses one key; ok is false if it can't verify a signature.
func ParseKey(text []byte) (key Key, ok bool) {
	var k jwk
	if json.Unmarshal(text, &k) != nil || k.Use != "" && k.Use != "sig" ||
		k.Operations != nil && !slices.Contains(k.Operations, "verify") {
		return Key{}, false
	}
	key = Key{ID: k.ID, Algorithm: k.Algorithm}
	if k.Expired != nil {
		key.Expired = time.Unix(int64(min(max(*k.Expired, 0), maxUnix)), 0)
	}
	switch k.Type {
	case "RSA":
		key.Public, ok = k.rsa()
	case "EC":
		key.Public, ok = k.ec()
	}
	return key, ok
}

func (k jwk) rsa() (*rsa.PublicKey, bool) {
	n, err1 := decodePart(k.N)
	e, err2 := decodePart(k.E)
	exponent := new(big.Int).SetBytes(e)
	if errors.Join(err1, err2) != nil || len(e) > 4 || exponent.Int64() < 3 || exponent.Int64() > 1<<31-1 || exponent.Bit(0) == 0 {
		return nil, false
	}
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())}
	return key, Fits(RS256, key)
}

func (k jwk) ec() (*ecdsa.PublicKey, bool) {
	curve := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-521": elliptic.P521()}[k.Curve]
	x, err1 := decodePart(k.X)
	y, err2 := decodePart(k.Y)
	if curve == nil || errors.Join(err1, err2) != nil || max(len(x), len(y)) > orderSize(curve) {
		return nil, false
	}
	size := orderSize(curve)
	point := make([]byte, 1+2*size)
	point[0] = 4 // both coordinates follow; some publishers leave out their leading zeros
	copy(point[1+size-len(x):], x)
	copy(point[1+2*size-len(y):], y)
	key, err := ecdsa.ParseUncompressedPublicKey(curve, point)
	return key, err == nil
}

// For returns the keys with which a token may be signed: those that haven't expired, fit the algorithm and have its ID. A token
// without an ID may be signed with any of them.
func For(t Token, algorithm string, keys []Key, now time.Time) []Key {
	found := slices.DeleteFunc(slices.Clone(keys), func(k Key) bool {
		return !k.Expired.IsZero() && !now.Before(k.Expired) || t.KeyID != "" && k.ID != t.KeyID ||
			k.Algorithm != "" && k.Algorithm != algorithm || !Fits(algorithm, k.Public)
	})
	return found[:min(len(found), maxTried)]
}

// Set names where a sender publishes its keys. Its address never comes from a request. The zero value stands for roots in
// addition to those of a definition, which only a trial of a definition has.
type Set struct {
	URL string
	// Body is sent by POST, for an API that is asked for one key; nil is a GET of all keys.
	Body []byte
	// Answer is the dotted path of the one key in the answer of the API.
	Answer string
	// Unknown is the value of a field that says the API has no such key; "" if none does.
	Unknown string
}

// IsUnknown reports whether an answer with an error says that there is no such key.
func (s Set) IsUnknown(text []byte) bool {
	var fields map[string]any
	if s.Unknown == "" || json.Unmarshal(text, &fields) != nil {
		return false
	}
	for _, value := range fields {
		if value == s.Unknown {
			return true
		}
	}
	return false
}

// ParseAnswer parses what a set's URL returns.
func (s Set) ParseAnswer(text []byte) ([]Key, error) {
	if s.Body == nil {
		keys, _, err := ParseKeys(text)
		return keys, err
	}
	for name := range strings.SplitSeq(s.Answer, ".") {
		var fields map[string]json.RawMessage
		if json.Unmarshal(text, &fields) != nil || fields[name] == nil {
			return nil, errors.New("the answer has no key")
		}
		text = fields[name]
	}
	key, ok := ParseKey(text)
	if !ok {
		return nil, errors.New("not a usable key")
	}
	return []Key{key}, nil
}
