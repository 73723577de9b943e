// Package urlform returns the forms of one URL that senders sign: they write ports, quotes and escapes in their own ways.
package urlform

import (
	"fmt"
	"net/url"
	"strings"
)

// Further are functions that return more forms of a URL than Of, by their name in {url:NAME}.
var Further = map[string]func(string) []string{"normalized": normalized, "decoded": decoded}

// Of returns a URL as called, without its port, and with the default port of its scheme (Twilio uses all three).
func Of(called string) []string {
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

// normalized returns a URL with its query as browsers write it, and as Node.js's querystring does. Twilio may have signed
// %27 where the request has ', and the other way around.
func normalized(called string) (all []string) {
	before, query, found := strings.Cut(called, "?")
	if !found || query == "" {
		return nil
	}
	query = escapeBytes(query, func(b byte) bool { return b <= ' ' || b >= 0x7f || strings.IndexByte(`"#<>'`, b) >= 0 })
	all = Of(before + "?" + query)
	return append(all, Of(before+"?"+rewrittenQuery(query))...)
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

// decoded returns a URL with the escapes decoded that HubSpot decodes: all but &, =, + and # and escapes of text.
func decoded(called string) []string { return Of(hubSpotEscapes.Replace(called)) }
