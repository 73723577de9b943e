package delivery

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	"holdfast/event"
)

// CheckChange refuses what a caller below admin could learn a secret by: naming an environment variable, and changing where or in
// which form a secret is sent that the caller need not know. before is nil for a new destination; givesSecret reports whether the
// change replaces the stored secrets. The error is an event.Error of class rejected.
func CheckChange(before *Destination, to Destination, givesSecret bool) error {
	if to.HTTP == nil {
		return nil
	}
	var was HTTP
	if before != nil && before.HTTP != nil {
		was = *before.HTTP
	}
	if to.HTTP.Secrets != "" && to.HTTP.Secrets != was.Secrets {
		return event.Rejectf(event.CodeNeedsAdmin, "http.secrets: only an admin names environment variables")
	}
	if before == nil || was.URL == to.HTTP.URL && sameJSON(was.Signature, to.HTTP.Signature) {
		return nil
	}
	switch {
	case to.HTTP.Secrets != "":
		return event.Rejectf(event.CodeNeedsAdmin,
			"http.url, http.signature: only an admin changes them while the secrets are in an environment variable")
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

// sameJSON compares two texts by what they mean; settings are stored in another form than they were given.
func sameJSON(a, b json.RawMessage) bool {
	var one, other any
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return len(a) == 0 && len(b) == 0
	}
	return reflect.DeepEqual(one, other)
}

const (
	maxVariable = 100
	// unbroken is how long a name may be that has digits and no underscore: longer ones are keys, not names.
	unbroken = 16
)

var variableName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// IsVariable reports whether a text reads like the name of an environment variable, and not like a secret.
func IsVariable(name string) bool {
	isKey := len(name) >= unbroken && !strings.Contains(name, "_") && strings.ContainsAny(name, "0123456789")
	return variableName.MatchString(name) && len(name) <= maxVariable && !isKey
}

// CheckVariable refuses what is not the name of an environment variable, without repeating it: it may be a pasted secret.
func CheckVariable(name string) error {
	if IsVariable(name) {
		return nil
	}
	return event.Rejectf("invalid_destination",
		"http.secrets: must be the name of an environment variable such as CRM_WEBHOOK_SECRET, never the secret itself")
}
