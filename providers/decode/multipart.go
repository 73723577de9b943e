package decode

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/event"
)

// MultipartType is the media type of forms with files.
const MultipartType = "multipart/form-data"

// Limits of a multipart form. The content of files isn't copied, and counts for none of them.
const (
	maxParts      = 1000
	maxPartName   = 256
	maxPartLines  = 16      // of a part's headers
	maxPartHeader = 4 << 10 // of these lines together, in bytes
	maxPartFields = 4 << 20 // of all fields together, in bytes
	maxBoundary   = 70
)

var errNotMultipart = errors.New("not a multipart form")

// formPart is one part of a form. A file's content is reduced to its size and hash.
type formPart struct {
	name, filename, contentType string
	isFile                      bool
	text                        []byte
	size                        int64
	sum                         [sha256.Size]byte
}

// boundaryIn returns the boundary that a body begins with; "" if it begins with none. The one that the content type names isn't
// read: no signature covers it, so that others could cut a signed body at any line of it.
func boundaryIn(body []byte) string {
	line, _, found := bytes.Cut(body, []byte("\n"))
	line = bytes.TrimRight(line, " \t\r")
	boundary, ok := bytes.CutPrefix(line, []byte("--"))
	if !ok || !found || len(boundary) == 0 || len(boundary) > maxBoundary {
		return ""
	}
	return string(boundary)
}

// formParts reads the parts of a body in their order. Parts without a name, and bodies without an end, are errors.
func formParts(body []byte) (parts []formPart, err error) {
	boundary := boundaryIn(body)
	if boundary == "" || !headersFit(body, boundary) {
		return nil, errNotMultipart
	}
	reader, room := multipart.NewReader(bytes.NewReader(body), boundary), maxPartFields
	for {
		raw, err := reader.NextRawPart()
		switch {
		case errors.Is(err, io.EOF) && len(parts) > 0:
			return parts, nil
		case err != nil, len(parts) == maxParts:
			return nil, errNotMultipart
		}
		one, err := readPart(raw, room)
		if err != nil {
			return nil, err
		}
		parts, room = append(parts, one), room-len(one.text)
	}
}

// SameForm reports whether two bodies are forms with the same parts in the same order: only the boundary between them may differ.
func SameForm(a, b []byte) bool {
	x, err := formParts(a)
	if err != nil {
		return false
	}
	y, err := formParts(b)
	return err == nil && slices.EqualFunc(x, y, formPart.equal)
}

func (p formPart) equal(other formPart) bool {
	return p.name == other.name && p.isFile == other.isFile && p.filename == other.filename && p.contentType == other.contentType &&
		p.size == other.size && p.sum == other.sum && bytes.Equal(p.text, other.text)
}

// headersFit reports whether the headers of all parts are within their limits, without reading them: a short line takes many
// times its length in memory.
func headersFit(body []byte, boundary string) bool {
	delimiter, lines, size, inHeaders := []byte("--"+boundary), 0, 0, false
	for len(body) > 0 {
		line, rest, _ := bytes.Cut(body, []byte("\n"))
		body = rest
		switch {
		case bytes.Equal(bytes.TrimRight(line, " \t\r"), delimiter):
			lines, size, inHeaders = 0, 0, true
		case !inHeaders:
		case len(bytes.TrimRight(line, "\r")) == 0:
			inHeaders = false
		default:
			if lines, size = lines+1, size+len(line); lines > maxPartLines || size > maxPartHeader {
				return false
			}
		}
	}
	return true
}

func readPart(raw *multipart.Part, room int) (p formPart, err error) {
	kind, params, err := mime.ParseMediaType(raw.Header.Get("Content-Disposition"))
	if err != nil || kind != "form-data" || params["name"] == "" || len(params["name"]) > maxPartName ||
		!utf8.ValidString(params["name"]) || len(raw.Header["Content-Disposition"]) != 1 {
		return p, errNotMultipart
	}
	p.name, p.contentType = params["name"], raw.Header.Get("Content-Type")
	if p.filename, p.isFile = params["filename"]; p.isFile {
		hash := sha256.New()
		p.size, err = io.Copy(hash, raw)
		hash.Sum(p.sum[:0])
		return p, err
	}
	p.text, err = io.ReadAll(io.LimitReader(raw, int64(room)+1))
	if err == nil && len(p.text) > room {
		err = errNotMultipart
	}
	return p, err
}

