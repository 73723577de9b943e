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

// payloads is the JSON form of temporal.api.common.v1.Payloads.
type payloads struct {
	Payloads []struct {
		Metadata         map[string][]byte `json:"metadata,omitempty"`
		Data             []byte            `json:"data,omitempty"`
		ExternalPayloads []any             `json:"externalPayloads,omitempty"`
	} `json:"payloads,omitempty"`
}

func (a *API) payloadRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Post("encodePayloads", "/codec/encode", "Encrypt Temporal payloads", a.translate(PayloadCodec.EncodeJSON)).
			Explain("For `temporal --codec-endpoint URL/codec` and the like. Without payload keys, payloads are returned unchanged.").
			Takes(payloads{}).Returns(fiber.StatusOK, payloads{}),
		httpapi.Post("decodePayloads", "/codec/decode", "Decrypt Temporal payloads", a.translate(PayloadCodec.DecodeJSON)).
			Explain("For `temporal --codec-endpoint URL/codec`, `tctl --codec_endpoint URL/codec` and Temporal Web. Payloads that "+
				"aren't encrypted are returned unchanged, except that text that isn't JSON becomes a JSON string.").
			Takes(payloads{}).Returns(fiber.StatusOK, payloads{}),
	}
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
