package console

import (
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/internal/word"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/console/frame"
	"holdfast/operator/httpapi"
)

const nameHint = "Lower-case letters, digits, hyphens, underscores and dots. It can't be changed later."

// newDestinationPath is outside destinationsPath because a destination may be called "new".
const newDestinationPath = "/console/new-destination"

// destinationForm contains the fields of a destination. A new one contains the fields of both kinds.
func destinationForm(d delivery.Destination, isNew bool) *form {
	f := &form{Button: "Save", Back: destinationsPath}
	if isNew {
		f.Lead = "Events are delivered to a destination once a subscription selects them: create that next."
		f.Action, f.Button = newDestinationPath, "Create destination"
		f.Groups = append(f.Groups, fieldGroup{Fields: []*field{
			{Name: "name", Label: "Name", Hint: nameHint},
		}})
	} else {
		f.Action, f.Back, f.Hidden = destinationPath(d.Name)+"/edit", destinationPath(d.Name), versionOf(d.Version)
	}
	if isNew || d.HTTP != nil {
		f.Groups = append(f.Groups, httpFields(d.HTTP, isNew))
	}
	if isNew || d.Temporal != nil {
		f.Groups = append(f.Groups, queueFields(d.Temporal, isNew))
	}
	f.Groups = append(f.Groups, limitFields(d), retryFields(d))
	return f
}

func httpFields(h *delivery.HTTP, isNew bool) (g fieldGroup) {
	if h == nil {
		h = &delivery.HTTP{}
	}
	var headers strings.Builder
	for _, name := range h.Headers.Names() {
		headers.WriteString(name + ": " + h.Headers[name] + "\n")
	}
	hint := "One a line, as Name: value."
	if !isNew {
		hint += " " + delivery.MaskedHeader + " stands for the value that is stored."
	}
	g.Fields = []*field{
		{Name: "http.url", Label: "URL", Value: h.URL, Hint: "Where requests are sent: https://crm.example.com/hooks"},
		{Name: "http.headers", Label: "Headers", Kind: fieldArea, Value: headers.String(), Hint: hint},
		{
			Name: "http.certificate", Label: "Client certificate", Kind: fieldArea, Value: h.Certificate,
			Hint: "PEM, or a file below HOLDFAST_DELIVERIES_CERTIFICATES. Empty: none.",
		},
		{
			Name: "http.key", Label: "Its key", Kind: fieldArea, Value: h.Key,
			Hint: "PEM, stored as a secret, or a file. " + delivery.MaskedHeader + " keeps the stored one.",
		},
		{
			Name: "http.proxy", Label: "Proxy", Value: h.Proxy,
			Hint: "A name in HOLDFAST_PROXIES. Empty: HOLDFAST_PROXY decides. An admin can enter " + delivery.ProxyDirect + ": no proxy.",
		},
	}
	switch secret := (&field{Name: "secret", Label: "Secret", Kind: fieldSecret}); {
	case isNew:
		secret.Hint = "Signs the requests. Leave it empty to have one generated, which is shown once."
		g.Fields = append(g.Fields, secret)
	case !h.IsStandard() && h.Secrets == "":
		secret.Hint = "Leave empty to keep it. Required if you change the URL."
		g.Fields = append(g.Fields, secret)
	}
	return g
}

func queueFields(q *delivery.Temporal, isNew bool) (g fieldGroup) {
	if q == nil {
		q = &delivery.Temporal{}
	}
	if isNew {
		g.Title = "Or start workflows instead of sending requests"
	}
	g.Fields = []*field{
		{Name: "temporal.task_queue", Label: "Task queue", Value: q.TaskQueue, Hint: "Leave the URL empty."},
		{Name: "temporal.profile", Label: "Profile", Value: q.Profile, Hint: "Of TEMPORAL_CONFIG_FILE. Empty: Holdfast's Temporal."},
	}
	return g
}

func limitFields(d delivery.Destination) fieldGroup {
	requests, per := "", ""
	if d.Rate != nil {
		requests, per = textOfNumber(d.Rate.Requests), textOfDuration(d.Rate.Per)
	}
	return fieldGroup{Title: "Limits", Fields: []*field{
		{Name: "rate.requests", Label: "Max requests", Value: requests, Hint: "In each time below; empty: no rate limit."},
		{Name: "rate.per", Label: "… per", Value: per, Hint: "A duration; empty: 1s."},
		{Name: "in_flight", Label: "Max in flight", Value: textOfNumber(d.InFlight), Hint: "Empty: 16."},
		{Name: "timeout", Label: "Timeout of one attempt", Value: textOfDuration(d.Timeout), Hint: "Empty: 15s."},
		{Name: "keep", Label: "Keep deliveries for", Value: textOfDuration(d.Keep), Hint: "Empty: 720h, which is 30 days."},
	}}
}

