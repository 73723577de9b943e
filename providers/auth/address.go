package auth

import (
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
