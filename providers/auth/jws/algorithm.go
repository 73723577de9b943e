package jws

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"math/big"
)

// The algorithms with a public key.
const (
	RS256 = "RS256"
	ES256 = "ES256"
	ES512 = "ES512"
)

// MinRSABits is the minimum length of an RSA key, in bits.
const MinRSABits = 2048

// maxRSABits bounds the work for one signature.
const maxRSABits = 8192

// Fits reports whether a key is of the type, curve and length of an algorithm.
func Fits(algorithm string, key crypto.PublicKey) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return algorithm == RS256 && key.N.BitLen() >= MinRSABits && key.N.BitLen() <= maxRSABits
	case *ecdsa.PublicKey:
		return curves[algorithm] != nil && key.Curve == curves[algorithm]
	}
	return false
}

var curves = map[string]elliptic.Curve{ES256: elliptic.P256(), ES512: elliptic.P521()}

// Verify reports whether a token is signed with a key. Both must be of the algorithm.
func (t Token) Verify(algorithm string, key crypto.PublicKey) bool {
	if t.Algorithm != algorithm || !Fits(algorithm, key) {
		return false
	}
	sum, hash := digest(algorithm, t.Content)
	switch key := key.(type) {
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, hash, sum, t.Signature) == nil
	case *ecdsa.PublicKey: // r and s, each as long as the curve's order: never DER
		size := orderSize(key.Curve)
		if len(t.Signature) != 2*size {
			return false
		}
		r, s := new(big.Int).SetBytes(t.Signature[:size]), new(big.Int).SetBytes(t.Signature[size:])
		return ecdsa.Verify(key, sum, r, s)
	}
	return false
}

func digest(algorithm, content string) ([]byte, crypto.Hash) {
	if algorithm == ES512 {
		sum := sha512.Sum512([]byte(content))
		return sum[:], crypto.SHA512
	}
	sum := sha256.Sum256([]byte(content))
	return sum[:], crypto.SHA256
}

func orderSize(curve elliptic.Curve) int { return (curve.Params().BitSize + 7) / 8 }

// ErrUnfit is the error of a key that isn't of the algorithm.
var ErrUnfit = errors.New("the key isn't of the algorithm")

// Sign signs the content of a token.
func Sign(algorithm string, key crypto.Signer, content string) ([]byte, error) {
	if !Fits(algorithm, key.Public()) {
		return nil, ErrUnfit
	}
	sum, hash := digest(algorithm, content)
	private, isEC := key.(*ecdsa.PrivateKey)
	if !isEC {
		return key.Sign(rand.Reader, sum, hash)
	}
	r, s, err := ecdsa.Sign(rand.Reader, private, sum)
	if err != nil {
		return nil, err
	}
	size := orderSize(private.Curve)
	signature := make([]byte, 2*size)
	r.FillBytes(signature[:size])
	s.FillBytes(signature[size:])
	return signature, nil
}
