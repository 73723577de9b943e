package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"holdfast/providers/auth/denial"
	"holdfast/providers/auth/jws"
	"holdfast/providers/decode"
)

// Sign makes r authentic with this secret, by the first of the definition's schemes that can use it: it adds the signature
// headers, or a token instead. A token in the path or the query, and the hash of a body that only the URL covers, also change
// r.Path, r.Query and r.URL. The error is a *denial.Error if no scheme can.
func (a *Authenticator) Sign(r *Request, secret string, now time.Time) error {
	return a.SignWithAll(r, []string{secret}, now)
}

// SignWithAll is Sign during a rotation: a header with room for several signatures gets one for each secret, any other one that
// of the first.
func (a *Authenticator) SignWithAll(r *Request, secrets []string, now time.Time) error {
	err := denial.Of(denial.NoSecret)
	if len(secrets) == 0 {
		return err
	}
	for _, s := range a.schemes {
		if err = a.signWith(s, r, secrets, now); err == nil {
			return nil
		}
	}
	return err
}

// SignWithSecrets is Sign with the provider's own secrets: each scheme is tried with the ones it names. A definition that
// accepts addresses needs nothing added. Placeholders are used, too: refusing them is up to the endpoint.
func (a *Authenticator) SignWithSecrets(r *Request, now time.Time) error {
	err := denial.Of(denial.NoSecret)
	for _, s := range a.schemes {
		if s, ok := s.scheme.(*addressScheme); ok && len(s.networks(a.keyring)) > 0 {
			return nil
		}
		if s, ok := s.scheme.(queuedScheme); ok {
			return s.sign(r, nil, now)
		}
		for _, secret := range a.raw(s.reference()) {
			if err = a.signWith(s, r, []string{secret}, now); err == nil {
				return nil
			}
		}
	}
	return err
}

func (a *Authenticator) signWith(s alternative, r *Request, secrets []string, now time.Time) error {
	r.decoders = a.decoders
	if variable := pathVariableOf(s.scheme); variable != "" { // first: the path may be signed
		if r.PathParams == nil {
			r.PathParams = map[string]string{}
		}
		r.PathParams[variable] = secrets[0]
		r.setPath(a.pathWith(r.Path, variable, r.PathParams))
	}
	if err := s.sign(r, secrets, now); err != nil {
		return err
	}
	s.when.announce(r)
	return nil
}

// pathVariableOf returns the variable of the path with a scheme's secret; "" if there is none.
func pathVariableOf(s scheme) string {
	one, ok := s.(interface{ pathVariable() string })
	if !ok {
		return ""
	}
	return one.pathVariable()
}

// hasPath reports whether the path is one of the provider's.
func (a *Authenticator) hasPath(requestPath string) bool {
	segments := strings.Split(strings.Trim(requestPath, "/"), "/")
	return slices.ContainsFunc(a.paths, func(one Path) bool {
		_, ok := one.Match(segments)
		return ok
	})
}

// pathWith fills the first path that has the variable; others without a value get their own name. A path of another system gets
// the token as its last segment.
func (a *Authenticator) pathWith(requestPath, variable string, params map[string]string) string {
	if requestPath != "" && !a.hasPath(requestPath) {
		return strings.TrimSuffix(requestPath, "/") + "/" + url.PathEscape(params[variable])
	}
	for _, candidate := range a.paths {
		found := false
		segments := make([]string, len(candidate.segments))
		for i, s := range candidate.segments {
			name, isVariable := variableOf(s)
			found = found || isVariable && name == variable
			switch value := params[name]; {
			case !isVariable:
				segments[i] = s
			case value == "":
				segments[i] = name
			default:
				segments[i] = url.PathEscape(value)
			}
		}
		if found {
			return "/" + strings.Join(segments, "/")
		}
	}
	return a.paths[0].Template
}

// setPath changes the path in r.Path and r.URL.
func (r *Request) setPath(path string) {
	r.Path = path
	if u, err := url.Parse(r.URL); err == nil && r.URL != "" {
		u.RawPath = path
		u.Path, _ = url.PathUnescape(path)
		r.URL = u.String()
	}
}

// setQuery changes a query parameter in r.Query and r.URL.
func (r *Request) setQuery(name, value string) {
	if r.Query == nil {
		r.Query = map[string][]string{}
	}
	r.Query[name] = []string{value}
	if u, err := url.Parse(r.URL); err == nil && r.URL != "" {
		query := u.Query()
		query.Set(name, value)
		u.RawQuery = query.Encode()
		r.URL = u.String()
	}
}

// setBody rewrites the body with a text at a dotted path, or in a field of a form.
func (r *Request) setBody(path, value string) (err error) {
	if decode.IsMultipart(r.Body) {
		r.Body, err = decode.SetMultipart(r.Body, path, func(text []byte, within string) ([]byte, error) {
			inside := Request{Body: text}
			err := inside.setBody(within, value)
			return inside.Body, err
		}, value)
		return err
	}
	if isForm(r) {
		fields, err := url.ParseQuery(string(r.Body))
		fields.Set(path, value)
		r.Body = []byte(fields.Encode())
		return err
	}
	tree, err := decode.JSON(r.Body)
	if err != nil || !setIn(tree, strings.Split(path, "."), value) {
		return denial.Of(denial.MalformedToken)
	}
	r.Body, err = json.Marshal(tree)
	return err
}

