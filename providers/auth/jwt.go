package auth

import (
	"cmp"
	"crypto"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"holdfast/providers/auth/denial"
	"holdfast/providers/auth/jws"
	"holdfast/providers/auth/urlform"
	"holdfast/providers/definition"
)

// hs256 is the algorithm whose key is a shared secret; all others have public keys.
const hs256 = "HS256"

// jwtScheme accepts an unexpired token that is signed with its one algorithm. The body is covered if a claim has its hash, if the
// token is the body, or if the token leaves out its payload, which has the body.
type jwtScheme struct {
	tokenScheme

	algorithm string
	keys      *publishedKeys // nil, and no chain: the secrets are the keys
	chain     *pinnedChain   // nil: certificates in a token count for nothing
	detached  *detached      // nil: the token has its payload
	// fields are values in the token's header.
	fields map[string]string
	// payload is the dotted path of the token whose payload is the event, "." if that is the body.
	payload           string
	account, audience string
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
		payload: d.Payload, account: d.Account, audience: d.Audience, fields: d.Fields,
	}
	s.algorithm = p.OneOf(field+".algorithm", d.Algorithm, hs256, jws.RS256, jws.ES256, jws.ES512)
	s.hashEncoding = p.OneOf(field+".hash_encoding", d.HashEncoding, "hex", "base64", "base64url")
	s.setPlace(p, field, d)
	s.keys, s.chain = newPublishedKeys(p, field, d), newPinnedChain(p, field, d)
	if d.Account != "" && !s.isShared() {
		p.Add(field+".account", "is for keys and chain: without them the secret is the account's")
	}
	if d.Leeway != nil {
		s.leeway = time.Duration(*d.Leeway)
	}
	if d.MaxAge != nil {
		isBody := s.bodyHash != "" || s.payload != ""
		if s.maxAge = time.Duration(*d.MaxAge); s.maxAge > 24*time.Hour || s.maxAge == 0 && !isBody {
			p.Add(field+".max_age", "use more than 0 and up to 24h, or forever together with body_hash or payload")
		}
		s.timeless = s.maxAge == 0
	}
	if d.Detached != "" {
		s.detached, s.timeless = newDetached(p, field, d), true
	}
	return s
}

// isShared reports whether the sender signs for all its customers with the same keys. Then the secrets are the accounts.
func (s *jwtScheme) isShared() bool { return s.keys != nil || s.chain != nil }

// setPlace sets where the token is. Only one place is allowed.
func (s *jwtScheme) setPlace(p *definition.Problems, field string, d *definition.JWT) {
	given := 0
	for in, place := range map[string]string{"header": d.Header, "place": d.Body, "payload": d.Payload} {
		if place != "" {
			s.in, s.field = in, place
			given++
		}
	}
	if s.in == "header" {
		s.field = p.HeaderName(field+".header", d.Header)
	}
	if given > 1 {
		p.Add(field, "want one of header, body and payload")
	}
	if d.Payload != "" && d.BodyHash != "" {
		p.Add(field+".body_hash", "isn't needed with payload: the token is the body")
	}
}

func (s *jwtScheme) authenticate(k keyring, r *Request, now time.Time) error {
	if err := s.ready(k); err != nil {
		return err
	}
	text, err := s.find(r)
	if err != nil {
		return err
	}
	if text == "" {
		return denial.At(denial.MissingToken, s.part())
	}
	if len(text) > maxToken && s.payload == "" && s.chain == nil {
		return denial.At(denial.MalformedToken, s.part())
	}
	token, err := s.parse(text)
	switch {
	case err != nil || token.Algorithm != s.algorithm:
		return denial.At(denial.MalformedToken, s.part())
	case !s.hasFields(token):
		return denial.At(denial.WrongClaim, s.part())
	case s.detached != nil:
		return s.authenticateDetached(k, r, token, now)
	case s.chain != nil:
		return s.authenticateByChain(k, r, token, now)
	}
	// Claims can take many times the memory of their text: those that are as long as a body are parsed once they are authentic.
	if s.keys == nil || s.payload != "" {
		if err = s.checkSignature(k, token, now); err != nil {
			return err
		}
		return s.checkClaims(k, r, token, now)
	}
	// Otherwise, what needs no key comes first: a stranger's token must not have keys fetched.
	if err = s.checkClaims(k, r, token, now); err != nil {
		return err
	}
	return s.checkSignature(k, token, now)
}

