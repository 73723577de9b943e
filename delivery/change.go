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
// whether the change replaces the stored secrets. The error is an event.Error of class rejected.
func CheckChange(before *Destination, to Destination, givesSecret bool) error {
	if to.HTTP == nil {
		return nil
	}
	var was HTTP
	if before != nil && before.HTTP != nil {
		was = *before.HTTP
	}
	if to.HTTP.Secrets != "" && to.HTTP.Secrets != was.Secrets {
		return event.Rejectf(event.CodeNeedsAdmin, "http.secrets: only an admin may name environment variables")
	}
	if to.HTTP.Proxy == ProxyDirect && (was.Proxy != ProxyDirect || was.URL != to.HTTP.URL) {
		return event.Rejectf(event.CodeNeedsAdmin,
			"http.proxy: only an admin may let a destination bypass the proxies, or change the URL of one that does")
	}
	if before == nil || was.URL == to.HTTP.URL && SameJSON(was.Signature, to.HTTP.Signature) {
		return nil
	}
	switch {
	case to.HTTP.Secrets != "":
		return event.Rejectf(event.CodeNeedsAdmin,
			"http.url, http.signature: only an admin may change them while the secrets are in an environment variable")
	case to.HTTP.Key == MaskedHeader && was.URL != to.HTTP.URL:
		return event.Rejectf("invalid_destination", "http.key: give it again, because the URL changes")
	case to.HTTP.Signature != nil && !givesSecret:
		return event.Rejectf("invalid_secret", "secret: give one, because the URL or the signature changes")
	}
	for _, name := range to.HTTP.Headers.Names() {
		if keepsStored(to.HTTP.Headers[name]) {
			return event.Rejectf("invalid_destination",
				"http.headers.%s: give its value again, because the URL or the signature changes", name)
		}
	}
	return nil
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

// CheckVariable rejects text that isn't the name of an environment variable. The error doesn't repeat the text, which may be a
// pasted secret.
func CheckVariable(name string) error {
	if IsVariable(name) {
		return nil
	}
	return event.Rejectf("invalid_destination",
		"http.secrets: must be the name of an environment variable such as CRM_WEBHOOK_SECRET, never the secret itself")
}
