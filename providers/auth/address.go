package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
	"time"

	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// addressScheme accepts requests from networks, for senders without any other proof.
type addressScheme struct {
	networksName string
}

func newAddress(p *definition.Problems, field string, d *definition.Address) scheme {
	p.SecretName(field+".networks", d.Networks)
	return &addressScheme{networksName: d.Networks}
}

func (s *addressScheme) networks(k keyring) []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range k.raw(s.networksName) {
		for field := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == ' ' }) {
			if network, ok := parseNetwork(field); ok {
				networks = append(networks, network)
			}
		}
	}
	return networks
}

// parseNetwork parses "203.0.113.0/24" or a single address. It refuses the whole internet.
func parseNetwork(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	network, err := netip.ParsePrefix(text)
	return network, err == nil && network.Bits() > 0
}

func (s *addressScheme) authenticate(k keyring, r *Request, _ time.Time) error {
	if err := s.ready(k); err != nil {
		return err
	}
	networks := s.networks(k)
	for _, network := range networks {
		if network.Contains(r.RemoteIP.Unmap()) {
			return nil
		}
	}
	return denial.At(denial.Address, "address of the sender")
}

func (s *addressScheme) ready(k keyring) error {
	if len(s.networks(k)) > 0 {
		return nil
	}
	if slices.Contains(k.raw(s.networksName), Unreadable) {
		return denial.Of(denial.UnreadableSecret)
	}
	return denial.Of(denial.NoSecret)
}

func (s *addressScheme) reference() string { return s.networksName }
func (s *addressScheme) covers() Coverage  { return Coverage{All: true} }

func (s *addressScheme) hidden() (headers, query, path []string) { return nil, nil, nil }

// sign adds nothing: the address of a request can't be chosen.
func (s *addressScheme) sign(*Request, []string, time.Time) error { return denial.Of(denial.Address) }

func (s *addressScheme) name() string { return "address of the sender" }

// proxiedScheme accepts a client certificate that a proxy has verified. The proxy ends TLS, so its header is all that is known of
// the certificate.
type proxiedScheme struct {
	tokenScheme
}

func newProxied(p *definition.Problems, field string, d *definition.Proxied) scheme {
	p.SecretName(field+".secrets", d.Secrets)
	return &proxiedScheme{tokenScheme{secretsName: d.Secrets, in: "header", field: p.HeaderName(field+".header", d.Header)}}
}

func (s *proxiedScheme) authenticate(k keyring, r *Request, _ time.Time) error {
	accepted, err := k.values(s.secretsName)
	if err != nil {
		return err
	}
	shown, err := r.header(s.field)
	switch {
	case err != nil:
		return err
	case shown == "" || !r.FromProxy:
		return denial.At(denial.MissingToken, s.part())
	case !slices.ContainsFunc(accepted, func(one string) bool { return sameCertificate(one, shown) }):
		return denial.At(denial.BadToken, s.part())
	}
	return nil
}

// sameCertificate compares fingerprints without their colons and their case, and subjects to the letter.
func sameCertificate(one, other string) bool {
	return one == other || fingerprint(one) != "" && fingerprint(one) == fingerprint(other)
}

// fingerprint returns the hex digits of a SHA-256, and "" for anything else.
func fingerprint(text string) string {
	digits := strings.ToLower(strings.ReplaceAll(text, ":", ""))
	if sum, err := hex.DecodeString(digits); err != nil || len(sum) != sha256.Size {
		return ""
	}
	return digits
}

func (s *proxiedScheme) ready(k keyring) error {
	_, err := k.values(s.secretsName)
	return err
}

func (s *proxiedScheme) name() string { return "client certificate in " + s.field }

// ProxyHeaders returns the headers that only a trusted proxy may set.
func (a *Authenticator) ProxyHeaders() (names []string) {
	for _, one := range a.schemes {
		if s, ok := one.scheme.(*proxiedScheme); ok {
			names = append(names, s.field)
		}
	}
	return names
}
