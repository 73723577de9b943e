package receiving

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// MaxChallengeReply limits what an authentic sender can have us echo, in bytes.
const MaxChallengeReply = 4096

// maxOpenReply, in bytes, limits what anyone can have us echo, in each part of the reply.
const maxOpenReply = 512

type challenge struct {
	method string
	// schemes authenticate this handshake only; nil uses the definition's own.
	schemes *auth.Authenticator
	// open means that the handshake needs no authentication.
	open               bool
	inBase64           bool // the HMAC
	when, reply, hmac  *jq.Expression
	headers            map[string]*jq.Expression
	readHeaders, query []string
	status             int
	contentType        string
}

func (c compiler) newChallenges(defs []definition.Challenge, paths []auth.Path) []challenge {
	var challenges []challenge
	for i, d := range defs {
		challenges = append(challenges, c.newChallenge(fmt.Sprintf("challenges[%d]", i), d, paths))
	}
	return challenges
}

func (c compiler) newChallenge(at string, d definition.Challenge, paths []auth.Path) challenge {
	c.Required(at+".when", string(d.When))
	ch := challenge{
		method: c.OneOf(at+".method", d.Method, http.MethodPost, http.MethodGet, http.MethodHead, http.MethodOptions),
		open:   d.Open != "",
		when:   c.NewExpression(at+".when", d.When), reply: c.NewExpression(at+".reply", d.Reply),
		hmac: c.NewExpression(at+".hmac", d.HMAC), headers: map[string]*jq.Expression{},
		inBase64: c.OneOf(at+".hmac_encoding", d.HMACEncoding, "hex", "base64") == "base64",
		status:   c.success(at+".status", d.Status, http.StatusOK), contentType: d.ContentType,
	}
	for name, source := range d.Headers {
		ch.headers[c.HeaderName(at+".headers", name)] = c.NewExpression(at+".headers", source)
	}
	if d.Auth != nil {
		ch.schemes = auth.NewOne(&c.Problems, at+".auth", *d.Auth, paths)
		_, _, path := ch.schemes.Hidden()
		c.ReceiptFields = c.ReceiptFields.WithoutPath(path)
	}
	if ch.contentType == "" {
		ch.contentType = "text/plain; charset=utf-8"
	}
	if decode.MediaType(ch.contentType) == "text/html" {
		c.Add(at+".content_type", "must not be HTML: the reply repeats what was sent")
	}
	c.checkChallenge(at, d, &ch)
	return ch
}

// checkChallenge records what the expressions read, and refuses what strangers must not be able to request.
func (c compiler) checkChallenge(at string, d definition.Challenge, ch *challenge) {
	for _, x := range append(slices.Collect(maps.Values(ch.headers)), ch.when, ch.reply, ch.hmac) {
		if x == nil {
			continue
		}
		ch.readHeaders = append(ch.readHeaders, x.Dependencies.Headers...)
		ch.query = append(ch.query, x.Dependencies.Query...)
		if x.Dependencies.Body && (ch.open || ch.method != http.MethodPost) {
			c.Add(at, "can only read headers and query: the body isn't authenticated, or there is none")
		}
	}
	if ch.open && (d.Auth != nil || d.HMAC != "") {
		c.Add(at+".open",
			"has neither auth nor hmac: with the one it is not open, and with the other anybody could have anything signed")
	}
}

// Answers reports whether a handshake, or an event, uses this method. Events by POST go without saying.
func (g *Gate) Answers(method string) bool {
	return g.takesGet && method == http.MethodGet ||
		slices.ContainsFunc(g.challenges, func(ch challenge) bool { return ch.method == method })
}

// Handshake answers a request that is a handshake before the definition's own schemes are checked: one with a method other than
// POST, one with a scheme of its own, or one that is open to all. Nothing of it is stored. isOne is false for any other
// request, and for a POST whose handshake isn't authentic, which may still be an event; the error is a *denial.Error.
func (g *Gate) Handshake(r *auth.Request, now time.Time) (reply Reply, isOne bool, err error) {
	for i := range g.challenges {
		ch := &g.challenges[i]
		if ch.method != r.Method || ch.method == http.MethodPost && !ch.open && ch.schemes == nil {
			continue
		}
		a := ch.schemes
		if a == nil {
			a = g.Authenticator
		}
		a = a.Reading(g.decoders)
		if !ch.open {
			if err = a.Authenticate(r, now); err != nil {
				continue
			}
		}
		mac := func(text string) (string, bool) { return a.MAC(r, text, now) }
		if ch.schemes != nil && !ch.schemes.HasKey() {
			mac = g.OwnMAC
		}
		if reply, ok := ch.answer(mac, r, nil); ok {
			return reply, true, nil
		}
	}
	return Reply{}, r.Method != http.MethodPost && err != nil && !g.MayBeGetEvent(r), err
}

