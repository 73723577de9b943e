package main

import "net/http"

// hostTransport has a transport of its own for one host.
type hostTransport struct {
	host        string
	own, others http.RoundTripper
}

// RoundTrip sends a request.
func (t hostTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == t.host {
		return t.own.RoundTrip(r)
	}
	return t.others.RoundTrip(r)
}
