package providers

import (
	"context"
	"fmt"
	"net/http"

	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// maxChallengeReply is in bytes: what a sender may have us say back.
const maxChallengeReply = 4096

// challenge answers a handshake, which is not an event.
type challenge struct {
	when, reply *jq.Expression
	status      int
	contentType string
}

func (c *compiler) newChallenges(defs []definition.Challenge) []challenge {
	var challenges []challenge
	for i, d := range defs {
		at := fmt.Sprintf("challenges[%d]", i)
		c.Required(at+".when", string(d.When))
		ch := challenge{
			when: c.Expression(at+".when", d.When), reply: c.Expression(at+".reply", d.Reply),
			status: c.success(at+".status", d.Status, http.StatusOK), contentType: d.ContentType,
		}
		if ch.contentType == "" {
			ch.contentType = "text/plain; charset=utf-8"
		}
		if decode.MediaType(ch.contentType) == "text/html" {
			c.Add(at+".content_type", "must not be HTML: the reply repeats what was sent")
		}
		challenges = append(challenges, ch)
	}
	return challenges
}

// Challenge answers an authentic request that is a handshake; ok is false if it is none.
func (p *Provider) Challenge(r *auth.Request) (reply Reply, ok bool) {
	if len(p.challenges) == 0 {
		return Reply{}, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), jq.Deadline)
	defer cancel()
	shown, _ := p.kept.Of(r)
	body, err := p.decoders.Decode(shown.Headers["content-type"], r.Body)
	if err != nil {
		return Reply{}, false
	}
	in := jq.NewInput(shown.Headers, shown.Query, shown.Path, body, nil)
	for i := range p.challenges {
		if reply, ok := p.challenges[i].answer(ctx, in); ok {
			return reply, true
		}
	}
	return Reply{}, false
}

// answer gives text as it is, and any other value as JSON.
func (c *challenge) answer(ctx context.Context, in jq.Input) (Reply, bool) {
	match, err := c.when.First(ctx, in, nil)
	if err != nil || match != true {
		return Reply{}, false
	}
	reply := Reply{Status: c.status, ContentType: c.contentType}
	v, err := c.reply.First(ctx, in, nil)
	switch v := v.(type) {
	case nil:
	case string:
		reply.Body = []byte(v)
	default:
		reply.Body, err = jq.Marshal(v, maxChallengeReply)
	}
	return reply, err == nil && len(reply.Body) <= maxChallengeReply
}
