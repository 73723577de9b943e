package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
)

const mask = "********"

// secretKeys are parts of keys whose texts are always masked.
var secretKeys = []string{
	"authorization", "cookie", "secret", "password", "passwd", "token", "signature", "credential", "apikey", "api_key",
	"api-key", "private_key", "database_url", "dsn",
}

// payloadKeys are keys that a caller could use for a provider's request.
var payloadKeys = map[string]bool{"body": true, "raw_body": true, "payload": true, "headers": true}

// secretTexts match secrets inside of other text; the groups' matches stay. Text without one of the signs can't match, and most
// texts are IDs and names: searching each for every pattern took longer than writing the line.
var secretTexts = []struct {
	signs   []string // lower case
	pattern *regexp.Regexp
}{
	{
		[]string{"whsec_", "k_live_", "sk_test_", "whsk_"},
		regexp.MustCompile(`(whsec_|sk_live_|sk_test_|rk_live_|whsk_)[A-Za-z0-9+/=_-]+`),
	},
	{[]string{"bearer", "basic"}, regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}`)},
	{[]string{"://"}, regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s@]+(@)`)},
	{
		[]string{"passw", "secret", "token", "api"},
		regexp.MustCompile(`(?i)(\b(?:password|passwd|secret|token|api_?key)\s*[=:]\s*)[^\s&;,]+`),
	},
}

func redactText(s string) string {
	lower := strings.ToLower(s)
	for _, secret := range secretTexts {
		if slices.ContainsFunc(secret.signs, func(sign string) bool { return strings.Contains(lower, sign) }) {
			s = secret.pattern.ReplaceAllString(s, "${1}"+mask+"${2}")
		}
	}
	return s
}

// redact masks secrets in an attribute. Numbers, durations and booleans pass under any key: they contain no secret, and
// "token_count" is worth reading.
func redact(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		return slog.String(a.Key, redactString(a.Key, value.String()))
	case slog.KindGroup:
		group := value.Group()
		clean := make([]slog.Attr, len(group))
		for i, member := range group {
			clean[i] = redact(member)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(clean...)}
	case slog.KindAny:
		return slog.Any(a.Key, redactAny(a.Key, value.Any()))
	default:
		return slog.Attr{Key: a.Key, Value: value}
	}
}

func redactString(key, s string) string {
	switch {
	case s == "":
		return s
	case isSecret(key):
		return mask
	case payloadKeys[strings.ToLower(key)]:
		return fmt.Sprintf("[%d bytes]", len(s))
	default:
		return redactText(s)
	}
}

func isSecret(key string) bool {
	if secret, ok := secretKeyCache.Get(key); ok {
		return secret
	}
	lower := strings.ToLower(key)
	secret := slices.ContainsFunc(secretKeys, func(part string) bool { return strings.Contains(lower, part) })
	secretKeyCache.Add(key, secret)
	return secret
}

// secretKeyCache caches the results of isSecret: the same few keys are in every line.
var secretKeyCache, _ = lru.New[string, bool](1000)

// redactAny redacts a value as JSON shows it. Bytes are never shown, because they come from providers.
func redactAny(key string, v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case error:
		return redactString(key, v.Error())
	case []byte:
		return fmt.Sprintf("[%d bytes]", len(v))
	case json.RawMessage:
		return fmt.Sprintf("[%d bytes]", len(v))
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return redactString(key, fmt.Sprint(v))
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return mask
	}
	return redactTree(key, tree)
}

func redactTree(key string, v any) any {
	switch v := v.(type) {
	case string:
		return redactString(key, v)
	case []any:
		for i := range v {
			v[i] = redactTree(key, v[i])
		}
		return v
	case map[string]any:
		if payloadKeys[strings.ToLower(key)] {
			return mask
		}
		for name := range v {
			v[name] = redactTree(name, v[name])
		}
		return v
	default:
		return v
	}
}
