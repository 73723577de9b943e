package auth

import (
	"encoding/base64"
	"strings"
	"time"

	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// basicScheme is a token in the form of HTTP basic authentication.
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
