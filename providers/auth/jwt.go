package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"holdfast/providers/definition"
)

// jwtScheme accepts a bearer token that is signed with HS256 and has not expired. The body is not covered.
type jwtScheme struct {
	tokenScheme
	leeway time.Duration
	claims map[string]string
}

func newJWT(p *definition.Problems, field string, d *definition.JWT) scheme {
	p.SecretName(field+".secrets", d.Secrets)
	s := &jwtScheme{tokenScheme: tokenScheme{secretsName: d.Secrets, in: "bearer"}, claims: d.Claims}
	if d.Leeway != nil {
		s.leeway = time.Duration(*d.Leeway)
	}
	return s
}

func (s *jwtScheme) authenticate(k keyring, r *Request, now time.Time) error {
	secrets, err := k.usable(s.secretsName)
	if err != nil {
		return err
	}
	token, err := s.find(r)
	if err != nil {
		return err
	}
	if token == "" {
		return deny(ReasonMissingToken)
	}
	content, sig, ok := cutToken(token)
	if !ok || len(token) > maxToken {
		return deny(ReasonMalformedToken)
	}
	for _, secret := range secrets {
		if hmac.Equal(sig, jwtSum(content, secret)) {
			return s.checkClaims(content, now)
		}
	}
	return deny(ReasonBadToken)
}

// cutToken splits a token into what is signed and the signature. Only HS256 is taken: the token does not choose.
func cutToken(token string) (content string, sig []byte, ok bool) {
	head, rest, ok1 := strings.Cut(token, ".")
	_, tail, ok2 := strings.Cut(rest, ".")
	if !ok1 || !ok2 {
		return "", nil, false
	}
	var header struct {
		Alg string `json:"alg"`
	}
	if !readPart(head, &header) || header.Alg != "HS256" {
		return "", nil, false
	}
	sig, err := base64.RawURLEncoding.Strict().DecodeString(tail)
	return token[:len(token)-len(tail)-1], sig, err == nil
}

func readPart(part string, to any) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(text, to) == nil
}

func jwtSum(content, secret string) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(content))
	return h.Sum(nil)
}

// checkClaims wants an expiry, which must not have passed, and the claims of the definition.
func (s *jwtScheme) checkClaims(content string, now time.Time) error {
	_, payload, _ := strings.Cut(content, ".")
	var claims map[string]any
	if !readPart(payload, &claims) {
		return deny(ReasonMalformedToken)
	}
	expires, ok := claims["exp"].(float64)
	if !ok || now.Add(-s.leeway).Unix() >= int64(expires) {
		return deny(ReasonExpired)
	}
	if notBefore, ok := claims["nbf"].(float64); ok && now.Add(s.leeway).Unix() < int64(notBefore) {
		return deny(ReasonTimestampFromFuture)
	}
	for name, want := range s.claims {
		if got, _ := claims[name].(string); got != want {
			return deny(ReasonBadToken)
		}
	}
	return nil
}

// jwtLife is how long a token of our own making is valid.
const jwtLife = 10 * time.Minute

func (s *jwtScheme) sign(r *Request, secret string, now time.Time) error {
	claims := map[string]any{"iat": now.Unix(), "exp": now.Add(jwtLife).Unix()}
	for name, value := range maps.All(s.claims) {
		claims[name] = value
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return err
	}
	encode := base64.RawURLEncoding.EncodeToString
	content := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(payload)
	r.SetHeader("authorization", "Bearer "+content+"."+encode(jwtSum(content, secret)))
	return nil
}

func (s *jwtScheme) name() string { return "JWT (HS256)" }
