package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"holdfast/event"
)

// Content is a body as the caller may see it.
type Content struct {
	// Size is in bytes.
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
	// Raw holds the exact bytes, in base64; not for viewers.
	Raw []byte `json:"raw,omitempty"`
	// JSON holds the body if it is JSON, for viewers without the parts that the provider's definition hides.
	JSON json.RawMessage `json:"json,omitempty"`
	// Text holds the body if it is text but not JSON; not for viewers.
	Text     string `json:"text,omitempty"`
	Redacted bool   `json:"redacted"`
}

// content returns a body as the caller may see it: whole for operators, and for viewers as JSON without the parts that the
// provider's definition hides. A body that can't be redacted is hidden from viewers.
func (a *API) content(viewer bool, r event.Receipt, body []byte) Content {
	sum := sha256.Sum256(body)
	shown := Content{Size: len(body), SHA256: hex.EncodeToString(sum[:])}
	if viewer {
		shown.Redacted = true
		if a.Redactor == nil {
			return shown
		}
		if redacted, err := a.Redactor.Redact(r, body); err == nil && !bytes.Equal(redacted, []byte("null")) {
			shown.JSON = redacted
		}
		return shown
	}
	shown.Raw = body
	switch {
	case !utf8.Valid(body):
	case json.Valid(event.WithoutMark(body)):
		shown.JSON = event.WithoutMark(body)
	default:
		shown.Text = string(body)
	}
	return shown
}

// hidesState reports whether the caller may not see the states of a provider's entities. States are extracted from bodies with
// paths of their own, so a definition that hides parts of its bodies hides its states entirely.
func (a *API) hidesState(viewer bool, provider string) bool {
	return viewer && (a.Redactor == nil || a.Redactor.Redacts(provider))
}

// receipt returns the receipt as the caller may see it: some providers put tokens in headers, query or path, and the root is
// part of the body.
func receipt(viewer bool, r event.Receipt) event.Receipt {
	if viewer {
		r.Headers, r.Query, r.Path, r.Root = nil, nil, nil, nil
	}
	return r
}

// Change is a change of an entity as the caller may see it.
type Change struct {
	event.Link

	// Redacted reports that the state is hidden, because the provider's definition hides parts of its bodies.
	Redacted bool `json:"redacted,omitempty"`
}

func (a *API) change(viewer bool, l event.Link) Change {
	hidden := a.hidesState(viewer, l.Provider)
	if hidden {
		l.State = nil
	}
	return Change{Link: l, Redacted: hidden}
}
