package providers

import (
	"time"

	"holdfast/event"
)

// Reply is an answer that the definition gives in place of the usual acknowledgement.
type Reply struct {
	Status      int
	ContentType string
	Body        []byte
}

// Replies are the statuses that the provider is answered with.
type Replies struct {
	Accepted    int
	Duplicate   int
	Unauthentic int
	TooLarge    int
	RateLimited int
	Unavailable int
}

// Rate is a number of requests in a span of time.
type Rate struct {
	Requests int
	Per      event.Duration
}

func (c *compiler) newRate(field string, d *rateDefinition) *Rate {
	if d == nil {
		return nil
	}
	if d.Requests < 1 {
		c.add(field+".requests", "want at least 1")
	}
	if per := time.Duration(d.Per); per < time.Second || per > time.Hour {
		c.add(field+".per", "want 1s to 1h")
	}
	return &Rate{Requests: d.Requests, Per: event.Duration(d.Per)}
}
