package movein

import (
	"fmt"
	"strings"
	"time"
)

// Signing is a signing secret.
type Signing struct {
	Secret Secret
	// Until is when a replaced secret expires; zero if it isn't replaced.
	Until time.Time
}

// Secret is text that is never printed.
type Secret string

const masked = "[redacted]"

// String masks the secret.
func (Secret) String() string { return masked }

// GoString masks the secret.
func (Secret) GoString() string { return masked }

// MarshalText masks the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// UnmarshalText reads the secret.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)
	return nil
}

// The length of a secret that Holdfast accepts, in bytes.
const minSecret, maxSecret = 16, 512

// useSecrets drops secrets that can't sign.
func (e *Endpoint) useSecrets(all []Signing) {
	if len(all) == 0 {
		e.hold("secret", "it has none: rotate it, and give the new one to the endpoint")
	}
	for _, s := range all {
		if n := len(s.Secret); n < minSecret || n > maxSecret || strings.ContainsAny(string(s.Secret), "\r\n\x00") {
			e.hold("secret", fmt.Sprintf("it has %d bytes, and Holdfast needs one line of %d to %d: rotate it, and give the new one to "+
				"the endpoint", n, minSecret, maxSecret))
			continue
		}
		e.Secrets = append(e.Secrets, s)
	}
}
