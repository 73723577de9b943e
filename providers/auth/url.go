package auth

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// urlForms are further forms of a URL that senders sign, by their name in {url:NAME}.
var urlForms = map[string]func(string) []string{"normalized": normalizedURLs, "decoded": decodedURLs}

// urls returns the forms of the request's URL that a sender may have signed, without repeats.
func (c content) urls(r *Request) []string {
	i := slices.IndexFunc(c.parts, func(part contentPart) bool { return part.variable == "url" })
	if i < 0 {
		return []string{""}
	}
	forms := urlsOf(r.URL)
	if further := urlForms[c.parts[i].of]; further != nil {
		for _, form := range further(r.URL) {
			if !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
		}
	}
	return forms
}

// urlsOf returns a URL as called, without its port, and with the default port of its scheme (Twilio uses all three).
func urlsOf(called string) []string {
	scheme, rest, ok := strings.Cut(called, "://")
	if !ok {
		return []string{called}
	}
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	if bare, _, found := strings.Cut(host, ":"); found {
		return []string{called, scheme + "://" + bare + path}
	}
	port := map[string]string{"https": ":443", "http": ":80"}[scheme]
	return []string{called, scheme + "://" + host + port + path}
}

// normalizedURLs returns a URL with its query as browsers write it, and as Node.js's querystring does. Twilio may have signed
// %27 where the request has ', and the other way around.
func normalizedURLs(called string) (all []string) {
	before, query, found := strings.Cut(called, "?")
	if !found || query == "" {
		return nil
	}
	query = escapeBytes(query, func(b byte) bool { return b <= ' ' || b >= 0x7f || strings.IndexByte(`"#<>'`, b) >= 0 })
	all = urlsOf(before + "?" + query)
	return append(all, urlsOf(before+"?"+rewrittenQuery(query))...)
}

// rewrittenQuery parses a query and writes it again. Values of one name come together.
func rewrittenQuery(query string) string {
	var names []string
	values := map[string][]string{}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, value = unescapeQuery(name), unescapeQuery(value)
		if _, known := values[name]; !known {
			names = append(names, name)
		}
		values[name] = append(values[name], value)
	}
	var pairs []string
	for _, name := range names {
		for _, value := range values[name] {
			pairs = append(pairs, escapeBytes(name, needsEscape)+"="+escapeBytes(value, needsEscape))
		}
	}
	return strings.Join(pairs, "&")
}

// needsEscape reports whether Node.js's querystring escapes a byte.
func needsEscape(b byte) bool {
	isLetter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
	return !isLetter && strings.IndexByte("-_.!~*'()", b) < 0
}

// unescapeQuery returns the text unchanged if an escape is invalid.
func unescapeQuery(text string) string {
	plain, err := url.QueryUnescape(text)
	if err != nil {
		return text
	}
	return plain
}

func escapeBytes(text string, mustEscape func(byte) bool) string {
	var out strings.Builder
	for _, b := range []byte(text) {
		if mustEscape(b) {
			fmt.Fprintf(&out, "%%%02X", b)
		} else {
			out.WriteByte(b)
		}
	}
	return out.String()
}

// hubSpotEscapes are the escapes that HubSpot decodes before it signs, as its documentation lists them.
var hubSpotEscapes = strings.NewReplacer("%3A", ":", "%2F", "/", "%3F", "?", "%40", "@", "%21", "!", "%24", "$",
	"%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%2C", ",", "%3B", ";",
	"%3a", ":", "%2f", "/", "%3f", "?", "%2a", "*", "%2c", ",", "%3b", ";")

// decodedURLs returns a URL with the escapes decoded that HubSpot decodes: all but &, =, + and # and escapes of text.
func decodedURLs(called string) []string { return urlsOf(hubSpotEscapes.Replace(called)) }