func retryFields(d delivery.Destination) fieldGroup {
	var pauses []string
	for _, p := range d.Retry.Schedule {
		pauses = append(pauses, word.Duration(time.Duration(p)))
	}
	return fieldGroup{Title: "Retries and breaker", Fields: []*field{
		{
			Name: "retry.schedule", Label: "Pauses between attempts", Value: strings.Join(pauses, " "), Covers: []string{"retry"},
			Hint: "Durations: 5s 5m 1h. Empty: Standard Webhooks' pauses.",
		},
		{
			Name: "retry.attempts", Label: "Max attempts", Value: textOfNumber(d.Retry.Attempts),
			Hint: "Empty: one more than there are pauses.",
		},
		{
			Name: "breaker.failures", Label: "Breaker opens after", Value: textOfNumber(d.Breaker.Failures),
			Hint: "Failures in a row; empty: 5.",
		},
		{Name: "breaker.open", Label: "… and stays open for", Value: textOfDuration(d.Breaker.Open), Hint: "Empty: 30s."},
		{Name: "breaker.probes", Label: "Probes that close it", Value: textOfNumber(d.Breaker.Probes), Hint: "Empty: 3."},
		{
			Name: "disable_after", Label: "Disable after", Value: textOfDuration(d.DisableAfter),
			Hint: "How long it may fail; empty: 120h, which is 5 days.",
		},
	}}
}

// destination applies the form to d and keeps fields that the form doesn't show.
func (f *form) destination(d delivery.Destination) delivery.Destination {
	if name := f.field("name"); name != nil {
		d.Name = name.Value
	}
	url, headers, proxy := f.text("http.url"), f.headers(), f.text("http.proxy")
	if d.HTTP != nil || url != "" || headers != nil || proxy != "" {
		h := delivery.HTTP{}
		if d.HTTP != nil {
			h = *d.HTTP
		}
		h.URL, h.Headers, h.Proxy = url, headers, proxy
		h.Certificate, h.Key = f.text("http.certificate"), f.text("http.key")
		d.HTTP = &h
	}
	queue := delivery.Temporal{TaskQueue: f.text("temporal.task_queue"), Profile: f.text("temporal.profile")}
	if d.Temporal != nil || queue != (delivery.Temporal{}) {
		d.Temporal = &queue
	}
	d.Rate = f.rate()
	d.InFlight, d.Timeout, d.Keep = f.number("in_flight"), f.duration("timeout"), f.duration("keep")
	d.DisableAfter = f.duration("disable_after")
	d.Breaker = delivery.Breaker{
		Failures: f.number("breaker.failures"), Open: f.duration("breaker.open"), Probes: f.number("breaker.probes"),
	}
	d.Retry.Attempts, d.Retry.Schedule = f.number("retry.attempts"), nil
	for _, text := range f.words("retry.schedule") {
		d.Retry.Schedule = append(d.Retry.Schedule, f.durationOf("retry.schedule", text))
	}
	return d
}

func (f *form) rate() *delivery.Rate {
	requests, per := f.number("rate.requests"), f.duration("rate.per")
	switch {
	case f.text("rate.requests") == "" && per == 0:
		return nil
	case f.text("rate.per") == "":
		per = event.Duration(1e9)
	}
	return &delivery.Rate{Requests: requests, Per: per}
}

// headers parses one header per line; nil if there are none.
func (f *form) headers() (all delivery.Headers) {
	for line := range strings.Lines(f.text("http.headers")) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			f.refuse("http.headers", "must have one header a line, as Name: value")
			continue
		}
		if all == nil {
			all = delivery.Headers{}
		}
		name = strings.TrimSpace(name)
		if slices.ContainsFunc(all.Names(), func(other string) bool { return strings.EqualFold(other, name) }) {
			f.refuse("http.headers", "have one name twice")
		}
		all[name] = strings.TrimSpace(value)
	}
	return all
}