func (s *jwtScheme) parse(text string) (jws.Token, error) {
	if s.detached != nil {
		return jws.ParseDetached(text)
	}
	return jws.Parse(text)
}

func (s *jwtScheme) hasFields(token jws.Token) bool {
	for name, want := range s.fields {
		if token.Field(name) != want {
			return false
		}
	}
	return true
}

func (s *jwtScheme) checkSignature(k keyring, token jws.Token, now time.Time) error {
	if s.algorithm == hs256 {
		secrets, err := k.usable(s.secretsName)
		if err != nil {
			return err
		}
		for _, secret := range secrets {
			if hmac.Equal(token.Signature, jwtSum(token.Content, secret)) {
				return nil
			}
		}
		return denial.At(denial.BadToken, s.part())
	}
	keys, err := s.publicKeys(k, token, now)
	switch isSigner := func(key crypto.PublicKey) bool { return token.Verify(s.algorithm, key) }; {
	case slices.ContainsFunc(keys, isSigner):
		return nil
	case err != nil:
		return asDenial(err, denial.NoKeys, s.part())
	}
	return denial.At(denial.BadToken, s.part())
}

func jwtSum(content, secret string) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(content))
	return h.Sum(nil)
}

// ready also requires the values with which the claims are compared.
func (s *jwtScheme) ready(k keyring) error {
	if s.isShared() {
		return s.readyForAccounts(k)
	}
	_, err := k.usable(s.secretsName)
	if err == nil && s.algorithm != hs256 {
		_, err = s.ownKeys(k)
	}
	return cmp.Or(err, s.checkAudience(k))
}

func (s *jwtScheme) checkAudience(k keyring) error {
	if s.audience == "" {
		return nil
	}
	_, err := k.values(s.audience)
	return err
}

// checkClaims requires an unexpired time, the claims of the definition, and matching hashes.
func (s *jwtScheme) checkClaims(k keyring, r *Request, token jws.Token, now time.Time) error {
	claims, ok := jws.ParseClaims(token.Payload)
	if !ok {
		return denial.At(denial.MalformedToken, s.part())
	}
	if err := s.checkTime(claims, now); err != nil {
		return err
	}
	if s.account != "" {
		accounts, err := k.values(s.secretsName)
		if isOurs := func(one string) bool { return claims.Is(s.account, one) }; err != nil || !slices.ContainsFunc(accounts, isOurs) {
			return denial.At(denial.OtherAccount, s.part())
		}
	}
	for name, want := range s.claims {
		if !claims.Is(name, want) {
			return denial.At(denial.WrongClaim, s.part())
		}
	}
	if s.audience != "" {
		if audiences, err := k.values(s.audience); err != nil || !claims.IsFor(audiences) {
			return denial.At(denial.WrongClaim, s.part())
		}
	}
	return s.checkHashes(r, claims)
}

func (s *jwtScheme) checkTime(claims jws.Claims, now time.Time) error {
	expires, ok := claims.Time("exp")
	if issued, isIssued := claims.Time("iat"); !ok && isIssued && s.maxAge > 0 {
		if issued.After(now.Add(s.leeway)) {
			return s.denyTime(denial.TimestampFromFuture, issued, now)
		}
		expires, ok = issued.Add(s.maxAge), true
	}
	switch {
	case s.timeless && claims["iat"] == nil && claims["exp"] == nil:
		return nil
	case !ok:
		return denial.At(denial.Expired, s.part())
	case !now.Add(-s.leeway).Before(expires):
		return s.denyTime(denial.Expired, expires, now)
	}
	if notBefore, ok := claims.Time("nbf"); ok && now.Add(s.leeway).Before(notBefore) {
		return s.denyTime(denial.TimestampFromFuture, notBefore, now)
	}
	return nil
}

