package delivery

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/url"
	"slices"
	"strings"

	"holdfast/providers/definition"
)

// Headers are sent with each request. Their values are secret and stored apart from the settings, which have only the names. Only
// senders read the values; everywhere else a stored value reads as MaskedHeader.
type Headers map[string]string

// MaskedHeader replaces a stored value. Applying it, or an empty value, keeps the stored value.
const MaskedHeader = "[redacted]"

func keepsStored(value string) bool { return value == "" || value == MaskedHeader }

// Names returns the sorted names.
func (h Headers) Names() []string { return slices.Sorted(maps.Keys(h)) }

// Masked returns the headers without their values.
func (h Headers) Masked() Headers {
	if h == nil {
		return nil
	}
	masked := make(Headers, len(h))
	for name := range h {
		masked[name] = MaskedHeader
	}
	return masked
}

// Over fills in the stored values of headers that keep theirs. missing is the first name without a stored value.
func (h Headers) Over(stored Headers) (whole Headers, missing string) {
	whole = make(Headers, len(h))
	for _, name := range h.Names() {
		value := h[name]
		if keepsStored(value) {
			kept, ok := stored[name]
			if !ok && missing == "" {
				missing = name
			}
			value = kept
		}
		whole[name] = value
	}
	return whole, missing
}

// UnmarshalJSON reads an object into the existing map, or a list of names, the form of stored settings.
func (h *Headers) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		var names []string
		if err := json.Unmarshal(text, &names); err != nil {
			return err
		}
		*h = make(Headers, len(names))
		for _, name := range names {
			(*h)[name] = MaskedHeader
		}
		return nil
	}
	return json.Unmarshal(text, (*map[string]string)(h))
}

// Redacted removes everything that may be a secret: header values, a stored key, the URL after its host, and a secret pasted in
// place of a variable name.
func (d Destination) Redacted() Destination {
	if d = d.Shown(); d.HTTP != nil {
		d.HTTP.URL = hostOf(d.HTTP.URL)
	}
	return d.WithBroker(func(c *Connection) { c.URL = hostsOf(c.URL) })
}

// Shown returns the destination for users who may change it.
func (d Destination) Shown() Destination {
	if d.HTTP == nil {
		return d.withMaskedKey().WithBroker(func(c *Connection) { c.Secrets = shownVariable(c.Secrets) })
	}
	shown := d.HTTP.withMaskedKey()
	shown.Headers = shown.Headers.Masked()
	shown.Secrets = shownVariable(shown.Secrets)
	d.HTTP = &shown
	return d
}

// shownVariable masks a secret pasted in place of a variable's name.
func shownVariable(name string) string {
	if name != "" && !IsVariable(name) {
		return MaskedHeader
	}
	return name
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// MaxPEM bounds certificates and keys, in bytes, as text or as a file.
const MaxPEM = 1 << 20

// IsPEM reports whether a certificate or a key is PEM text rather than a path.
func IsPEM(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "-----BEGIN ") }

// checkClient checks that certificate and key are of one kind, and that no key is in the certificate, which is stored and shown
// in clear. What they contain otherwise is checked when they are used.
func (h HTTP) checkClient(p *definition.Problems, kind string) {
	field, key := kind+".certificate", kind+".key"
	switch {
	case (h.Certificate == "") != (h.Key == ""):
		p.Add(field, "and %s must be set together", key)
	case IsPEM(h.Certificate) != h.StoresKey():
		p.Add(field, "and %s must both be PEM text, or both paths", key)
	case len(h.Certificate) > MaxPEM, len(h.Key) > MaxPEM:
		p.Add(field, "and %s must have at most %d bytes", key, MaxPEM)
	case IsPEM(h.Certificate) && !hasOnlyCertificates(h.Certificate):
		p.Add(field, "must hold certificates in PEM, and nothing else: the key belongs in %s", key)
	case !h.StoresKey() && strings.ContainsAny(h.Certificate+h.Key, "\r\n\x00"):
		p.Add(field, "and %s must be PEM text, or paths", key)
	}
}

// checkCA checks PEM text and never repeats it in an error: it may be a pasted key. Files are checked when they are read.
func checkCA(p *definition.Problems, field, ca string) {
	if len(ca) > MaxPEM {
		p.Add(field, "is longer than %d bytes", MaxPEM)
		return
	}
	if !IsPEM(ca) {
		if strings.ContainsAny(ca, "\r\n\x00") {
			p.Add(field, "must be certificates in PEM, or the path of one file")
		}
		return
	}
	blocks, ok := certificatesIn(ca)
	if !ok {
		p.Add(field, "must hold certificates in PEM, and nothing else")
		return
	}
	for _, block := range blocks {
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			p.Add(field, "holds a certificate that can't be read")
			return
		}
	}
}

func hasOnlyCertificates(text string) bool {
	_, ok := certificatesIn(text)
	return ok
}

// certificatesIn returns the blocks of PEM text; false if one isn't a certificate. It also rejects malformed blocks, which
// pem.Decode skips: they may be a key.
func certificatesIn(text string) (blocks []*pem.Block, ok bool) {
	for rest := []byte(text); len(bytes.TrimSpace(rest)) > 0; {
		block, after := pem.Decode(rest)
		read := rest[:len(rest)-len(after)]
		if block == nil || block.Type != "CERTIFICATE" || len(block.Headers) > 0 || bytes.Count(read, []byte("-----BEGIN ")) != 1 {
			return nil, false
		}
		blocks, rest = append(blocks, block), after
	}
	return blocks, true
}
