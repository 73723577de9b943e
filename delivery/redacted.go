package delivery

import "net/url"

// Redacted is a destination without what can be a secret: values of headers, what stands behind the host of its address, and a
// secret that was pasted where the name of a variable belongs.
func (d Destination) Redacted() Destination {
	if d = d.Shown(); d.HTTP != nil {
		d.HTTP.URL = hostOf(d.HTTP.URL)
	}
	return d
}

// Shown returns the destination as users who may change it see it.
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
