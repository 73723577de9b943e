package webhook

import (
	"crypto/rand"
	"encoding/base64"

	"holdfast/delivery"
)

// secretBytes is how much chance a secret has. Standard Webhooks wants 24 to 64 bytes; 24 need no padding.
const secretBytes = 24

// NewSecret makes a secret of Standard Webhooks: its prefix, and base64.
func NewSecret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // it never fails
	return delivery.SecretPrefix + base64.StdEncoding.EncodeToString(b)
}
