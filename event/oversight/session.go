package oversight

import "time"

// Session is somebody's stay at the console, from login to logout. What its holder may do is not in it: each request asks what
// the token may do now.
type Session struct {
	// ID is the SHA-256 of the secret in the browser's cookie.
	ID []byte
	// Token is the name of the token that it was exchanged for, and Fingerprint tells that from others of the same name.
	Token       string
	Fingerprint []byte
	ExpiresAt   time.Time
}
