package delivery

import "net/url"

// Redacted is a destination without what can be a secret: values of headers, and what stands behind the host of its address.
func (d Destination) Redacted() Destination {
	if d.HTTP == nil {
		return d
	}
	hidden := *d.HTTP
	hidden.URL, hidden.Headers = hostOf(hidden.URL), map[string]string{}
	for name := range d.HTTP.Headers {
		hidden.Headers[name] = "[redacted]"
	}
	d.HTTP = &hidden
	return d
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
