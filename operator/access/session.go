package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"holdfast/event/oversight"
)

// secretLength is the length of a secret's text in bytes: 256 random bits.
const secretLength = 43

func newSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return base64.RawURLEncoding.EncodeToString(key)
}

// Open creates a session for the holder of the named token, and the secret that the browser keeps. ok is false if there is no
// such token.
func (t Tokens) Open(name string, until time.Time) (secret string, s oversight.Session, ok bool) {
	token, ok := t.named(name)
	if !ok {
		return "", s, false
	}
	secret = newSecret()
	id, _ := SessionID(secret)
	return secret, oversight.Session{ID: id, Token: name, Fingerprint: token.fingerprint(), ExpiresAt: until}, true
}

// SessionID derives the ID of a session from its secret. ok is false for malformed text.
func SessionID(secret string) (id []byte, ok bool) {
	if len(secret) != secretLength {
		return nil, false
	}
	sum := sha256.Sum256([]byte(secret))
	return sum[:], true
}

// Holder returns the holder of a session. ok is false if the token that opened it was removed or replaced.
func (t Tokens) Holder(s oversight.Session, now time.Time) (who Caller, ok bool) {
	token, ok := t.named(s.Token)
	if !ok || !hmac.Equal(token.fingerprint(), s.Fingerprint) || !now.Before(s.ExpiresAt) {
		return Caller{}, false
	}
	return Caller{Name: token.Name, Role: token.Role}, true
}

// CSRFToken returns what pages of a session send with each change; other sites can't compute it. It is "" without a session.
func CSRFToken(secret string) string {
	if _, ok := SessionID(secret); !ok {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("holdfast proof"))
	return hex.EncodeToString(mac.Sum(nil))
}

func (t Tokens) named(name string) (Token, bool) {
	for _, token := range t {
		if token.Name == name {
			return token, true
		}
	}
	return Token{}, false
}

// fingerprint distinguishes the token from others of the same name without revealing its hash.
func (t Token) fingerprint() []byte {
	sum := sha256.Sum256(append([]byte("holdfast session\x00"), t.Hash[:]...))
	return sum[:]
}
