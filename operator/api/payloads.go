package api

import (
	"mime"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/httpapi"
)

// PayloadCodec encrypts and decrypts Temporal payloads. Input and output are temporal.api.common.v1.Payloads as JSON, which is
// what Temporal Web, temporal and tctl send to a codec endpoint. The text of an error says what is wrong with the payloads and
// is shown to callers; it contains nothing of them.
type PayloadCodec interface {
	EncodeJSON(payloads []byte) ([]byte, error)
	DecodeJSON(payloads []byte) ([]byte, error)
}

// translate serves only callers who may read raw bodies: a decrypted payload is one.
func (a *API) translate(by func(codec PayloadCodec, payloads []byte) ([]byte, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if kind, _, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType)); err != nil || kind != fiber.MIMEApplicationJSON {
			return httpapi.Refuse(httpapi.CodeMediaType)
		}
		if q := httpapi.QueryOf(c); q.Err != nil {
			return q.Err
		}
		translated, err := by(a.Payloads, c.BodyRaw())
		if err != nil {
			return &httpapi.RefusalError{Code: httpapi.CodeBadPayload, Detail: httpapi.Shortened(err.Error())}
		}
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.Send(translated)
	}
}
