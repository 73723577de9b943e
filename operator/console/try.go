package console

import (
	"bytes"
	"crypto/rand"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"holdfast/operator/console/frame"
	"holdfast/operator/exchange"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/lint"
)

// maxPasted bounds a request that is tried, in bytes: an event is smaller.
const maxPasted = 2 << 20

// tryForm is what somebody has filled in.
type tryForm struct {
	// Request is the text; Sign has it signed first, as the provider would.
	Request string
	Sign    bool
	// At is the time of arrival, RemoteIP the address of the sender; "" is now, and nobody's.
	At, RemoteIP string
}

// tryPage is the form, and below it what would happen.
type tryPage struct {
	*providers.Provider

	Form   tryForm
	Failed string
	Result *tried
}

// tried is what would happen to a request. Nothing has.
type tried struct {
	lint.Explanation

	Facts []frame.Fact
	// As says how the text was taken; "" where it was signed here.
	As     string
	Events []triedEvent
}

type triedEvent struct {
	lint.ExplainedEvent

	Facts []frame.Fact
}

// showTry is the form, with a sample where one is asked for.
func (c *Console) showTry(ctx *fiber.Ctx) error {
	p, err := c.providerOf(ctx)
	if err != nil {
		return err
	}
	data := tryPage{Provider: p}
	if sample := ctx.Query("sample"); sample != "" {
		if data.Form.Request, err = sampleText(p, sample); err != nil {
			return exchange.BadParameter("sample")
		}
		data.Form.Sign = true
	}
	return c.showTried(ctx, data)
}

func (c *Console) showTried(ctx *fiber.Ctx, data tryPage) error {
	return c.Show(ctx, "try", frame.Page{Title: "Try " + data.Name(), Section: "Providers", Data: data})
}

// sampleText is a sample as somebody would paste it: headers and body.
func sampleText(p *providers.Provider, eventType string) (string, error) {
	r, err := p.Sample(eventType, strings.ToLower(rand.Text()[:8]), time.Now())
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		text.WriteString(name + ": " + r.Header[name][0] + "\n")
	}
	return text.String() + "\n" + string(r.Body), nil
}

// tryRequest says what would happen to the request. It changes nothing, so that its answer is the page itself.
func (c *Console) tryRequest(ctx *fiber.Ctx) error {
	p, err := c.providerOf(ctx)
	if err != nil {
		return err
	}
	data := tryPage{Provider: p, Form: tryForm{
		Request: ctx.FormValue("request"), Sign: ctx.FormValue("sign") != "", At: strings.TrimSpace(ctx.FormValue("at")),
		RemoteIP: strings.TrimSpace(ctx.FormValue("remote_ip")),
	}}
	if len(data.Form.Request) > maxPasted || !utf8.ValidString(data.Form.Request) {
		return exchange.BadField("request")
	}
	if data.Result, err = c.try(p, data.Form); err != nil {
		data.Failed = err.Error()
		ctx.Status(fiber.StatusBadRequest)
	}
	return c.showTried(ctx, data)
}

// try takes a request as far as the parse step. An error says what cannot be read of the form.
func (c *Console) try(p *providers.Provider, f tryForm) (*tried, error) {
	pasted, err := lint.ReadPasted(f.Request)
	if err != nil {
		return nil, err
	}
	r, err := pasted.Request(c.Definitions.Catalogue(), p, c.PublicURL)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if f.At != "" {
		if now, err = time.Parse(time.RFC3339, f.At); err != nil {
			return nil, errTime
		}
	}
	if f.RemoteIP != "" {
		if r.RemoteIP, err = netip.ParseAddr(f.RemoteIP); err != nil {
			return nil, errAddress
		}
	}
	if f.Sign {
		if p, err = sign(p, r, now); err != nil {
			return nil, err
		}
		return newTried(p, lint.Explain(p, r, now), ""), nil
	}
	e, as := lint.ExplainPasted(p, r, now)
	return newTried(p, e, as), nil
}

type formError string

func (e formError) Error() string { return string(e) }

const (
	errTime    formError = "invalid time of arrival: use RFC 3339 (2026-11-22T19:30:00Z)"
	errAddress formError = "the address of the sender is none"
	errSign    formError = "the definition has no scheme that this request can be signed with"
)

// sign makes the request authentic, with a secret that is thrown away: whether one is configured makes no difference to what the
// request means, and none is used for what somebody has pasted.
func sign(p *providers.Provider, r *auth.Request, now time.Time) (*providers.Provider, error) {
	with := p.Bound(func(string) []string { return auth.TrialSecrets() }).Certified(auth.TrialCertificates)
	r.Body = bytes.TrimSuffix(r.Body, []byte("\n"))
	if with.SignWithSecrets(r, now) != nil {
		return nil, errSign
	}
	return with, nil
}

func newTried(p *providers.Provider, e lint.Explanation, as string) *tried {
	t := &tried{Explanation: e, As: as, Facts: pairsOf(e.Facts(p))}
	for i := range e.Events {
		t.Events = append(t.Events, triedEvent{e.Events[i], pairsOf(e.Events[i].Facts())})
	}
	return t
}

// pairsOf takes names and values in turn, and leaves out what is empty.
func pairsOf(texts []string) (facts []frame.Fact) {
	for i := 0; i+1 < len(texts); i += 2 {
		if texts[i+1] != "" {
			facts = append(facts, frame.Fact{texts[i], texts[i+1]})
		}
	}
	return facts
}
