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

// destinationForm contains the fields of a destination. A new one contains the fields of all kinds.
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
		f.Groups = append(f.Groups, taskQueueFields(d.Temporal, isNew))
	}
	for _, kind := range queueKinds() {
		if isNew || kind.kind == d.Kind() {
			f.Groups = append(f.Groups, kind.fields(d, isNew))
		}
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
	}
	g.Fields = append(g.Fields, connectionFields(delivery.KindHTTP, h.Certificate, h.Key, h.Proxy)...)
	switch secret := (&field{Name: "secret", Label: "Secret", Kind: fieldSecret}); {
	case isNew:
		secret.Hint = "Signs the requests. Leave it empty to have one generated, which is shown once. " +
			"For a queue: the password of its user, an access key, or the JSON key of a service account."
		g.Fields = append(g.Fields, secret)
	case !h.IsStandard() && h.Secrets == "":
		secret.Hint = "Leave empty to keep it. Required if you change the URL."
		g.Fields = append(g.Fields, secret)
	}
	return g
}

func taskQueueFields(q *delivery.Temporal, isNew bool) (g fieldGroup) {
	if q == nil {
		q = &delivery.Temporal{}
	}
	if isNew {
		g.Title = "Or start workflows instead of sending requests"
	}
	g.Fields = []*field{
		{Name: "temporal.task_queue", Label: "Task queue", Value: q.TaskQueue, Hint: "Leave the URL above empty."},
		{Name: "temporal.profile", Label: "Profile", Value: q.Profile, Hint: "Of TEMPORAL_CONFIG_FILE. Empty: Holdfast's Temporal."},
	}
	return g
}

// queueKind is a kind of queue in the form, with the fields that only it has.
type queueKind struct {
	kind, title, url string
	user             string // the hint; "" if it has no user
	own              []queueField
	// of returns the queue's connection, which is made if the destination has none of this kind.
	of func(d *delivery.Destination) *delivery.Connection
}

// queueField is a field of a queue; its name is the one in the API, without the kind.
type queueField struct {
	name, label, hint string
	// in returns where the destination has it. The destination has a queue of the kind.
	in func(d *delivery.Destination) *string
}

func queueKinds() []queueKind {
	return []queueKind{
		{
			delivery.KindNATS, "Or publish to a stream of NATS JetStream", "nats://a:4222,b:4222, or tls://",
			hintLogin, []queueField{
				{"stream", "Stream", "", func(d *delivery.Destination) *string { return &d.NATS.Stream }},
				{"subject", "Subject", hintExpression, func(d *delivery.Destination) *string { return (*string)(&d.NATS.Subject) }},
			},
			func(d *delivery.Destination) *delivery.Connection { return &copied(&d.NATS).Connection },
		},
		{
			delivery.KindRabbitMQ, "Or publish to an exchange of RabbitMQ", "amqp://a:5672/VIRTUAL-HOST, or amqps://",
			hintLogin, []queueField{
				{"exchange", "Exchange", "Empty: the default exchange, whose routing keys are names of queues.",
					func(d *delivery.Destination) *string { return &d.RabbitMQ.Exchange }},
				{"routing_key", "Routing key", hintExpression,
					func(d *delivery.Destination) *string { return (*string)(&d.RabbitMQ.RoutingKey) }},
			},
			func(d *delivery.Destination) *delivery.Connection { return &copied(&d.RabbitMQ).Connection },
		},
		{
			delivery.KindKafka, "Or publish to a topic of Kafka", "kafka://a:9092,b:9092, or kafkas:// with TLS",
			hintLogin, []queueField{
				{"topic", "Topic", "", func(d *delivery.Destination) *string { return &d.Kafka.Topic }},
				{"partition_key", "Partition key", "A jq expression: .body.data.id. Empty: any partition.",
					func(d *delivery.Destination) *string { return (*string)(&d.Kafka.PartitionKey) }},
				{"mechanism", "SASL mechanism", "Empty: SCRAM-SHA-512. Or SCRAM-SHA-256, PLAIN.",
					func(d *delivery.Destination) *string { return &d.Kafka.Mechanism }},
			},
			func(d *delivery.Destination) *delivery.Connection { return &copied(&d.Kafka).Connection },
		},
		{
			delivery.KindS3, "Or store objects in a bucket of S3", "The service: https://s3.eu-central-1.amazonaws.com",
			hintAccessKey, []queueField{
				{"bucket", "Bucket", "", func(d *delivery.Destination) *string { return &d.S3.Bucket }},
				{"region", "Region", "If the service needs it.", func(d *delivery.Destination) *string { return &d.S3.Region }},
				{"object", "Object", "A jq expression that returns its name. Empty: PROVIDER/DAY/ID.",
					func(d *delivery.Destination) *string { return (*string)(&d.S3.Object) }},
			},
			func(d *delivery.Destination) *delivery.Connection { return &copied(&d.S3).Connection },
		},
		{
			delivery.KindSQS, "Or send to a queue of Amazon SQS",
			"Its URL without its name: https://sqs.eu-west-1.amazonaws.com/123456789012", hintAccessKey, []queueField{
				{"queue", "Queue", "", func(d *delivery.Destination) *string { return &d.SQS.Queue }},
				{"group", "Group", hintKey, func(d *delivery.Destination) *string { return (*string)(&d.SQS.Group) }},
			},
			func(d *delivery.Destination) *delivery.Connection { return &copied(&d.SQS).Connection },
		},
		{
			delivery.KindPubSub, "Or publish to a topic of Google Pub/Sub", "The service: https://pubsub.googleapis.com", "", []queueField{
				{"topic", "Topic", "projects/PROJECT/topics/NAME", func(d *delivery.Destination) *string { return &d.PubSub.Topic }},
				{"ordering_key", "Ordering key", hintKey, func(d *delivery.Destination) *string { return (*string)(&d.PubSub.OrderingKey) }},
			},
			func(d *delivery.Destination) *delivery.Connection { return &copied(&d.PubSub).Connection },
		},
	}
}

