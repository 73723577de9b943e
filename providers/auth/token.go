package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"strings"
	"time"

	"holdfast/providers/auth/denial"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
)

// maxToken is in bytes.
const maxToken = 4096

// tokenScheme accepts a request that contains a secret verbatim.
type tokenScheme struct {
	secretsName string
	in, field   string
}

func newToken(p *definition.Problems, field string, d *definition.Token) scheme {
	p.SecretName(field+".secrets", d.Secrets)
	s := &tokenScheme{secretsName: d.Secrets}
	s.in = p.OneOf(field+".in", d.In, "header", "bearer", "query", "path", "body")
	switch s.field = d.Name; s.in {
	case "header":
		s.field = p.HeaderName(field+".name", d.Name)
	case "bearer":
		if d.Name != "" {
			p.Add(field+".name", "has no meaning here: a bearer token is in the authorization header")
		}
	default:
		p.Required(field+".name", d.Name)
	}
	return s
}

// find returns the request's token; "" if it has none.
func (s *tokenScheme) find(r *Request) (string, error) {
	switch s.in {
	case "bearer":
		value, err := r.header("authorization")
		token, ok := cutScheme(value, "bearer")
		if err == nil && value != "" && !ok {
			err = denial.At(denial.MalformedToken, s.part())
		}
		return token, err
	case "query":
		if len(r.Query[s.field]) > 1 {
			return "", denial.At(denial.MalformedToken, s.part())
		}
		return url.Values(r.Query).Get(s.field), nil
	case "path":
		return r.PathParams[s.field], nil
	case "body":
		token, err := decode.TextField(r.Body, s.field)
		if err != nil {
			return "", denial.At(denial.MalformedToken, s.part())
		}
		return token, nil
	case "place":
		return r.textAt(s.field)
	case "payload":
		return r.payloadAt(s.field)
	}
	return r.header(s.field)
}

// part names the place of the token.
func (s *tokenScheme) part() string {
	switch s.in {
	case "bearer":
		return partOf("authorization")
	case "query":
		return "query parameter " + s.field
	case "path":
		return "path variable " + s.field
	case "payload":
		if s.field == "." {
			return "body"
		}
		return partOfBody(s.field)
	case "body", "place":
		return partOfBody(s.field)
	}
	return partOf(s.field)
}

// cutScheme returns what follows the case-insensitive name of an HTTP authentication scheme.
func cutScheme(value, name string) (string, bool) {
	scheme, rest, ok := strings.Cut(value, " ")
	return strings.TrimSpace(rest), ok && strings.EqualFold(scheme, name)
}

func (s *tokenScheme) authenticate(k keyring, r *Request, _ time.Time) error {
	secrets, err := k.usable(s.secretsName)
	if err != nil {
		return err
	}
	tokens, err := s.findAll(r)
	if err != nil {
		return err
	}
	for _, token := range tokens {
		switch {
		case token == "":
			return denial.At(denial.MissingToken, s.part())
		case len(token) > maxToken || !anyEqual(secrets, token):
			return denial.At(denial.BadToken, s.part())
		}
	}
	return nil
}

// findAll returns the request's token, or that of each element of a list: at least one, which may be "".
func (s *tokenScheme) findAll(r *Request) ([]string, error) {
	list, field, isEach := s.each()
	if !isEach {
		token, err := s.find(r)
		return []string{token}, err
	}
	tokens, err := decode.TextOfEach(r.Body, list, field)
	switch {
	case err != nil:
		return nil, denial.At(denial.MalformedToken, s.part())
	case len(tokens) == 0:
		return nil, denial.At(denial.MissingToken, s.part())
	}
	return tokens, nil
}

// each returns the list and the field of LIST[].FIELD.
func (s *tokenScheme) each() (list, field string, ok bool) {
	if s.in != "body" {
		return "", "", false
	}
	return strings.Cut(s.field, "[].")
}

// anyEqual compares in a time that reveals neither content nor length.
func anyEqual(secrets []string, token string) bool {
	got, equal := sha256.Sum256([]byte(token)), 0
	for _, secret := range secrets {
		want := sha256.Sum256([]byte(secret))
		equal |= subtle.ConstantTimeCompare(want[:], got[:])
	}
	return equal == 1
}

func (s *tokenScheme) ready(k keyring) error {
	_, err := k.usable(s.secretsName)
	return err
}

func (s *tokenScheme) reference() string { return s.secretsName }
func (s *tokenScheme) covers() Coverage  { return Coverage{All: true} }

func (s *tokenScheme) hidden() (headers, query, path []string) {
	switch s.in {
	case "header":
		return []string{s.field}, nil, nil
	case "query":
		return nil, []string{s.field}, nil
	case "path":
		return nil, nil, []string{s.field}
	}
	return nil, nil, nil
}

func (s *tokenScheme) sign(r *Request, secrets []string, _ time.Time) error {
	secret := secrets[0]
	switch s.in {
	case "bearer":
		r.SetHeader("authorization", "Bearer "+secret)
	case "query":
		r.setQuery(s.field, secret)
	case "path": // it is there already
	case "body":
		if list, field, isEach := s.each(); isEach {
			return r.setEach(list, field, secret)
		}
		return r.setBody(s.field, secret)
	default:
		r.SetHeader(s.field, secret)
	}
	return nil
}

// pathVariable returns the variable of the path with the secret; "" if it is elsewhere.
func (s *tokenScheme) pathVariable() string {
	if s.in != "path" {
		return ""
	}
	return s.field
}

func (s *tokenScheme) name() string { return strings.TrimSpace("token in " + s.in + " " + s.field) }

type basicScheme struct {
	tokenScheme
	user string
}

func newBasic(p *definition.Problems, field string, d *definition.Basic) scheme {
	p.SecretName(field+".secrets", d.Secrets)
	p.Required(field+".user", d.User)
	return &basicScheme{tokenScheme{secretsName: d.Secrets, in: "bearer"}, d.User}
}

func (s *basicScheme) authenticate(k keyring, r *Request, _ time.Time) error {
	secrets, err := k.usable(s.secretsName)
	if err != nil {
		return err
	}
	value, err := r.header("authorization")
	if err != nil {
		return err
	}
	if value == "" {
		return denial.At(denial.MissingToken, s.part())
	}
	encoded, ok := cutScheme(value, "basic")
	text, err := base64.StdEncoding.DecodeString(encoded)
	user, password, found := strings.Cut(string(text), ":")
	switch {
	case !ok || err != nil || !found || password == "" || len(password) > maxToken:
		return denial.At(denial.MalformedToken, s.part())
	case !anyEqual([]string{s.user}, user) || !anyEqual(secrets, password):
		return denial.At(denial.BadToken, s.part())
	}
	return nil
}

func (s *basicScheme) sign(r *Request, secrets []string, _ time.Time) error {
	r.SetHeader("authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(s.user+":"+secrets[0])))
	return nil
}

func (s *basicScheme) name() string { return "basic, user " + s.user }
