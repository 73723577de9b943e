package jws

import (
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
)

// ParsePublic parses a public key as senders show it: a PEM block, also with its line ends written as \n, or its base64 alone on
// one line.
func ParsePublic(text string) (crypto.PublicKey, bool) {
	der, ok := PublicDER(text)
	if !ok {
		return nil, false
	}
	key, err := x509.ParsePKIXPublicKey(der)
	return key, err == nil
}

// IsPEM reports whether a text is meant as a PEM block.
func IsPEM(text string) bool { return strings.Contains(text, "-----BEGIN") }

// PublicDER returns the bytes of a public key in a text; see ParsePublic.
func PublicDER(text string) ([]byte, bool) {
	if !IsPEM(text) {
		der, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(text), "="))
		return der, err == nil
	}
	block, _ := pem.Decode([]byte(strings.ReplaceAll(text, `\n`, "\n")))
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, false
	}
	return block.Bytes, true
}
