package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdfast/internal/word"
)

// Token is a bearer token without its text: its name, role and the SHA-256 of the text. The text is long and random, so its hash
// needs neither salt nor stretching.
type Token struct {
	Name string
	Role Role
	Hash [sha256.Size]byte
}

// Caller is who makes a request.
type Caller struct {
	Name string
	Role Role
}

// Tokens are the accepted tokens.
type Tokens []Token

// tokenPrefix makes a leaked token recognizable to secret scanners.
const tokenPrefix = "holdfast_"

var tokenName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$`)

// NewToken makes a token of 256 random bits and returns its text, which is shown only once.
func NewToken(name string, role Role) (text string, token Token, err error) {
	if !tokenName.MatchString(name) {
		return "", Token{}, fmt.Errorf("invalid token name %q: use up to 100 letters, digits and . _ @ -", name)
	}
	if !role.isValid() {
		return "", Token{}, fmt.Errorf("unknown role %q: use %s", role, word.Alternatives(Roles()))
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	text = tokenPrefix + base64.RawURLEncoding.EncodeToString(key)
	return text, Token{Name: name, Role: role, Hash: sha256.Sum256([]byte(text))}, nil
}

// String returns the token's entry in the configuration: name:role:sha256.
func (t Token) String() string {
	return t.Name + ":" + string(t.Role) + ":" + hex.EncodeToString(t.Hash[:])
}

// ParseTokens parses entries that are separated by commas or white space. Errors give the position of an entry rather than its
// text, which may be a token by mistake.
func ParseTokens(text string) (Tokens, error) {
	var tokens Tokens
	names := map[string]bool{}
	for i, entry := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		token, err := parseToken(entry)
		if err != nil {
			return nil, fmt.Errorf("read operator token %d: %w", i+1, err)
		}
		if names[token.Name] {
			return nil, fmt.Errorf("read operator token %d: there are two of the name %s", i+1, token.Name)
		}
		names[token.Name] = true
		tokens = append(tokens, token)
	}
	return tokens, nil
}

func parseToken(entry string) (t Token, err error) {
	parts := strings.Split(entry, ":")
	if len(parts) != 3 {
		return t, fmt.Errorf("it is not name:role:sha256, as `holdfast token new` prints it")
	}
	t.Name, t.Role = parts[0], Role(parts[1])
	if !tokenName.MatchString(t.Name) {
		return t, fmt.Errorf("its name is not made of letters, digits and . _ @ -")
	}
	if !t.Role.isValid() {
		return t, fmt.Errorf("its role is none of %s", word.Alternatives(Roles()))
	}
	hash, err := hex.DecodeString(parts[2])
	if err != nil || len(hash) != sha256.Size {
		return t, fmt.Errorf("its hash is not the SHA-256 of a token in hex")
	}
	copy(t.Hash[:], hash)
	return t, nil
}

// Find returns the holder of the token in an Authorization header. It compares every token in constant time.
func (t Tokens) Find(header string) (who Caller, ok bool) {
	scheme, text, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || text == "" {
		return Caller{}, false
	}
	hash := sha256.Sum256([]byte(strings.TrimSpace(text)))
	for _, token := range t {
		if subtle.ConstantTimeCompare(hash[:], token.Hash[:]) == 1 {
			who, ok = Caller{Name: token.Name, Role: token.Role}, true
		}
	}
	return who, ok
}

// Role defines what the holder of a token may do. Each role includes the ones before it.
type Role string

// The roles, from least to most privileged.
const (
	// RoleViewer reads lists, events and entities, with bodies redacted as their definitions require.
	RoleViewer Role = "viewer"
	// RoleOperator also reads raw bodies and the audit log, and replays, edits and discards; it pauses
	// deliveries, sends them again and tries subscriptions.
	RoleOperator Role = "operator"
	// RoleIntegrator also creates and changes destinations and subscriptions, and rotates their secrets.
	RoleIntegrator Role = "integrator"
	// RoleAdmin also deletes, and names the environment variables that hold destinations' secrets.
	RoleAdmin Role = "admin"
)

// Roles returns all roles, from least to most privileged.
func Roles() []Role { return []Role{RoleViewer, RoleOperator, RoleIntegrator, RoleAdmin} }

func (r Role) isValid() bool { return slices.Contains(Roles(), r) }

// Includes reports whether r may do everything that other may. An unknown role includes nothing and is included in nothing.
func (r Role) Includes(other Role) bool {
	return r.isValid() && other.isValid() && slices.Index(Roles(), r) >= slices.Index(Roles(), other)
}