// value returns text, the base64 of bytes that aren't UTF-8, or what is known of a file.
func (p formPart) value() any {
	switch {
	case p.isFile:
		return map[string]any{
			"filename": toValidText(p.filename), "content_type": toValidText(p.contentType), "sha256": hex.EncodeToString(p.sum[:]),
			"size": json.Number(fmt.Sprint(p.size)),
		}
	case !utf8.Valid(p.text):
		return map[string]any{"base64": base64.StdEncoding.EncodeToString(p.text)}
	}
	return string(p.text)
}

func toValidText(s string) string { return string(bytes.ToValidUTF8([]byte(s), []byte("\ufffd"))) }

// decodeMultipart decodes a form with files: a single part is its value, repeated ones are a list.
func (d decoder) decodeMultipart(body []byte, identity [][]string, w Projection, exactly bool) (any, error) {
	parts, err := formParts(body)
	if err != nil {
		return nil, event.Rejectf("invalid_multipart", "the body isn't a multipart form that begins with its boundary")
	}
	out, seen := map[string]any{}, map[string]int{}
	for _, p := range parts {
		switch seen[p.name]++; seen[p.name] {
		case 1:
			out[p.name] = p.value()
		case 2:
			out[p.name] = []any{out[p.name], p.value()}
		default:
			out[p.name] = append(out[p.name].([]any), p.value())
		}
	}
	if nested, ok := out[d.jsonField].(string); ok && d.jsonField != "" {
		return decoder{as: "json"}.decode([]byte(nested), identity, w, exactly)
	}
	return out, nil
}

// multipartFields returns the texts of the fields by name. A file has none, and counts as one.
func multipartFields(body []byte) (map[string][]string, error) {
	parts, err := formParts(body)
	if err != nil {
		return nil, errMalformed
	}
	fields := map[string][]string{}
	for _, p := range parts {
		if !utf8.Valid(p.text) {
			return nil, errMalformed
		}
		fields[p.name] = append(fields[p.name], string(p.text))
	}
	return fields, nil
}

// EncodeMultipart returns a form with the fields, sorted by name: text as it is, other values as JSON.
func EncodeMultipart(fields map[string]any, boundary string) ([]byte, error) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	if err := w.SetBoundary(boundary); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		text, isText := fields[name].(string)
		if !isText {
			encoded, err := json.Marshal(fields[name])
			if err != nil {
				return nil, err
			}
			text = string(encoded)
		}
		header := textproto.MIMEHeader{}
		header.Set("Content-Disposition", mime.FormatMediaType("form-data", map[string]string{"name": name}))
		field, err := w.CreatePart(header)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(field, text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// IsMultipart reports whether a body begins with a boundary.
func IsMultipart(body []byte) bool { return boundaryIn(body) != "" }

// SetMultipart returns the form with another value of a field, or with what change makes of its JSON if the path is FIELD:PATH.
// The order of the fields is lost, and files are left out: it is for signing samples.
func SetMultipart(
	body []byte, path string, change func(text []byte, within string) ([]byte, error), value string,
) ([]byte, error) {
	fields, err := multipartFields(body)
	if err != nil {
		return nil, err
	}
	name, within, isNested := strings.Cut(path, ":")
	all := map[string]any{name: value}
	for other, texts := range fields {
		if other != name {
			all[other] = texts[0]
		}
	}
	if isNested && len(fields[name]) == 1 {
		text, err := change([]byte(fields[name][0]), within)
		if err != nil {
			return nil, err
		}
		all[name] = string(text)
	}
	return EncodeMultipart(all, boundaryIn(body))
}