// setEach sets a text in each object of a list.
func (r *Request) setEach(list, field, value string) error {
	tree, err := decode.JSON(r.Body)
	fields, _ := tree.(map[string]any)
	elements, ok := fields[list].([]any)
	for _, element := range elements {
		object, isObject := element.(map[string]any)
		if ok = ok && isObject; ok {
			object[field] = value
		}
	}
	if err != nil || !ok {
		return denial.Of(denial.MalformedToken)
	}
	r.Body, err = json.Marshal(tree)
	return err
}

// setIn sets a text at a path whose objects exist.
func setIn(tree any, path []string, value string) bool {
	switch at := tree.(type) {
	case map[string]any:
		if len(path) == 1 {
			at[path[0]] = value
			return true
		}
		return setIn(at[path[0]], path[1:], value)
	case []any:
		if path[0] != "0" || len(at) != 1 {
			return false
		}
		if len(path) == 1 {
			at[0] = value
			return true
		}
		return setIn(at[0], path[1:], value)
	}
	return false
}

// declareBody puts the hash of a body that {params} doesn't cover into the query, which the URL covers.
func (c content) declareBody(r *Request) {
	if c.bodyHash == "" || len(r.Body) == 0 || isForm(r) {
		return
	}
	sum := sha256.Sum256(r.Body)
	r.setQuery(c.bodyHash, hex.EncodeToString(sum[:]))
}

// jwtLife is how long a token that we sign is valid.
const jwtLife = 10 * time.Minute

func (s *jwtScheme) sign(r *Request, secrets []string, now time.Time) error {
	if s.detached != nil {
		return s.signDetached(r, secrets[0])
	}
	claims, err := s.newClaims(r, secrets[0], now)
	if err != nil {
		return err
	}
	for _, path := range r.nestedTokens() {
		if err = s.sealNested(claims, path, secrets[0]); err != nil {
			return err
		}
	}
	token, err := s.seal(claims, secrets[0])
	if err != nil {
		return err
	}
	return s.put(r, token)
}

// seal returns a token with claims.
func (s *jwtScheme) seal(claims map[string]any, secret string) (string, error) {
	head, err := s.newHead("typ", "JWT")
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	content := head + "." + base64.RawURLEncoding.EncodeToString(payload)
	signature, err := s.signContent(content, secret)
	if err != nil {
		return "", err
	}
	return content + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// newHead returns the encoded header of a token that we sign, with one more field.
func (s *jwtScheme) newHead(name, value string) (string, error) {
	fields := map[string]any{"alg": s.algorithm, "kid": trialKeyID}
	for name, value := range s.fields {
		fields[name] = value
	}
	if name != "" {
		fields[name] = value
	}
	if s.chain != nil {
		root, err := trialRoot()
		if err != nil {
			return "", err
		}
		if fields["x5c"], err = root.Issue(trialSigner(s.algorithm).Public(), s.chain.trust); err != nil {
			return "", err
		}
	}
	head, err := json.Marshal(fields)
	return base64.RawURLEncoding.EncodeToString(head), err
}

// newClaims returns those that the scheme requires. If the token is the event, they come in addition to the event's fields.
func (s *jwtScheme) newClaims(r *Request, secret string, now time.Time) (claims jws.Claims, err error) {
	claims = jws.Claims{}
	if s.payload != "" {
		if claims, err = r.objectAt(s.payload); err != nil {
			return nil, err
		}
	}
	if !s.timeless {
		claims["iat"], claims["exp"] = now.Unix(), now.Add(jwtLife).Unix()
	}
	for name, value := range s.claims {
		if !setIn(map[string]any(claims), strings.Split(name, "."), value) {
			claims[name] = value
		}
	}
	if s.account != "" && !setIn(map[string]any(claims), strings.Split(s.account, "."), secret) {
		return nil, denial.Of(denial.OtherAccount)
	}
	if s.chain != nil && s.chain.signedAt != "" {
		claims[s.chain.signedAt] = now.UnixMilli()
	}
	if s.audience != "" {
		claims["aud"] = secret
	}
	if s.bodyHash != "" {
		claims[s.bodyHash] = s.hash(r.Body)
	}
	if s.urlHash != "" {
		claims[s.urlHash] = s.hash([]byte(r.URL))
	}
	return claims, nil
}

func (s *jwtScheme) signContent(content, secret string) ([]byte, error) {
	if s.algorithm == hs256 {
		return jwtSum(content, secret), nil
	}
	key := trialSigner(s.algorithm)
	if !s.isShared() {
		var ok bool
		if key, ok = privateSigner(secret); !ok {
			return nil, denial.Of(denial.UnusableSecret)
		}
	}
	signature, err := jws.Sign(s.algorithm, key, content)
	if err != nil {
		return nil, denial.Of(denial.UnusableSecret)
	}
	return signature, nil
}

// put adds a token to a request.
func (s *jwtScheme) put(r *Request, token string) error {
	switch s.in {
	case "header":
		r.SetHeader(s.field, token)
	case "place":
		return r.setBody(s.field, token)
	case "payload":
		if s.payload == "." {
			r.Body = []byte(token)
			return nil
		}
		return r.setBody(s.payload, token)
	default:
		r.SetHeader("authorization", "Bearer "+token)
	}
	return nil
}
