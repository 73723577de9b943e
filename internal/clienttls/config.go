package clienttls

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
)

// Part is a text in PEM, and the name that errors give it.
type Part struct {
	Name string
	// Text is nil if there is none; an empty one is a mistake.
	Text []byte
}

// Config returns a configuration that trusts these authorities, or the system's if there are none, and shows this certificate if
// the server asks for one. A certificate without a key is only checked.
func Config(authorities, certificate, key Part) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities.Text != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authorities.Text) {
			return nil, fmt.Errorf("%s contains no certificate in PEM", authorities.Name)
		}
	}
	switch {
	case certificate.Text == nil && key.Text == nil:
		return config, nil
	case !hasCertificate(certificate.Text):
		return nil, fmt.Errorf("%s contains no usable certificate in PEM", certificate.Name)
	case key.Text == nil:
		return config, nil
	}
	pair, err := tls.X509KeyPair(certificate.Text, key.Text)
	if err != nil {
		return nil, pairFailure(certificate, key)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// pairFailure says why a certificate and a key can't be used together.
func pairFailure(certificate, key Part) error {
	for text := key.Text; ; {
		block, rest := pem.Decode(text)
		switch {
		case block == nil:
			return fmt.Errorf("%s contains no usable private key in PEM", key.Name)
		case block.Type == "ENCRYPTED PRIVATE KEY", strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return fmt.Errorf("the key in %s is encrypted, and Holdfast has no passphrase: decrypt it "+
				"(openssl pkey -in KEY -out NEW), and protect the file", key.Name)
		case strings.HasSuffix(block.Type, "PRIVATE KEY") && isKey(block.Bytes):
			return fmt.Errorf("%s and %s don't belong together", certificate.Name, key.Name)
		}
		text = rest
	}
}

// hasCertificate reports whether the text has certificates, and all of them can be parsed.
func hasCertificate(text []byte) (found bool) {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return found
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return false
		}
		found, text = true, rest
	}
}

func isKey(der []byte) bool {
	_, pkcs8 := x509.ParsePKCS8PrivateKey(der)
	_, pkcs1 := x509.ParsePKCS1PrivateKey(der)
	_, ec := x509.ParseECPrivateKey(der)
	return pkcs8 == nil || pkcs1 == nil || ec == nil
}
