package ingress

import (
	"context"
	"errors"

	"github.com/gofiber/fiber/v2"

	"holdfast/providers/auth"
	"holdfast/providers/decode"
)

// unpack decompresses the body of a request. Everything after it sees only the plain body, which is also what is stored: it is
// the event that the sender means, while compression serves the way to us, like TLS. Receipts keep neither the signature nor the
// coding, so the compressed bytes would prove no more.
// It then waits for its turn to be decoded.
func (s *Server) unpack(o *observation, request *auth.Request) (err error) {
	ctx, cancel := context.WithTimeout(o.ctx, s.BodyTimeout)
	defer cancel()
	request.Body, err = decode.Gunzip(ctx, request.Body, o.definition.BodyLimit(s.BodyLimit), o.memory.Reserve)
	if err != nil {
		return err
	}
	o.endTurn() // the turn of the compressed body
	if o.turn, err = decode.Turn(ctx, len(request.Body)); err != nil {
		return decode.ErrNoMemory
	}
	return nil
}

// refusePacked answers for a body that can't be decompressed.
func (s *Server) refusePacked(c *fiber.Ctx, err error) error {
	switch {
	case errors.Is(err, decode.ErrUnpackedTooLarge):
		return s.refuse(c, codeTooLarge)
	case errors.Is(err, decode.ErrNoMemory):
		return s.refuse(c, codeBodyMemory)
	case errors.Is(err, decode.ErrNotGzip):
		return s.refuseSaying(c, codeBadRequest, err.Error())
	}
	return s.refuseUnavailable(c, err)
}
