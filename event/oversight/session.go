package oversight

import "time"

// Session is a console session, from login to logout. It contains no permissions: each request checks the token.
type Session struct {
	// ID is the SHA-256 of the secret in the cookie.
	ID []byte
	// Token is the name of the token, and Fingerprint distinguishes tokens of the same name.
	Token       string
	Fingerprint []byte
	ExpiresAt   time.Time
}
