package delivery

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	"holdfast/event"
)

// CheckChange rejects changes with which a caller below admin could learn a secret, or bypass the proxies. Such a caller may
// neither name an environment variable nor redirect a stored secret. before is nil for a new destination. givesSecret reports
// whether the change replaces the stored secrets, or there are none. The error is an event.Error of class rejected.
func CheckChange(before *Destination, to Destination, givesSecret bool) error {
	link, kind := to.Link(), to.Kind()
	if link == nil {
		return nil
	}
	var was HTTP
	if before != nil && before.Link() != nil {
		was = *before.Link()
	}
	if link.Secrets != "" && link.Secrets != was.Secrets {
		return event.Rejectf(event.CodeNeedsAdmin, "%s.secrets: only an admin may name environment variables", kind)
	}
	if link.Proxy == ProxyDirect && (was.Proxy != ProxyDirect || was.URL != link.URL) {
		return event.Rejectf(event.CodeNeedsAdmin,
			"%s.proxy: only an admin may let a destination bypass the proxies, or change the URL of one that does", kind)
	}
	if before == nil || before.Kind() == kind && was.URL == link.URL && SameJSON(was.Signature, link.Signature) {
		return nil
	}
	switch {
	case link.Secrets != "":
		return event.Rejectf(event.CodeNeedsAdmin,
			"%s: only an admin may change it while the secrets are in an environment variable", addressFields(kind))
	case link.Key == MaskedHeader && was.URL != link.URL:
		return event.Rejectf("invalid_destination", "%s.key: give it again, because the URL changes", kind)
	case (link.Signature != nil || kind != KindHTTP) && !givesSecret:
		return event.Rejectf("invalid_secret", "secret: give one, because the URL or the signature changes")
	}
	for _, name := range link.Headers.Names() {
		if keepsStored(link.Headers[name]) {
			return event.Rejectf("invalid_destination",
				"http.headers.%s: give its value again, because the URL or the signature changes", name)
		}
	}
	return nil
}

// addressFields are the fields that decide where requests go, and what proves them.
func addressFields(kind string) string {
	if kind == KindHTTP {
		return "http.url, http.signature"
	}
	return kind + ".url"
}

// SameJSON compares JSON values, or their absence: stored settings are formatted differently than the text they came from.
func SameJSON(a, b json.RawMessage) bool {
	var one, other any
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return len(a) == 0 && len(b) == 0
	}
	return reflect.DeepEqual(one, other)
}

const (
	maxVariable = 100
	// maxUnseparated bounds a name with digits and no underscore, in bytes: anything longer is a key, not a name.
	maxUnseparated = 16
)

var variableName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// IsVariable reports whether the text looks like the name of an environment variable rather than a secret.
func IsVariable(name string) bool {
	isKey := len(name) >= maxUnseparated && !strings.Contains(name, "_") && strings.ContainsAny(name, "0123456789")
	return variableName.MatchString(name) && len(name) <= maxVariable && !isKey
}

// CheckVariable rejects text that isn't the name of an environment variable, for a kind of destination. The error doesn't repeat
// the text, which may be a pasted secret.
func CheckVariable(kind, name string) error {
	if IsVariable(name) {
		return nil
	}
	return event.Rejectf("invalid_destination",
		"%s.secrets: must be the name of an environment variable such as CRM_WEBHOOK_SECRET, never the secret itself", kind)
}
