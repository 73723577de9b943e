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

// secretLength is that of a secret as text, in bytes: 256 random bits.
const secretLength = 43

func newSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return base64.RawURLEncoding.EncodeToString(key)
}

// Open makes a session of the holder of the token of that name, and the secret that its browser keeps. It is false where there is
// no such token.
func (t Tokens) Open(name string, until time.Time) (secret string, s oversight.Session, ok bool) {
	token, ok := t.named(name)
	if !ok {
		return "", s, false
	}
	secret = newSecret()
	id, _ := SessionID(secret)
	return secret, oversight.Session{ID: id, Token: name, Fingerprint: token.fingerprint(), ExpiresAt: until}, true
}

// SessionID is that of the session with a secret. It is false for what is none.
func SessionID(secret string) (id []byte, ok bool) {
	if len(secret) != secretLength {
		return nil, false
	}
	sum := sha256.Sum256([]byte(secret))
	return sum[:], true
}

// Holder is who holds a session now: nobody, if the token that it was exchanged for is gone, or is another one.
func (t Tokens) Holder(s oversight.Session, now time.Time) (who Caller, ok bool) {
	token, ok := t.named(s.Token)
	if !ok || !hmac.Equal(token.fingerprint(), s.Fingerprint) || !now.Before(s.ExpiresAt) {
		return Caller{}, false
	}
	return Caller{Name: token.Name, Role: token.Role}, true
}

// ProofOf is what a page of the session with a secret sends along with what it changes; a page of another site cannot know it. ""
// where there is none.
func ProofOf(secret string) string {
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

// fingerprint tells the token from others of its name, to those who may not see its hash.
func (t Token) fingerprint() []byte {
	sum := sha256.Sum256(append([]byte("holdfast session\x00"), t.Hash[:]...))
	return sum[:]
}
