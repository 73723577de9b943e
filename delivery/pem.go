package delivery

import (
	"crypto/x509"
	"encoding/pem"
	"strings"

	"holdfast/providers/definition"
)

// MaxPEM bounds certificates and keys, in bytes, as text or as a file.
const MaxPEM = 1 << 20

// IsPEM reports whether a certificate authority is PEM text rather than a path.
func IsPEM(ca string) bool { return strings.HasPrefix(strings.TrimSpace(ca), "-----BEGIN ") }

// checkCA checks PEM text and never repeats it in an error: it may be a pasted key. Files are checked when they are read.
func checkCA(p *definition.Problems, ca string) {
	if len(ca) > MaxPEM {
		p.Add("http.ca", "is longer than %d bytes", MaxPEM)
		return
	}
	if !IsPEM(ca) {
		if strings.ContainsAny(ca, "\r\n\x00") {
			p.Add("http.ca", "must be certificates in PEM, or the path of one file")
		}
		return
	}
	rest := []byte(ca)
	for len(strings.TrimSpace(string(rest))) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			p.Add("http.ca", "must hold certificates in PEM, and nothing else")
			return
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			p.Add("http.ca", "holds a certificate that can't be read")
			return
		}
	}
}
