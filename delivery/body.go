package delivery

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast/event"
	"holdfast/providers/jq"
)

const (
	contentJSON       = "application/json"
	contentCloudEvent = "application/cloudevents+json; charset=UTF-8"
	// maxBody bounds the result of a body expression, in bytes.
	maxBody = 4 << 20
)

// Body is what an endpoint or a queue gets.
type Body struct {
	Bytes       []byte
	ContentType string
	// Attributes are those of a CloudEvent in binary mode, without datacontenttype, which is ContentType.
	Attributes []Attribute
}

// Attribute is one of a CloudEvent. Its value is valid UTF-8.
type Attribute struct{ Name, Value string }

// IsNamedBody reports whether a subscription's body is a name rather than an expression.
func IsNamedBody(body string) bool {
	return slices.Contains([]string{"", BodyRaw, BodyEnvelope, BodyCloudEvents, BodyCloudEventsBinary}, body)
}

// Body returns a message in the form that a subscription declares.
func (e *Expressions) Body(ctx context.Context, s Subscription, m Message) (Body, error) {
	switch s.Body {
	case "", BodyRaw:
		return Body{Bytes: m.Body, ContentType: m.contentType()}, nil
	case BodyEnvelope:
		text, err := m.Envelope()
		return Body{Bytes: text, ContentType: contentJSON}, err
	case BodyCloudEventsBinary:
		return Body{Bytes: m.Body, ContentType: m.contentType(), Attributes: m.attributes()}, nil
	case BodyCloudEvents:
		text, err := m.cloudEvent()
		return Body{Bytes: text, ContentType: contentCloudEvent}, err
	}
	value, err := e.First(ctx, "body", JQ(s.Body), m.Input())
	if err != nil {
		return Body{}, err
	}
	text, err := jq.Marshal(value, maxBody)
	return Body{Bytes: text, ContentType: contentJSON}, err
}

// contentType returns the content type of the received event.
func (m Message) contentType() string {
	kept := m.Receipt.Headers["content-type"]
	if kept == "" || strings.ContainsFunc(kept, unicode.IsControl) {
		return contentJSON
	}
	return kept
}

// attributes returns the event as a CloudEvent without its data. Its ID is the event's, and its source /PROVIDER/SOURCE.
func (m Message) attributes() []Attribute {
	r := m.Receipt
	source := "/" + url.PathEscape(r.Provider)
	if r.Source != "" && r.Source != r.Provider {
		source += "/" + url.PathEscape(r.Source)
	}
	all := []Attribute{
		{"specversion", "1.0"}, {"id", r.ID}, {"source", source}, {"type", cmp.Or(printable(m.Type), "unknown")},
		{"time", stamp(m.OccurredAt)},
	}
	if m.PossibleDuplicateOf != "" {
		all = append(all, Attribute{"possibleduplicateof", m.PossibleDuplicateOf})
	}
	return all
}

// printable replaces what no attribute of a CloudEvent may have: bytes that aren't UTF-8, and control characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// cloudEvent returns the event as a CloudEvent in the JSON format: its body is data if it is JSON or text, else data_base64.
func (m Message) cloudEvent() ([]byte, error) {
	kind, value := m.data()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	all := make(map[string]any, 8)
	for _, one := range m.attributes() {
		all[one.Name] = one.Value
	}
	all["datacontenttype"], all[kind] = m.contentType(), value
	if err := encoder.Encode(all); err != nil {
		return nil, event.Rejectf("malformed_json", "the event can't be put into a CloudEvent")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// data returns the body as a member of a CloudEvent in the JSON format. JSON stays as it is written, but for white space.
func (m Message) data() (member string, value any) {
	text := event.WithoutMark(m.Body)
	switch {
	case utf8.Valid(text) && json.Valid(text):
		return "data", json.RawMessage(text)
	case utf8.Valid(text) && !strings.Contains(m.contentType(), "json"):
		return "data", string(text)
	}
	return "data_base64", base64.StdEncoding.EncodeToString(m.Body)
}

// EscapedAttribute returns an attribute's value for a header of HTTP, as CloudEvents' binding says: a space, a quote, a percent
// sign and what isn't printable ASCII are percent-encoded.
func EscapedAttribute(value string) string {
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '%' {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)|0x100, 16)[1:]))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
