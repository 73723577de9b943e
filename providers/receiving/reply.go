package receiving

import (
	"net/http"

	"holdfast/providers/definition"
)

// Reply is an answer to the sender.
type Reply struct {
	Status int
	// ContentType is empty if there is no body.
	ContentType string
	// Headers are additional ones, by lower-case name.
	Headers map[string]string
	Body    []byte
}

// Replies are the statuses of the provider's answers: a 2xx only for durable events.
type Replies struct {
	Accepted    int
	Duplicate   int
	Unauthentic int
	TooLarge    int
	Invalid     int
	RateLimited int
	Unavailable int
}

// Replies returns the table of statuses.
func (g *Gate) Replies() Replies { return g.replies }

// Acknowledge returns the answer to durable events, with the given status: in the definition's own form if it has one, else
// with the usual body, a JSON object. Durable events are acknowledged even if that form fails.
func (g *Gate) Acknowledge(status int, usual []byte) Reply {
	if hasNoBody(status) {
		return Reply{Status: status}
	}
	if g.replyForm != nil {
		if body, err := g.replyForm.answer(usual); err == nil {
			return g.replyForm.reply(status, body)
		}
	}
	return Reply{Status: status, ContentType: jsonType, Body: usual}
}

func (c compiler) newReplies(d definition.Replies) Replies {
	return Replies{
		Accepted:    c.success("replies.accepted", d.Accepted, http.StatusAccepted),
		Duplicate:   c.success("replies.duplicate", d.Duplicate, http.StatusOK),
		Unauthentic: c.refusal("replies.unauthentic", d.Unauthentic, http.StatusUnauthorized),
		TooLarge:    c.refusal("replies.too_large", d.TooLarge, http.StatusRequestEntityTooLarge),
		Invalid:     c.refusal("replies.invalid", d.Invalid, http.StatusBadRequest),
		RateLimited: c.refusal("replies.rate_limited", d.RateLimited, http.StatusTooManyRequests),
		Unavailable: c.refusal("replies.unavailable", d.Unavailable, http.StatusServiceUnavailable),
	}
}

// success validates the status of an answer that tells the sender not to retry.
func (c compiler) success(field string, status, otherwise int) int {
	if status == 0 {
		return otherwise
	}
	if status < 200 || status > 299 {
		c.Add(field, "%d is not a 2xx, so that the sender would send again what has been taken", status)
	}
	return status
}

// refusal validates the status of an answer to an event that wasn't stored. A status below 400 would promise that it was.
func (c compiler) refusal(field string, status, otherwise int) int {
	if status == 0 {
		return otherwise
	}
	if status < 400 || status > 599 {
		c.Add(field, "%d is neither a 4xx nor a 5xx, so that the sender would take for stored what is lost", status)
	}
	return status
}
