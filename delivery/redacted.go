package delivery

import "net/url"

// Redacted removes everything that may be a secret: header values, the URL after its host, and a secret pasted in place of a
// variable name.
func (d Destination) Redacted() Destination {
	if d = d.Shown(); d.HTTP != nil {
		d.HTTP.URL = hostOf(d.HTTP.URL)
	}
	return d
}

// Shown returns the destination for users who may change it.
func (d Destination) Shown() Destination {
	if d.HTTP == nil {
		return d
	}
	shown := *d.HTTP
	shown.Headers = shown.Headers.Masked()
	if shown.Secrets != "" && !IsVariable(shown.Secrets) {
		shown.Secrets = MaskedHeader
	}
	d.HTTP = &shown
	return d
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
