package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// jwtScheme accepts an unexpired token signed with HS256. The body is covered if a claim has its hash.
type jwtScheme struct {
	tokenScheme
	leeway, maxAge    time.Duration
	claims            map[string]string
	bodyHash, urlHash string
	hashEncoding      string
	timeless          bool // a token without any time never expires, for this one body
}

func newJWT(p *definition.Problems, field string, d *definition.JWT) scheme {
	p.SecretName(field+".secrets", d.Secrets)
	s := &jwtScheme{
		tokenScheme: tokenScheme{secretsName: d.Secrets, in: "bearer"}, claims: d.Claims, bodyHash: d.BodyHash, urlHash: d.URLHash,
	}
	s.hashEncoding = p.OneOf(field+".hash_encoding", d.HashEncoding, "hex", "base64", "base64url")
	if d.Header != "" {
		s.in, s.field = "header", p.HeaderName(field+".header", d.Header)
	}
	if d.Leeway != nil {
		s.leeway = time.Duration(*d.Leeway)
	}
	if d.MaxAge != nil {
		if s.maxAge = time.Duration(*d.MaxAge); s.maxAge > 24*time.Hour || s.maxAge == 0 && s.bodyHash == "" {
			p.Add(field+".max_age", "use more than 0 and up to 24h, or forever together with body_hash")
		}
		s.timeless = s.maxAge == 0
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
		return denial.At(denial.MissingToken, s.part())
	}
	content, sig, ok := cutToken(token)
	if !ok || len(token) > maxToken {
		return denial.At(denial.MalformedToken, s.part())
	}
	for _, secret := range secrets {
		if hmac.Equal(sig, jwtSum(content, secret)) {
			return s.checkClaims(r, content, now)
		}
	}
	return denial.At(denial.BadToken, s.part())
}

// cutToken splits a token into signed content and signature. Only HS256 is accepted: the token can't choose the algorithm.
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

// checkClaims requires an unexpired time, the claims of the definition, and matching hashes.
func (s *jwtScheme) checkClaims(r *Request, content string, now time.Time) error {
	_, payload, _ := strings.Cut(content, ".")
	var claims map[string]any
	if !readPart(payload, &claims) {
		return denial.At(denial.MalformedToken, s.part())
	}
	if err := s.checkTime(claims, now); err != nil {
		return err
	}
	for name, want := range s.claims {
		if got, _ := claims[name].(string); got != want {
			return denial.At(denial.WrongClaim, s.part())
		}
	}
	return s.checkHashes(r, claims)
}

func (s *jwtScheme) checkTime(claims map[string]any, now time.Time) error {
	expires, ok := claims["exp"].(float64)
	if issued, isThere := claims["iat"].(float64); !ok && isThere && s.maxAge > 0 {
		if issued > float64(now.Add(s.maxAge).Unix()) {
			return s.denyTime(denial.TimestampFromFuture, issued, now)
		}
		expires, ok = issued+s.maxAge.Seconds(), true
	}
	switch _, issued := claims["iat"]; {
	case !ok && s.timeless && !issued:
		return nil
	case !ok:
		return denial.At(denial.Expired, s.part())
	}
	if now.Add(-s.leeway).Unix() >= int64(expires) {
		return s.denyTime(denial.Expired, expires, now)
	}
	if notBefore, ok := claims["nbf"].(float64); ok && now.Add(s.leeway).Unix() < int64(notBefore) {
		return s.denyTime(denial.TimestampFromFuture, notBefore, now)
	}
	return nil
}

// checkHashes requires the hashes of URL and body if the definition names their claims. Without a body its hash must be absent.
func (s *jwtScheme) checkHashes(r *Request, claims map[string]any) error {
	isHashed := func(url string) bool { return s.isHash(claims[s.urlHash], []byte(url)) }
	if s.urlHash != "" && !slices.ContainsFunc(urlsOf(r.URL), isHashed) {
		return denial.At(denial.BadSignature, s.part())
	}
	if s.bodyHash == "" {
		return nil
	}
	if _, ok := claims[s.bodyHash].(string); (ok || len(r.Body) > 0) && !s.isHash(claims[s.bodyHash], r.Body) {
		return denial.At(denial.BadSignature, s.part())
	}
	return nil
}

// isHash reports whether a claim is the hash of the data. Base64 may be padded or not.
func (s *jwtScheme) isHash(claim any, data []byte) bool {
	text, ok := claim.(string)
	if s.hashEncoding == "hex" {
		return ok && text == s.hash(data)
	}
	return ok && strings.TrimRight(text, "=") == strings.TrimRight(s.hash(data), "=")
}

func (s *jwtScheme) hash(data []byte) string {
	sum := sha256.Sum256(data)
	switch s.hashEncoding {
	case "base64":
		return base64.StdEncoding.EncodeToString(sum[:])
	case "base64url":
		return base64.URLEncoding.EncodeToString(sum[:])
	}
	return hex.EncodeToString(sum[:])
}

func (s *jwtScheme) covers() Coverage {
	if s.bodyHash == "" {
		return Coverage{All: true}
	}
	return Coverage{URL: s.urlHash != ""}
}

// denyTime reports how far a time in the token, in unix seconds, is behind ours.
func (s *jwtScheme) denyTime(why denial.Reason, at float64, now time.Time) error {
	skew := now.Sub(time.Unix(int64(at), 0))
	return &denial.Error{Reason: why, Part: s.part(), Skew: &skew, Tolerance: s.leeway}
}

// jwtLife is how long a token that we sign is valid.
const jwtLife = 10 * time.Minute

func (s *jwtScheme) sign(r *Request, secrets []string, now time.Time) error {
	claims := map[string]any{"iat": now.Unix(), "exp": now.Add(jwtLife).Unix()}
	for name, value := range maps.All(s.claims) {
		claims[name] = value
	}
	if s.bodyHash != "" {
		claims[s.bodyHash] = s.hash(r.Body)
	}
	if s.urlHash != "" {
		claims[s.urlHash] = s.hash([]byte(r.URL))
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return err
	}
	encode := base64.RawURLEncoding.EncodeToString
	content := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(payload)
	token := content + "." + encode(jwtSum(content, secrets[0]))
	if s.in == "header" {
		r.SetHeader(s.field, token)
		return nil
	}
	r.SetHeader("authorization", "Bearer "+token)
	return nil
}

func (s *jwtScheme) name() string { return "JWT (HS256)" }
