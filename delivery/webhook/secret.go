package webhook

import (
	"crypto/rand"
	"encoding/base64"

	"holdfast/delivery"
)

// secretBytes is the length of new secrets. Standard Webhooks requires 24 to 64 bytes; 24 need no padding.
const secretBytes = 24

// NewSecret returns a random secret in the form of Standard Webhooks.
func NewSecret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return delivery.SecretPrefix + base64.StdEncoding.EncodeToString(b)
}
