package jws

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Claims are the fields of a payload, as encoding/json decodes them.
type Claims map[string]any

// ParseClaims parses a payload; ok is false if it isn't an object.
func ParseClaims(payload []byte) (c Claims, ok bool) {
	return c, json.Unmarshal(payload, &c) == nil && c != nil
}

// At returns the claim of a name, which may have dots, or else at a dotted path; nil if there is none.
func (c Claims) At(path string) any {
	if value, ok := c[path]; ok {
		return value
	}
	var at any = map[string]any(c)
	for name := range strings.SplitSeq(path, ".") {
		fields, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = fields[name]
	}
	return at
}

// Is reports whether a claim (see At) is a text, or true or false in words.
func (c Claims) Is(path, want string) bool {
	switch value := c.At(path).(type) {
	case string:
		return value == want
	case bool:
		return strconv.FormatBool(value) == want
	}
	return false
}

// IsFor reports whether the audience is, or contains, one of the given.
func (c Claims) IsFor(audiences []string) bool {
	list, isList := c["aud"].([]any)
	if !isList {
		list = []any{c["aud"]}
	}
	for _, one := range list {
		for _, audience := range audiences {
			if text, ok := one.(string); ok && text == audience {
				return true
			}
		}
	}
	return false
}

// maxUnix is the latest time that is read, in seconds. It is after the year 5000.
const maxUnix = 1e11

// Time returns a time in unix seconds, which may have a fraction; ok is false if there is none.
func (c Claims) Time(name string) (at time.Time, ok bool) {
	seconds, ok := c[name].(float64)
	if !ok || seconds < 0 || seconds > maxUnix {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}

// MilliTime returns a time in unix milliseconds; ok is false if there is none.
func (c Claims) MilliTime(name string) (at time.Time, ok bool) {
	milli, ok := c[name].(float64)
	if !ok || milli < 0 || milli > 1000*maxUnix {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(milli)), true
}
