package receiving

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"mime"
	"strings"

	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// jsonType is the default content type of answers.
const jsonType = "application/json"

// answerForm formats an answer: the value of an expression, as a body of a content type. No value and null are an empty body. A
// text is the body verbatim, unless the type is JSON.
type answerForm struct {
	contentType string
	value       *jq.Expression
}

func (c compiler) newForm(at string, value *jq.Expression, contentType string) answerForm {
	f := answerForm{contentType: jsonType, value: value}
	if contentType == "" {
		return f
	}
	f.contentType = contentType
	media, _, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil || !strings.Contains(media, "/"):
		c.Add(at, "invalid media type %q: use application/json, text/plain or text/xml, for example", contentType)
	case media == "text/html":
		c.Add(at, "must not be HTML: an answer may repeat what was sent")
	}
	return f
}

var (
	errNoText  = errors.New("isn't text, which every type except JSON needs")
	errTooLong = errors.New("is too long")
	errNotXML  = errors.New("isn't well-formed XML")
)

// write returns the body of an answer, which may be empty.
func (f answerForm) write(in jq.Input) ([]byte, error) {
	v, err := f.value.Once(in)
	if err != nil {
		return nil, f.value.Failed(err)
	}
	text, isText := v.(string)
	var body []byte
	switch {
	case v == nil:
	case isText && !f.isJSON():
		body = []byte(text)
	case !f.isJSON():
		return nil, errNoText
	default:
		if body, err = jq.Marshal(v, maxAnswer); err != nil {
			return nil, errTooLong
		}
	}
	if len(body) > maxAnswer {
		return nil, errTooLong
	}
	if !f.accepts(body) {
		return nil, errNotXML
	}
	return body, nil
}

// accepts reports whether a body is of the content type, as far as that can be checked. An empty body is valid for any type.
func (f answerForm) accepts(body []byte) bool {
	media := decode.MediaType(f.contentType)
	if len(body) == 0 || media != "text/xml" && media != "application/xml" && !strings.HasSuffix(media, "+xml") {
		return true
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	for elements := 0; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements > 0
		}
		if err != nil {
			return false
		}
		if _, begins := token.(xml.StartElement); begins {
			elements++
		}
	}
}

func (f answerForm) isJSON() bool {
	media := decode.MediaType(f.contentType)
	return media == jsonType || strings.HasSuffix(media, "+json")
}

// reply returns an answer with a body of this form.
func (f answerForm) reply(status int, body []byte) Reply {
	r := Reply{Status: status, Body: body}
	if len(body) > 0 {
		r.ContentType = f.contentType
	}
	return r
}

// usualReplies are sample inputs of replies.body: an accepted event, a duplicate, and a batch.
var usualReplies = []string{
	`{"ok":true,"queued":true,"request_id":"r","duration_ms":1,"events":[
	   {"workflow_id":"p:k","event_id":"e","event_hash":"000000000000","status":"accepted"}]}`,
	`{"ok":true,"queued":true,"duplicate":true,"request_id":"r","duration_ms":1,"events":[
	   {"workflow_id":"p:k","event_id":"e","event_hash":"000000000000","status":"processed","outcome":"processed",
	    "cached_result":{"result":"processed","processed_at":"2026-01-02T15:04:05Z","correlation_id":"c"}}]}`,
	`{"ok":true,"queued":true,"duplicate":true,"request_id":"r","duration_ms":1,"counts":{"accepted":0,"duplicate":1},"events":[
	   {"workflow_id":"p:k","event_id":"e","event_hash":"000000000000","status":"dead","dead_letter_id":1}]}`,
}

// newReplyForm compiles the body of replies, and tries it on the samples.
func (c compiler) newReplyForm(d definition.Replies) *answerForm {
	value := c.NewExpression("replies.body", d.Body)
	if value == nil {
		if d.ContentType != "" {
			c.Add("replies.content_type", "needs replies.body: the usual body is JSON")
		}
		return nil
	}
	f := c.newForm("replies.content_type", value, d.ContentType)
	for _, usual := range usualReplies {
		body, err := f.answer([]byte(usual))
		if err != nil {
			c.Add("replies.body", "fails on the usual body %s: %s", strings.Join(strings.Fields(usual), ""), err.Error())
			return nil
		}
		if len(body) > 0 && (hasNoBody(d.Accepted) || hasNoBody(d.Duplicate)) {
			c.Add("replies.body", "gives a body, which an answer with the status 204 or 205 has none of")
			return nil
		}
	}
	return &f
}

// answer returns the body that replaces the usual one, which is a JSON object.
func (f answerForm) answer(usual []byte) ([]byte, error) {
	v, err := decode.JSON(usual)
	if err != nil {
		return nil, err
	}
	fields, _ := v.(map[string]any)
	return f.write(jq.Input{Value: fields})
}

// hasNoBody reports whether HTTP forbids a body for a status.
func hasNoBody(status int) bool { return status == 204 || status == 205 }
