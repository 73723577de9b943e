package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"sync"
)

// NewSecrets makes secrets for every scheme but those by certificate: text and base64 behind a prefix, base64 alone, hex, and
// pairs of keys, of which the private one stands behind "whsk_" and before its public one.
func NewSecrets() []string { return secretsWith(newRSA()) }

// TrialSecrets are NewSecrets that this process has made, for trying a definition out.
func TrialSecrets() []string { return slices.Clone(trialSecrets()) }

// TrialCertificates has the key with which this process signs what a sender would sign by certificate, whatever the URL.
func TrialCertificates(string) (*rsa.PublicKey, error) { return &trialRSA().PublicKey, nil }

var (
	trialRSA     = sync.OnceValue(newRSA)
	trialSecrets = sync.OnceValue(func() []string { return secretsWith(trialRSA()) })
)

// newRSA and the like never fail: the only error is one of the random numbers, which ends the process.
func newRSA() *rsa.PrivateKey {
	key, _ := rsa.GenerateKey(rand.Reader, minRSABits)
	return key
}

func secretsWith(rsaKey crypto.Signer) []string {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed)
	ecdsaKey, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	text, public := base64.StdEncoding.EncodeToString(seed), ed25519.NewKeyFromSeed(seed)[ed25519.PublicKeySize:]
	all := []string{
		"whsec_" + text, text, hex.EncodeToString(seed),
		privatePrefix + text, "whpk_" + base64.StdEncoding.EncodeToString(public), hex.EncodeToString(public),
	}
	return slices.Concat(all, pairOf(ecdsaKey), pairOf(rsaKey))
}

func pairOf(key crypto.Signer) []string {
	private, err1 := x509.MarshalPKCS8PrivateKey(key)
	public, err2 := x509.MarshalPKIXPublicKey(key.Public())
	if err1 != nil || err2 != nil {
		return nil
	}
	return []string{
		privatePrefix + base64.StdEncoding.EncodeToString(private), base64.StdEncoding.EncodeToString(public),
	}
}