func (c *Console) newDestination(ctx *fiber.Ctx) error {
	return c.showForm(ctx, "New destination", destinationForm(delivery.Destination{}, true))
}

func (c *Console) createDestination(ctx *fiber.Ctx) error {
	f := destinationForm(delivery.Destination{}, true)
	f.read(ctx)
	wanted := deliveryapi.DestinationRequest{Destination: f.destination(delivery.Destination{}), Secret: f.text("secret")}
	if f.failed() {
		return c.showForm(ctx, "New destination", f)
	}
	made, err := c.API.Outbound.CreateDestination(ctx, wanted)
	if err != nil {
		return c.showErrors(ctx, "New destination", f, err)
	}
	return c.showMade(ctx, madePage{
		What: "Destination " + made.Name, Name: made.Name, Secret: made.Secret, Warnings: made.Warnings, IsNew: true,
	})
}

func (c *Console) editDestination(ctx *fiber.Ctx) error {
	d, err := c.API.Outbound.ShowDestination(ctx)
	if err != nil {
		return err
	}
	return c.showForm(ctx, "Edit "+d.Name, destinationForm(d.Destination, false))
}

func (c *Console) saveDestination(ctx *fiber.Ctx) error {
	name, err := httpapi.PathText(ctx, "name")
	if err != nil {
		return err
	}
	stored, err := c.API.Outbound.Destinations.Destination(ctx.UserContext(), name)
	if err != nil {
		return err
	}
	f := destinationForm(stored.Shown(), false)
	f.read(ctx)
	f.changedMeanwhile(ctx, stored.Version)
	wanted := deliveryapi.DestinationRequest{Destination: f.destination(stored), Secret: f.text("secret")}
	if f.failed() {
		return c.showForm(ctx, "Edit "+stored.Name, f)
	}
	made, err := c.API.Outbound.ApplyDestination(httpapi.RequestContext(ctx), ctx, wanted)
	if err != nil {
		return c.showErrors(ctx, "Edit "+stored.Name, f, err)
	}
	return c.showMade(ctx, madePage{What: "Destination " + made.Name, Name: made.Name, Secret: made.Secret, Warnings: made.Warnings})
}

// showErrors shows a form again with the API's errors.
func (c *Console) showErrors(ctx *fiber.Ctx, title string, f *form, err error) error {
	if !f.explain(ctx, err) {
		return err
	}
	return c.showForm(ctx, title, f)
}

// madePage shows a new secret, once, and warnings.
type madePage struct {
	// Name is the destination's name.
	What, Name, Secret string
	Warnings           []string
	// IsNew links to the form for the first subscription.
	IsNew bool
}

// showMade shows what was saved if there is a secret or a warning. Secrets are never put into cookies or URLs, so the response
// to the form itself shows them.
func (c *Console) showMade(ctx *fiber.Ctx, page madePage) error {
	if page.Secret == "" && len(page.Warnings) == 0 {
		return c.Done(ctx, destinationPath(page.Name), page.What+" is saved.")
	}
	return c.Show(ctx, "made", frame.Page{Title: page.What + " is saved", Section: destinations, Data: page})
}

func (c *Console) confirmDeleteDestination(ctx *fiber.Ctx) error {
	page, err := c.destination(ctx)
	if err != nil {
		return err
	}
	if n := len(page.Subscriptions); n > 0 {
		return c.RedirectFailed(ctx, destinationPath(page.Name),
			countOf(n, "subscription still delivers", "subscriptions still deliver")+" to "+page.Name+". Delete the subscriptions first.")
	}
	return c.Ask(ctx, frame.Confirm{
		Section: destinations, Title: "Delete " + page.Name, Question: "The destination and its secrets are deleted.",
		Facts:  []frame.Fact{{"Destination", page.Name}, {"Goes to", page.Target()}},
		Action: destinationPath(page.Name) + "/delete", Button: "Delete destination", Reason: "optional", Destroys: true,
		Back: destinationPath(page.Name),
	})
}

func (c *Console) deleteDestination(ctx *fiber.Ctx) error {
	name, err := httpapi.PathText(ctx, "name")
	if err != nil {
		return err
	}
	if err := c.API.Outbound.DeleteDestination(ctx); err != nil {
		return err
	}
	return c.Done(ctx, destinationsPath, "Destination "+name+" is deleted.")
}
