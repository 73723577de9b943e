package auth

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/providers/auth/denial"
	"holdfast/providers/auth/jws"
	"holdfast/providers/definition"
)

// detached is the payload of a token that leaves it out (RFC 7515, appendix F), made of parts of the request. Only the content of
// signed is set.
type detached struct{ signed }

// maxNamed is how many headers a token may name. Error messages have their names before anything is verified.
const maxNamed = 20

var isNamed = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`).MatchString

// detachedVariables are the variables of a content that a token without a payload can sign.
var detachedVariables = []string{"", "body", "body_sha256", "method", "path", "header", "query", "named"}

func newDetached(p *definition.Problems, field string, d *definition.JWT) *detached {
	field += ".detached"
	c := newContent(p, field, d.Detached)
	if !c.coversBody() {
		p.Add(field, "want {body} or {body_sha256}: a signature that leaves it out proves nothing of the event")
	}
	for _, part := range c.parts {
		if !slices.Contains(detachedVariables, part.variable) {
			p.Add(field, "can't have {%s}: want {method}, {path}, {header:NAME}, {query:NAME}, {named:FIELD}, {body} and {body_sha256}",
				part.variable)
		}
	}
	if d.Header == "" {
		p.Add(field, "is for a token in a header")
	}
	if d.Payload != "" || d.BodyHash != "" || d.URLHash != "" || d.Audience != "" || d.MaxAge != nil || len(d.Claims) > 0 {
		p.Add(field, "has no claims: remove payload, body_hash, url_hash, audience, max_age and claims")
	}
	return &detached{signed{content: c}}
}

// authenticateDetached accepts a token that signs the request. It first checks all that needs no key, so that strangers can't
// make it fetch keys.
func (s *jwtScheme) authenticateDetached(k keyring, r *Request, token jws.Token, now time.Time) error {
	if s.account != "" {
		secrets, err := k.usable(s.secretsName)
		switch given := r.PathParams[s.account]; {
		case err != nil:
			return err
		case given == "":
			return denial.At(denial.MissingToken, "path variable "+s.account)
		case !anyEqual(secrets, given):
			return denial.At(denial.OtherAccount, "path variable "+s.account)
		}
	}
	payload, err := s.detached.payload(r, token)
	if err != nil {
		return err
	}
	return s.checkSignature(k, token.Attach(payload), now)
}

// payload returns the payload that a token has left out.
func (d *detached) payload(r *Request, token jws.Token) ([]byte, error) {
	if err := d.checkHeaders(r); err != nil {
		return nil, err
	}
	v := signedParts{request: r}
	for _, part := range d.content.parts {
		if part.variable != "named" {
			continue
		}
		lines, err := namedHeaders(r, token.Field(part.of))
		if err != nil {
			return nil, err
		}
		v.named = lines
	}
	return d.content.message(v), nil
}

// namedHeaders returns a line for each header that a token names, under the token's spelling of the name. Each header must be
// there once and be named once: otherwise two requests would have one signature.
func namedHeaders(r *Request, list string) (string, error) {
	if list == "" {
		return "", nil
	}
	names := strings.Split(list, ",")
	if len(names) > maxNamed {
		return "", denial.Of(denial.MalformedToken)
	}
	var lines strings.Builder
	seen := map[string]bool{}
	for _, name := range names {
		lower := strings.ToLower(name)
		switch values := r.Header[lower]; {
		case !isNamed(name) || seen[lower]:
			return "", denial.Of(denial.MalformedToken)
		case len(values) == 0:
			return "", denial.At(denial.MissingID, partOf(lower))
		case len(values) > 1:
			return "", denial.At(denial.AmbiguousHeader, partOf(lower))
		}
		seen[lower] = true
		lines.WriteString(name + ": " + r.Header[lower][0] + "\n")
	}
	return lines.String(), nil
}

func (d *detached) covers() Coverage {
	return Coverage{URL: d.content.has("path"), Headers: d.content.headers(), Query: d.content.queries()}
}

// pathVariable returns the variable of the path with a secret; "" if there is none.
func (s *jwtScheme) pathVariable() string {
	if s.detached == nil {
		return ""
	}
	return s.account
}

// checkAccountPaths requires a path with the variable of a detached token's account. An extension inherits no paths: without one
// it would refuse every request.
func checkAccountPaths(p *definition.Problems, schemes []alternative, paths []Path) {
	for i, one := range schemes {
		s, ok := one.scheme.(*jwtScheme)
		if !ok || s.pathVariable() == "" {
			continue
		}
		segment := "{" + s.account + "}"
		if !slices.ContainsFunc(paths, func(path Path) bool { return slices.Contains(path.segments, segment) }) {
			p.Add(fmt.Sprintf("auth[%d].jwt.account", i), "want a path with %s, such as %sacme/%s", segment, pathPrefix, segment)
		}
	}
}

func (s *jwtScheme) hidden() (headers, query, path []string) {
	headers, query, path = s.tokenScheme.hidden()
	if variable := s.pathVariable(); variable != "" {
		path = append(path, variable)
	}
	return headers, query, path
}

// signDetached signs a request with all its headers.
func (s *jwtScheme) signDetached(r *Request, secret string) error {
	var field string
	for _, part := range s.detached.content.parts {
		if part.variable == "named" {
			field = part.of
		}
	}
	var names []string
	for name := range r.Header {
		if name != s.field && url.Values(r.Header).Get(name) != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	head, err := s.newHead(field, strings.Join(names, ","))
	if err != nil {
		return err
	}
	token, err := jws.ParseDetached(head + "..AA")
	if err != nil {
		return err
	}
	payload, err := s.detached.payload(r, token)
	if err != nil {
		return err
	}
	content := token.Attach(payload).Content
	signature, err := s.signContent(content, secret)
	if err != nil {
		return err
	}
	return s.put(r, head+".."+base64.RawURLEncoding.EncodeToString(signature))
}
