package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/internal/lint"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
	"holdfast/providers"
	"holdfast/providers/auth"
)

// maxPasted bounds a pasted request, in bytes; events are smaller.
const maxPasted = 2 << 20

type tryForm struct {
	// Request is the request's text; Sign signs it first, as the provider would.
	Request string
	Sign    bool
	// At is the time of arrival, "" for now; RemoteIP is the sender's address, "" for none.
	At, RemoteIP string
	// Definition is the text to try instead of the definition's file; "" if there is no such file to change.
	Definition string
}

// tryPage is the form and the result.
type tryPage struct {
	*providers.Provider

	Form tryForm
	// Failed is why the request can't be read, Rejected why the changed definition can't be used.
	Failed   string
	Rejected []string
	// Busy is set if nothing was tried, because other pages were being tried.
	Busy   bool
	Result *tried
	// Stored is the ID of the stored event that Result explains, or "".
	Stored string
	// Origin is the ID of the stored event whose page led here, or "": a changed request keeps it.
	Origin string
	// Path is the definition's file; "" if it is built in.
	Path string
	// Changed is set if Result is by a changed definition, of which Problems are what can't be meant. Unchecked is set if there
	// was no time to run all of its samples.
	Changed   bool
	Problems  []lint.Finding
	Unchecked bool
	// Refused are those of the problems for which a reload would refuse the changed definition; the others are in Problems.
	Refused []lint.Finding
}

// Unsigned reports that the result leaves open whether the request is authentic.
func (p tryPage) Unsigned() bool { return p.Stored != "" || p.Form.Sign || p.Changed }

// IsUsable reports that the changed definition can be loaded and parses the request.
func (p tryPage) IsUsable() bool {
	return p.Changed && p.Result != nil && p.Result.Refused == "" && len(p.Refused) == 0 && len(p.Result.Events) > 0 &&
		!slices.ContainsFunc(p.Result.Events, func(e triedEvent) bool { return e.DeadLetter != nil || e.Unmapped })
}

// tried is the result of trying a request.
type tried struct {
	lint.Explanation

	Facts []frame.Fact
	// As describes how the text was parsed; "" if it was signed here.
	As     string
	Events []triedEvent
}

type triedEvent struct {
	lint.ExplainedEvent

	Facts []frame.Fact
}

// showTry shows the form, filled with a sample if requested, or what the definition makes of a stored event.
func (c *Console) showTry(ctx *fiber.Ctx) error {
	p, err := c.providerOf(ctx)
	if err != nil {
		return err
	}
	data := tryPage{Provider: p, Path: c.Definitions.Path(p)}
	if data.Path != "" { // a file that is gone, or too large for the page, can't be changed there
		if source, err := c.Definitions.Source(p); err == nil && len(source) <= maxFormBody {
			data.Form.Definition = string(source)
		}
	}
	if id := ctx.Query("event"); id != "" {
		if err := c.explainStored(ctx, id, &data); err != nil {
			return err
		}
	}
	if sample := ctx.Query("sample"); sample != "" {
		if data.Form.Request, err = sampleText(p, sample); err != nil {
			return httpapi.BadParameter("sample")
		}
		data.Form.Sign = true
	}
	return c.showTried(ctx, data)
}

// explainStored explains a stored event of the page's provider.
func (c *Console) explainStored(ctx *fiber.Ctx, id string, page *tryPage) error {
	if c.API.Events == nil || uuid.Validate(id) != nil {
		return httpapi.BadParameter("event")
	}
	stored, err := c.API.EventDetail(ctx.UserContext(), id, httpapi.IsViewer(ctx))
	if err != nil {
		return err
	}
	if stored.Receipt.Provider != page.Name() || stored.Body.Redacted {
		return httpapi.BadParameter("event")
	}
	done, ok := c.startTrying(ctx.UserContext())
	if !ok {
		page.Busy = true
		ctx.Status(fiber.StatusServiceUnavailable)
		return nil
	}
	defer done()
	one := lint.ExplainStored(page.Provider, stored.Receipt, stored.Body.Raw)
	page.Stored, page.Origin = stored.ID, stored.ID
	page.Result = &tried{Events: []triedEvent{{one, pairsOf(one.Facts())}}}
	if isText := utf8.Valid(stored.Body.Raw) && len(stored.Body.Raw) <= maxPasted; isText && stored.Receipt.Root == nil {
		page.Form.Request, page.Form.Sign = headersText(stored.Receipt.Headers)+"\n"+string(stored.Body.Raw), true
	}
	return nil
}

// headersText writes headers, one a line.
func headersText(headers map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		text.WriteString(name + ": " + headers[name] + "\n")
	}
	return text.String()
}

func (c *Console) showTried(ctx *fiber.Ctx, data tryPage) error {
	return c.Show(ctx, "try", frame.Page{
		Title: "Try " + data.Name(), Section: "Providers", Data: data, Guide: "/add-a-provider#rules-that-find-nothing",
	})
}

// sampleText returns a sample with its headers and body, as a user would paste it.
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