// Challenge answers an authentic request that is a handshake; ok is false if it isn't one.
func (g *Gate) Challenge(r *auth.Request, now time.Time) (reply Reply, ok bool) {
	if !slices.ContainsFunc(g.challenges, func(ch challenge) bool { return ch.isPlain() }) {
		return Reply{}, false
	}
	shown, _, _ := g.kept.Of(r)
	body, err := g.decoders.Decode(shown.Headers["content-type"], r.Body)
	if err != nil {
		return Reply{}, false
	}
	for i := range g.challenges {
		if ch := &g.challenges[i]; ch.isPlain() {
			mac := func(text string) (string, bool) { return g.MAC(r, text, now) }
			if reply, ok := ch.answer(mac, r, body); ok {
				return reply, true
			}
		}
	}
	return Reply{}, false
}

// isPlain reports whether the definition's own schemes must authenticate the handshake, as for events.
func (ch *challenge) isPlain() bool {
	return ch.method == http.MethodPost && !ch.open && ch.schemes == nil
}

// answer returns text verbatim, and any other value as JSON.
func (ch *challenge) answer(mac func(string) (string, bool), r *auth.Request, body any) (Reply, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), jq.Deadline)
	defer cancel()
	in := jq.NewInput(named(r.Header, ch.readHeaders), named(r.Query, ch.query), r.PathParams, body, nil)
	match, err := ch.when.First(ctx, in, nil)
	if err != nil || match != true {
		return Reply{}, false
	}
	if ch.hmac != nil {
		v, err := ch.hmac.First(ctx, in, nil)
		text, isText := v.(string)
		if err != nil || !isText {
			return Reply{}, false
		}
		sum, ok := mac(text)
		if !ok {
			return Reply{}, false
		}
		if in.Value["hmac"] = sum; ch.inBase64 {
			raw, err := hex.DecodeString(sum)
			if err != nil {
				return Reply{}, false
			}
			in.Value["hmac"] = base64.StdEncoding.EncodeToString(raw)
		}
	}
	return ch.write(ctx, in)
}

func (ch *challenge) write(ctx context.Context, in jq.Input) (reply Reply, ok bool) {
	reply = Reply{Status: ch.status, ContentType: ch.contentType}
	if len(ch.headers) > 0 {
		reply.Headers = map[string]string{}
	}
	for name, x := range ch.headers {
		v, err := x.First(ctx, in, nil)
		text, isText := v.(string)
		if err != nil || !isText || !isPlainText(text, maxOpenReply) {
			return Reply{}, false
		}
		reply.Headers[name] = text
	}
	v, err := ch.reply.First(ctx, in, nil)
	switch v := v.(type) {
	case nil:
	case string:
		reply.Body = []byte(v)
	default:
		reply.Body, err = jq.Marshal(v, MaxChallengeReply)
	}
	if ch.open && !isPlainText(string(reply.Body), maxOpenReply) {
		return Reply{}, false
	}
	return reply, err == nil && len(reply.Body) <= MaxChallengeReply
}

// isPlainText reports whether a text is short and visible ASCII.
func isPlainText(s string, size int) bool {
	return len(s) <= size && !slices.ContainsFunc([]byte(s), func(c byte) bool { return c < ' ' || c > '~' })
}

// named returns the single values of the names.
func named(values map[string][]string, names []string) map[string]string {
	found := map[string]string{}
	for _, name := range names {
		if all := values[name]; len(all) == 1 {
			found[name] = all[0]
		}
	}
	return found
}

// changed returns the handshakes with another authenticator, where they have their own.
func changed(challenges []challenge, change func(*auth.Authenticator) *auth.Authenticator) []challenge {
	out := slices.Clone(challenges)
	for i := range out {
		if out[i].schemes != nil {
			out[i].schemes = change(out[i].schemes)
		}
	}
	return out
}
