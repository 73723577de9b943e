package recovery

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

// access is how a provider's API is called: its host and the credential.
type access struct {
	host    template
	headers map[string]template
	basic   *definition.APIBasic
	oauth   *definition.OAuth
}

// hostPattern is a host name with at least two labels: no address, no port and no path.
var hostPattern = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$`)

// configuredPattern is a host name from a variable, which is the installation's configuration: it may be that of a test server
// or a gateway, with a port. Which addresses a client connects to is its transport's decision.
var configuredPattern = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z]([a-z0-9-]*[a-z0-9])?(:[0-9]{1,5})?$`)

// newAccess compiles the API of a definition, and reports every problem.
func newAccess(p *definition.Problems, api *definition.API) (a access) {
	if p.Required("api.host", api.Host) {
		a.host = newTemplate(p, "api.host", api.Host, true)
		one := variablePattern.ReplaceAllString(api.Host, "a.bc")
		if !hostPattern.MatchString(one) {
			p.Add("api.host", "%q isn't a host name: use one such as api.example.com, or {NAME} for a variable that has it", api.Host)
		}
	}
	a.headers = map[string]template{}
	hasCredential := api.Basic != nil || api.OAuth != nil
	for _, name := range slices.Sorted(maps.Keys(api.Headers)) {
		field := "api.headers." + name
		header := newTemplate(p, field, api.Headers[name], true, varTarget)
		a.headers[p.HeaderName(field, name)] = header
		hasCredential = hasCredential || len(header.secrets()) > 0
	}
	switch {
	case api.Basic != nil && api.OAuth != nil:
		p.Add("api.oauth", "conflicts with basic: use one of them")
	case !hasCredential:
		p.Add("api", `has no credential: use headers ("Bearer {ACME_API_KEY}"), basic or oauth`)
	}
	if a.basic = api.Basic; a.basic != nil {
		p.SecretName("api.basic.user", a.basic.User)
		if a.basic.Password != "" {
			p.SecretName("api.basic.password", a.basic.Password)
		}
	}
	if a.oauth = api.OAuth; a.oauth != nil {
		p.SecretName("api.oauth.client", a.oauth.Client)
		p.SecretName("api.oauth.secret", a.oauth.Secret)
		checkPath(p, "api.oauth.path", a.oauth.Path)
		if a.oauth.Host != "" && !hostPattern.MatchString(a.oauth.Host) {
			p.Add("api.oauth.host", "%q isn't a host name: use one such as id.example.com", a.oauth.Host)
		}
	}
	if api.Rate == nil || api.Rate.Requests == definition.Unlimited {
		p.Add("api.rate", "is missing: a tenth of the provider's limit leaves the rest to your other calls")
	}
	return a
}

// pathPattern allows no query, no fragment and no empty segment.
var pathPattern = regexp.MustCompile(`^(/[A-Za-z0-9._~:@{}-]+)+/?$`)

func checkPath(p *definition.Problems, field, path string, variables ...string) template {
	if p.Required(field, path) && (!pathPattern.MatchString(path) || slices.Contains(strings.Split(path, "/"), "..")) {
		p.Add(field, "%q isn't a path: use one such as /v1/events, without a query", path)
	}
	return newTemplate(p, field, path, false, variables...)
}

func (a *access) hostOf(secret func(string) string) (string, error) {
	for _, used := range a.host.secrets() {
		if secret(used) == auth.Unreadable {
			return "", missing(used, auth.Unreadable)
		}
	}
	host, ok := a.host.fill(secret, verbatim)
	switch {
	case !ok:
		return "", Errorf(KindUnconfigured, "the host of the API isn't known: set %s", strings.Join(a.host.secrets(), ", "))
	case !configuredPattern.MatchString(host):
		return "", Errorf(KindUnconfigured, "the host of the API isn't a host name in lower case: correct %s",
			strings.Join(a.host.secrets(), ", "))
	}
	return host, nil
}

// authorize adds the headers and credentials.
func (a *access) authorize(r *Request, host, target string, secret func(string) string) error {
	for name, t := range a.headers {
		for _, used := range t.secrets() {
			if err := missing(used, secret(used)); err != nil {
				return err
			}
		}
		value := func(variable string) string {
			if variable == varTarget {
				return target
			}
			return secret(variable)
		}
		if text, ok := t.fill(value, verbatim); ok {
			r.Header[name] = text
		}
	}
	if a.basic != nil {
		r.User = secret(a.basic.User)
		if err := missing(a.basic.User, r.User); err != nil {
			return err
		}
		if a.basic.Password != "" {
			r.Password = secret(a.basic.Password)
			if err := missing(a.basic.Password, r.Password); err != nil {
				return err
			}
		}
	}
	if a.oauth != nil {
		url := "https://" + cmp.Or(a.oauth.Host, host) + a.oauth.Path
		r.Token = &Token{url, secret(a.oauth.Client), secret(a.oauth.Secret), a.oauth.Scope}
		if err := missing(a.oauth.Client, r.Token.Client); err != nil {
			return err
		}
		return missing(a.oauth.Secret, r.Token.Secret)
	}
	return nil
}

// missing returns why a credential can't be used; nil if it can.
func missing(name, value string) error {
	switch value {
	case "":
		return Errorf(KindUnconfigured, "the API has no credential: set %s, or %s_FILE", name, name)
	case auth.Unreadable:
		return Errorf(KindUnavailable, "the file of %s_FILE has been empty, missing or unreadable for a minute: write it again", name)
	}
	return nil
}

// secretNames returns the names of the secrets and variables that a request needs, sorted.
func (a *access) secretNames() []string {
	names := a.host.secrets()
	for _, header := range a.headers {
		names = append(names, header.secrets()...)
	}
	if a.basic != nil {
		names = append(names, a.basic.User, a.basic.Password)
	}
	if a.oauth != nil {
		names = append(names, a.oauth.Client, a.oauth.Secret)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	slices.Sort(names)
	return slices.Compact(names)
}