// tryRequest shows what would happen to the request. It changes nothing, so it responds with the page itself.
func (c *Console) tryRequest(ctx *fiber.Ctx) error {
	p, err := c.providerOf(ctx)
	if err != nil {
		return err
	}
	data := tryPage{Provider: p, Path: c.Definitions.Path(p), Form: tryForm{
		Request: ctx.FormValue("request"), Sign: ctx.FormValue("sign") != "", At: strings.TrimSpace(ctx.FormValue("at")),
		RemoteIP: strings.TrimSpace(ctx.FormValue("remote_ip")), Definition: ctx.FormValue("definition"),
	}}
	if len(data.Form.Request) > maxPasted || !utf8.ValidString(data.Form.Request) {
		return httpapi.BadField("request")
	}
	if id := ctx.FormValue("event"); uuid.Validate(id) == nil {
		data.Origin = id
	}
	switch c.tryForm(ctx.UserContext(), &data); {
	case data.Busy:
		ctx.Status(fiber.StatusServiceUnavailable)
	case data.Failed != "" || data.Rejected != nil:
		ctx.Status(fiber.StatusBadRequest)
	}
	return c.showTried(ctx, data)
}

const (
	// busyAfter is how long a page waits for the ones that are being tried.
	busyAfter = 2 * time.Second
	// samplesTimeout is how long the samples of a changed definition may take. All of them can take minutes.
	samplesTimeout = 3 * time.Second
)

// startTrying waits until no other page runs a definition: one at a time, since a body can be large and a changed definition
// slow. Unless it reports ok, the page shows that the console is busy. Call done at the end.
func (c *Console) startTrying(ctx context.Context) (done func(), ok bool) {
	ctx, cancel := context.WithTimeout(ctx, busyAfter)
	defer cancel()
	select {
	case c.trying <- struct{}{}:
		return func() { <-c.trying }, true
	case <-ctx.Done():
		return nil, false
	}
}

// tryForm tries the form's request, with the form's definition if it differs from the one in use.
func (c *Console) tryForm(ctx context.Context, page *tryPage) {
	p, form := page.Provider, page.Form
	done, ok := c.startTrying(ctx)
	if !ok {
		page.Busy = true
		return
	}
	defer done()
	if page.Path != "" && form.Definition != "" {
		draft, err := c.Definitions.Draft(p, []byte(strings.ReplaceAll(form.Definition, "\r\n", "\n"))) // as browsers write line ends
		if err != nil {
			page.Rejected = strings.Split(err.Error(), "\n")
			return
		}
		if page.Changed = isOther(draft, p); page.Changed {
			p, form.Sign = draft, true
			problems, all := lint.Problems(draft, samplesTimeout)
			page.Refused, page.Unchecked = lint.Refused(problems, page.Provider, samplesTimeout), !all
			page.Problems = slices.DeleteFunc(problems, func(f lint.Finding) bool { return slices.Contains(page.Refused, f) })
		}
	}
	var err error
	if page.Result, err = c.try(p, form); err != nil {
		page.Failed = err.Error()
	}
}

// isOther reports whether two definitions differ, if only by their samples.
func isOther(a, b *providers.Provider) bool {
	textOfA, err := a.Definition()
	textOfB, err2 := b.Definition()
	return a.Digest() != b.Digest() || err != nil || err2 != nil || !bytes.Equal(textOfA, textOfB)
}

// try runs a request through authentication and parsing. An error says what is wrong with the form.
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
		return c.newTried(p, lint.Explain(p, r, now), ""), nil
	}
	e, as := lint.ExplainPasted(p, r, now)
	return c.newTried(p, e, as), nil
}

var (
	errTime    = errors.New("invalid time of arrival: use RFC 3339 (2026-11-22T19:30:00Z)")
	errAddress = errors.New("invalid address of the sender")
	errSign    = errors.New("the definition has no scheme that can sign this request")
)

// sign signs the request with a temporary secret, because no configured secret may sign what a user has pasted, and whether one
// is configured doesn't change what the request means.
func sign(p *providers.Provider, r *auth.Request, now time.Time) (*providers.Provider, error) {
	with := p.Bound(func(string) []string { return auth.TrialSecrets() }).Certified(auth.TrialCertificates).Keyed(auth.TrialKeySets)
	r.Body = bytes.TrimSuffix(r.Body, []byte("\n"))
	if with.SignWithSecrets(r, now) != nil {
		return nil, errSign
	}
	return with, nil
}

func (c *Console) newTried(p *providers.Provider, e lint.Explanation, as string) *tried {
	t := &tried{Explanation: e, As: as, Facts: pairsOf(e.Facts(p, c.Replaying))}
	for i := range e.Events {
		t.Events = append(t.Events, triedEvent{e.Events[i], pairsOf(e.Events[i].Facts())})
	}
	return t
}

// pairsOf takes alternating names and values, and leaves out empty values.
func pairsOf(texts []string) (facts []frame.Fact) {
	for i := 0; i+1 < len(texts); i += 2 {
		if texts[i+1] != "" {
			facts = append(facts, frame.Fact{texts[i], texts[i+1]})
		}
	}
	return facts
}
