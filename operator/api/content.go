package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/internal/printable"
	"holdfast/operator/httpapi"
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
	// Text holds the body if it is text but not JSON; not for viewers. If Truncated is set, it also holds the beginning of JSON.
	Text     string `json:"text,omitempty"`
	Redacted bool   `json:"redacted"`
	// Truncated reports that Raw and Text hold only the first 64 KiB, and JSON nothing: GET /events/{id}/body returns all of it.
	Truncated bool `json:"truncated,omitempty"`
}

// MaxShown is the max size in bytes of a body where its event or dead letter is shown.
const MaxShown = 64 << 10

// Beginning returns the content with at most MaxShown bytes of the body.
func (c Content) Beginning() Content {
	if max(len(c.Raw), len(c.JSON)) <= MaxShown {
		return c
	}
	c.Truncated = true
	if len(c.JSON) > 0 {
		c.Text = string(c.JSON[:min(len(c.JSON), MaxShown+1)])
	}
	c.Raw, c.JSON, c.Text = c.Raw[:min(len(c.Raw), MaxShown)], nil, printable.Beginning(c.Text, MaxShown)
	return c
}

// DownloadBody sends the body of the event in the request's path as a file, so that no browser renders it: exactly as received,
// or for viewers as JSON without the parts that the provider's definition hides.
func (a *API) DownloadBody(c *fiber.Ctx) error {
	if q := httpapi.QueryOf(c); q.Err != nil {
		return q.Err
	}
	ctx := httpapi.RequestContext(c)
	id, workflowID, err := a.pathEvent(ctx, c)
	if err != nil {
		return err
	}
	record, _, err := a.findEvent(ctx, id, workflowID)
	if err != nil {
		return err
	}
	body := a.content(httpapi.IsViewer(c), record.Receipt, record.Body)
	if body.Redacted && body.JSON == nil {
		return httpapi.Refuse(httpapi.CodeForbidden)
	}
	name := record.Receipt.ID + ".bin"
	if body.JSON != nil {
		name = record.Receipt.ID + ".json"
	}
	c.Attachment(name)
	c.Set(fiber.HeaderContentType, fiber.MIMEOctetStream)
	if body.Redacted {
		return c.Send(body.JSON)
	}
	return c.Send(body.Raw)
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
