package providers

import (
	"context"
	"fmt"
	"net/http"
)

// maxChallengeReply is in bytes: what a sender may have us say back.
const maxChallengeReply = 4096

// challenge answers a handshake, which is not an event.
type challenge struct {
	when, reply *expression
	status      int
	contentType string
}

func (c *compiler) newChallenges(defs []challengeDefinition) []challenge {
	var challenges []challenge
	for i, d := range defs {
		at := fmt.Sprintf("challenges[%d]", i)
		c.required(at+".when", string(d.When))
		ch := challenge{
			when: c.expression(at+".when", d.When), reply: c.expression(at+".reply", d.Reply),
			status: c.success(at+".status", d.Status, http.StatusOK), contentType: d.ContentType,
		}
		if ch.contentType == "" {
			ch.contentType = "text/plain; charset=utf-8"
		}
		if mediaType(ch.contentType) == "text/html" {
			c.add(at+".content_type", "must not be HTML: the reply repeats what was sent")
		}
		challenges = append(challenges, ch)
	}
	return challenges
}

// Challenge answers an authentic request that is a handshake; ok is false if it is none.
func (p *Provider) Challenge(r *Request) (reply Reply, ok bool) {
	if len(p.challenges) == 0 {
		return Reply{}, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), evaluationDeadline)
	defer cancel()
	shown, _ := p.kept.keep(r)
	body, err := p.decoders.decode(shown.headers["content-type"], r.Body)
	if err != nil {
		return Reply{}, false
	}
	in := newInput(shown.headers, shown.query, shown.path, body, nil)
	for i := range p.challenges {
		if reply, ok := p.challenges[i].answer(ctx, in); ok {
			return reply, true
		}
	}
	return Reply{}, false
}

// answer gives text as it is, and any other value as JSON.
func (c *challenge) answer(ctx context.Context, in input) (Reply, bool) {
	match, err := c.when.first(ctx, in, nil)
	if err != nil || match != true {
		return Reply{}, false
	}
	reply := Reply{Status: c.status, ContentType: c.contentType}
	v, err := c.reply.first(ctx, in, nil)
	switch v := v.(type) {
	case nil:
	case string:
		reply.Body = []byte(v)
	default:
		reply.Body, err = marshal(v, maxChallengeReply)
	}
	return reply, err == nil && len(reply.Body) <= maxChallengeReply
}