// checkHashes requires the hashes of URL and body if the definition names their claims. Without a body its hash must be absent.
func (s *jwtScheme) checkHashes(r *Request, claims jws.Claims) error {
	isHashed := func(url string) bool { return s.isHash(claims[s.urlHash], []byte(url)) }
	if s.urlHash != "" && !slices.ContainsFunc(urlform.Of(r.URL), isHashed) {
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
	if s.detached != nil {
		return s.detached.covers()
	}
	if s.bodyHash == "" && s.payload == "" {
		return Coverage{All: true}
	}
	return Coverage{URL: s.urlHash != ""}
}

// denyTime reports how far a time in the token is behind ours.
func (s *jwtScheme) denyTime(why denial.Reason, at, now time.Time) error {
	skew := now.Sub(at)
	return &denial.Error{Reason: why, Part: s.part(), Skew: &skew, Tolerance: s.leeway}
}

func (s *jwtScheme) name() string {
	kind := "JWT (" + s.algorithm + ")"
	switch {
	case s.detached != nil:
		kind = "detached JWS (" + s.algorithm + ")"
	case s.chain != nil:
		kind += ", certificates"
	}
	if s.keys != nil {
		kind += ", keys of " + s.keys.host()
	}
	return kind
}

// unsignedHeader is {"alg":"none"}.
const unsignedHeader = "eyJhbGciOiJub25lIn0"

// Enclose puts the event of an unsigned sample into an unsigned token, if the definition reads events from tokens. Signing
// replaces it.
func (a *Authenticator) Enclose(r *Request) {
	for _, one := range a.schemes {
		s, ok := one.scheme.(*jwtScheme)
		if !ok || s.payload == "" {
			continue
		}
		r.decoders = a.decoders
		if claims, err := r.objectAt(s.payload); err == nil {
			for _, path := range r.nestedTokens() {
				if object, ok := objectIn(claims, path); ok {
					setIn(claims, path, unsigned(object))
				}
			}
			_ = s.put(r, unsigned(claims)) // it is where the object was
		}
	}
}

// unsigned returns a token without a signature; "" if the claims aren't JSON.
func unsigned(claims map[string]any) string {
	payload, err := json.Marshal(claims)
	if err != nil { // decoded JSON can always be encoded
		return ""
	}
	return unsignedHeader + "." + base64.RawURLEncoding.EncodeToString(payload) + "."
}

// sealNested signs a token within the payload of another one. A sample may have the object in place of the token.
func (s *jwtScheme) sealNested(claims map[string]any, path []string, secret string) error {
	object, ok := objectIn(claims, path)
	if !ok {
		return nil
	}
	if s.chain != nil && s.chain.signedAt != "" {
		object[s.chain.signedAt] = claims[s.chain.signedAt]
	}
	token, err := s.seal(object, secret)
	setIn(claims, path, token)
	return err
}

// nestedTokens returns where the definition reads further tokens in the payload of a token.
func (r *Request) nestedTokens() [][]string {
	if r.decoders == nil {
		return nil
	}
	return r.decoders.NestedTokens()
}

// objectIn returns the object at a path, or the payload of the token there.
func objectIn(tree map[string]any, path []string) (map[string]any, bool) {
	var at any = tree
	for _, name := range path {
		fields, _ := at.(map[string]any)
		at = fields[name]
	}
	if text, ok := at.(string); ok {
		payload, err := jws.Payload(text)
		claims, ok := jws.ParseClaims(payload)
		return claims, err == nil && ok
	}
	object, ok := at.(map[string]any)
	return object, ok
}
