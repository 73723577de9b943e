package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Direct is the name for no proxy; no proxy of a list has it.
const Direct = "direct"

// The schemes of proxies. SOCKS5 has no encryption of its own.
const (
	schemeHTTP   = "http"
	schemeHTTPS  = "https"
	schemeSOCKS5 = "socks5"
)

// defaultPorts are those of the schemes.
var defaultPorts = map[string]string{schemeHTTP: "3128", schemeHTTPS: "443", schemeSOCKS5: "1080"}

// maxCredential bounds user and password, in bytes, as SOCKS5 does.
const maxCredential = 255

// Proxy is a forward proxy. It is safe for concurrent use.
type Proxy struct {
	name, scheme, host, address string
	// user and password are secrets.
	user, password string
	// resolved are the hosts, in lower case, whose names the proxy resolves; *.example.com stands for all names below example.com.
	resolved []string
	health   health
}

// Name returns the proxy's name.
func (p *Proxy) Name() string { return p.name }

// Resolved returns the hosts whose names the proxy resolves.
func (p *Proxy) Resolved() []string { return p.resolved }

// Resolves reports whether the proxy resolves a host's name.
func (p *Proxy) Resolves(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(p.resolved, func(pattern string) bool {
		below, isWildcard := strings.CutPrefix(pattern, "*")
		return pattern == host || isWildcard && strings.HasSuffix(host, below) && net.ParseIP(host) == nil
	})
}

// String returns the name, so that no print shows a credential.
func (p *Proxy) String() string { return p.name }

// GoString does the same for %#v.
func (p *Proxy) GoString() string { return p.name }

// List has proxies with different names.
type List []*Proxy

// Find returns the proxy of a name.
func (l List) Find(name string) (*Proxy, bool) {
	i := slices.IndexFunc(l, func(p *Proxy) bool { return p.name == name })
	if i < 0 {
		return nil, false
	}
	return l[i], true
}

// Names returns the names in order.
func (l List) Names() []string {
	names := make([]string, len(l))
	for i, p := range l {
		names[i] = p.name
	}
	return names
}

var (
	validName = regexp.MustCompile(`^[a-z0-9][a-z0-9\-_.]{0,62}$`)
	validHost = regexp.MustCompile(`^(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*$`)
)

// IsName reports whether the text can be the name of a proxy.
func IsName(text string) bool { return validName.MatchString(text) }

// Parse reads a list of name=URL, separated by commas or white space: office=http://user:password@10.0.0.5:3128. The schemes are
// http, https and socks5. The parameter resolve of a URL, which can be repeated, has a host that the proxy resolves. Errors name
// the entry by its name or position, and contain nothing of its URL.
func Parse(text string) (List, error) {
	var all List
	for i, entry := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		name, address, ok := strings.Cut(entry, "=")
		switch {
		case !ok || !IsName(name):
			return nil, fmt.Errorf("entry %d doesn't begin with a name of a-z, 0-9, -, _ and ., and =", i+1)
		case name == Direct:
			return nil, fmt.Errorf("entry %d is called %s, which stands for no proxy", i+1, Direct)
		}
		if _, taken := all.Find(name); taken {
			return nil, fmt.Errorf("two proxies are called %s", name)
		}
		p, err := parse(name, address)
		if err != nil {
			return nil, fmt.Errorf("proxy %s %w", name, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func parse(name, address string) (*Proxy, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("has no URL with a scheme and a host; write special characters of a password as %XX")
	}
	port, known := defaultPorts[u.Scheme]
	switch {
	case u.Scheme == "socks5h":
		return nil, errors.New("has the scheme socks5h: use socks5, and name the hosts that the proxy may resolve with ?resolve=HOST")
	case !known:
		return nil, errors.New("has a scheme that is none of http, https and socks5")
	case u.Path != "" && u.Path != "/" || u.Fragment != "" || u.Opaque != "":
		return nil, errors.New("has a URL with a path or a fragment")
	}
	if u.Port() != "" {
		port = u.Port()
	}
	p := &Proxy{name: name, scheme: u.Scheme, host: u.Hostname(), address: net.JoinHostPort(u.Hostname(), port)}
	if u.User != nil {
		p.user = u.User.Username()
		p.password, _ = u.User.Password()
	}
	if len(p.user) > maxCredential || len(p.password) > maxCredential || strings.Contains(p.user, ":") {
		return nil, fmt.Errorf("has a user with a colon, or a user or password of more than %d bytes", maxCredential)
	}
	p.resolved, err = resolvedIn(u.RawQuery)
	return p, err
}

func resolvedIn(query string) ([]string, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("has malformed parameters")
	}
	for name := range values {
		if name != "resolve" {
			return nil, errors.New("has a parameter other than resolve")
		}
	}
	hosts := values["resolve"]
	for i, host := range hosts {
		hosts[i] = strings.ToLower(host)
		if !validHost.MatchString(hosts[i]) && net.ParseIP(host) == nil {
			return nil, errors.New("has resolve=HOST with a host that is neither a name such as hooks.example.com nor *.example.com")
		}
	}
	return hosts, nil
}