const (
	hintExpression = `A jq expression; fixed text needs quotes: "orders." + .event.type`
	hintKey        = "A jq expression: .body.data.id. Empty: none."
	hintLogin      = "Logs in with the secret as password. Empty: no login, or the secret is a token."
	hintAccessKey  = "The ID of the access key; the secret is the key."
)

// copied returns a copy of what p points to, in its place, or a new one, so that a change leaves the original as it is.
func copied[T any](p **T) *T {
	own := new(T)
	if *p != nil {
		*own = **p
	}
	*p = own
	return own
}

func (k queueKind) fields(d delivery.Destination, isNew bool) (g fieldGroup) {
	c := k.of(&d)
	g.Fields = []*field{{Name: k.kind + ".url", Label: "URL", Value: c.URL, Hint: k.url}}
	if k.user != "" {
		g.Fields = append(g.Fields, &field{Name: k.kind + ".user", Label: "User", Value: c.User, Hint: k.user})
	}
	for _, one := range k.own {
		g.Fields = append(g.Fields, &field{Name: k.kind + "." + one.name, Label: one.label, Value: *one.in(&d), Hint: one.hint})
	}
	g.Fields = append(g.Fields, connectionFields(k.kind, c.Certificate, c.Key, c.Proxy)...)
	if isNew {
		g.Title = k.title
	} else if c.Secrets == "" {
		g.Fields = append(g.Fields, &field{
			Name: "secret", Label: "Secret", Kind: fieldSecret,
			Hint: "The password or key. Leave empty to keep it. Required if you change the URL.",
		})
	}
	return g
}

// apply applies the form to a queue, and keeps fields that the form doesn't show.
func (k queueKind) apply(f *form, d *delivery.Destination) {
	if d.Kind() != k.kind && !f.hasAny(k.kind) {
		return
	}
	c := k.of(d)
	for name, value := range map[string]*string{
		"url": &c.URL, "user": &c.User, "certificate": &c.Certificate, "key": &c.Key, "proxy": &c.Proxy,
	} {
		*value = f.text(k.kind + "." + name)
	}
	for _, one := range k.own {
		*one.in(d) = f.text(k.kind + "." + one.name)
	}
}

// hasAny reports whether a field of a kind of destination has a value.
func (f *form) hasAny(kind string) bool {
	return slices.ContainsFunc(f.fields(), func(one *field) bool {
		return one.Value != "" && strings.HasPrefix(one.Name, kind+".")
	})
}

// connectionFields are those of endpoints and queues.
func connectionFields(kind, certificate, key, proxy string) []*field {
	return []*field{
		{
			Name: kind + ".certificate", Label: "Client certificate", Kind: fieldArea, Value: certificate,
			Hint: "PEM, or a file below HOLDFAST_DELIVERIES_CERTIFICATES. Empty: none.",
		},
		{
			Name: kind + ".key", Label: "Its key", Kind: fieldArea, Value: key,
			Hint: "PEM, stored as a secret, or a file. " + delivery.MaskedHeader + " keeps the stored one.",
		},
		{
			Name: kind + ".proxy", Label: "Proxy", Value: proxy,
			Hint: "A name in HOLDFAST_PROXIES. Empty: HOLDFAST_PROXY decides. An admin can enter " + delivery.ProxyDirect + ": no proxy.",
		},
	}
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
	if d.HTTP != nil || f.hasAny(delivery.KindHTTP) {
		h := copied(&d.HTTP)
		h.URL, h.Headers, h.Proxy = f.text("http.url"), f.headers(), f.text("http.proxy")
		h.Certificate, h.Key = f.text("http.certificate"), f.text("http.key")
	}
	queue := delivery.Temporal{TaskQueue: f.text("temporal.task_queue"), Profile: f.text("temporal.profile")}
	if d.Temporal != nil || queue != (delivery.Temporal{}) {
		d.Temporal = &queue
	}
	for _, kind := range queueKinds() {
		kind.apply(f, &d)
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
