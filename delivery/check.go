package delivery

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// Limits of a declaration.
const (
	maxInFlight = 10_000
	maxTimeout  = event.Duration(5 * time.Minute)
	maxAttempts = 1000
	maxSpan     = event.Duration(365 * 24 * time.Hour)
	maxList     = 1000     // providers, types, headers, inputs
	maxSource   = 64 << 10 // bytes of an expression
	maxURL      = 4 << 10  // bytes
)

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9\-_.]{0,62}$`)

// checkName checks the name of a destination or a subscription.
func checkName(p *definition.Problems, field, name string) {
	if p.Required(field, name) && !validName.MatchString(name) {
		p.Add(field, "must be 1 to 63 of a-z, 0-9, -, _ and ., and begin with a letter or a digit")
	}
}

// rejection turns problems into one error of class rejected that names each field; nil without problems.
func rejection(code string, p *definition.Problems) error {
	var texts []string
	var fields []event.FieldProblem
	for _, e := range definition.Errors(p.Err()) {
		texts = append(texts, e.Field+" "+e.Reason)
		fields = append(fields, event.FieldProblem{Field: e.Field, Reason: e.Reason})
	}
	if len(texts) == 0 {
		return nil
	}
	rejected := event.Rejectf(code, "%s", strings.Join(texts, "; "))
	rejected.Fields = fields
	return rejected
}

// Check returns an event.Error of class rejected and code "invalid_destination" that names each invalid field. It doesn't check
// the signature: see webhook.CheckSignature.
func (d Destination) Check() error {
	p := &definition.Problems{}
	checkName(p, "name", d.Name)
	switch set := d.kinds(); {
	case len(set) > 1:
		p.Add(set[0], "and %s are both set: use one of them", set[1])
	case len(set) == 0:
		p.Add("http", "or temporal is missing: set one of them, or one of nats, rabbitmq, kafka, s3, sqs and pubsub")
	case d.HTTP != nil:
		d.HTTP.check(p)
	case d.Temporal != nil:
		p.Required("temporal.task_queue", d.Temporal.TaskQueue)
	default:
		d.checkBroker(p)
	}
	if d.Rate != nil {
		between(p, "rate.requests", d.Rate.Requests, 1, 1_000_000)
		between(p, "rate.per", d.Rate.Per, event.Duration(time.Millisecond), event.Duration(24*time.Hour))
	}
	between(p, "in_flight", d.InFlight, 0, maxInFlight)
	between(p, "timeout", d.Timeout, 0, maxTimeout)
	between(p, "keep", d.Keep, 0, maxSpan)
	between(p, "disable_after", d.DisableAfter, 0, maxSpan)
	d.checkRetry(p)
	between(p, "breaker.failures", d.Breaker.Failures, 0, maxAttempts)
	between(p, "breaker.open", d.Breaker.Open, 0, maxSpan)
	between(p, "breaker.probes", d.Breaker.Probes, 0, maxAttempts)
	return rejection("invalid_destination", p)
}

// between adds a problem and returns false if the value is out of bounds. NaN always is.
func between[T int | float64 | event.Duration](p *definition.Problems, field string, v, lowest, highest T) (fits bool) {
	if v >= lowest && v <= highest {
		return true
	}
	p.Add(field, "must be %v to %v", lowest, highest)
	return false
}

// check never repeats the URL or a header, which may hold a secret.
func (h HTTP) check(p *definition.Problems) {
	if p.Required("http.url", h.URL) {
		checkURL(p, "http.url", h.URL)
	}
	if len(h.Headers) > maxList {
		p.Add("http.headers", "are more than %d", maxList)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		checkHeader(p, name, h.Headers[name])
	}
	var signature map[string]json.RawMessage
	if h.Signature != nil && (json.Unmarshal(h.Signature, &signature) != nil || len(signature) == 0) {
		p.Add("http.signature", "must be an object that declares how requests are signed")
	}
	h.checkTLS(p, KindHTTP)
}

// checkTLS checks certificates and the proxy of an endpoint, or of a queue of the kind.
func (h HTTP) checkTLS(p *definition.Problems, kind string) {
	h.checkClient(p, kind)
	checkCA(p, kind+".ca", h.CA)
	if h.Proxy != "" && !validName.MatchString(h.Proxy) {
		p.Add(kind+".proxy", "must be the name of a proxy in HOLDFAST_PROXIES, or %s", ProxyDirect)
	}
}

func checkURL(p *definition.Problems, field, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		p.Add(field, "must be a URL with http or https and a host")
	case u.User != nil:
		p.Add(field, "must have no user and no password: declare a signature of kind basic")
	case u.Fragment != "":
		p.Add(field, "must have no fragment, which is never sent")
	case len(text) > maxURL:
		p.Add(field, "is longer than %d bytes", maxURL)
	case !hasPort(u):
		p.Add(field, "must have a port from 1 to 65535, or none")
	}
}

func hasPort(u *url.URL) bool {
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil && port > 0
}

var (
	validHeader = regexp.MustCompile("^[!#$%&'*+\\-.^_`|~0-9A-Za-z]{1,200}$")
	// reservedHeaders are set by Holdfast or by HTTP itself.
	reservedHeaders = []string{
		"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Upgrade",
		"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature", "Traceparent", "Tracestate",
	}
)

func checkHeader(p *definition.Problems, name, value string) {
	switch {
	case !validHeader.MatchString(name):
		p.Add("http.headers", "has an invalid header name")
	case slices.Contains(reservedHeaders, textproto.CanonicalMIMEHeaderKey(name)):
		p.Add("http.headers."+name, "is set by Holdfast")
	case strings.ContainsAny(value, "\r\n\x00"):
		p.Add("http.headers."+name, "must be one line")
	}
}

// Check returns an event.Error of class rejected and code "invalid_subscription" that names each invalid field. It doesn't look
// at the destination: see CheckFor.
func (s Subscription) Check() error {
	p := &definition.Problems{}
	s.check(p)
	return rejection("invalid_subscription", p)
}

// CheckFor is Check, and also checks that the subscription fits the kind of its destination.
func (s Subscription) CheckFor(to Destination) error {
	p := &definition.Problems{}
	s.check(p)
	forms := s.forms()
	if to.HTTP != nil && len(forms) > 0 {
		p.Add(forms[0], "needs a Temporal destination: %s is an HTTP endpoint", to.Name)
	}
	if to.Broker() != nil && len(forms) > 0 {
		p.Add(forms[0], "needs a Temporal destination: %s is a queue (%s)", to.Name, to.Kind())
	}
	if to.SQS != nil && s.Body == BodyCloudEventsBinary {
		p.Add("body", "can't be %s, for which CloudEvents has no binding to SQS: use %s", BodyCloudEventsBinary, BodyCloudEvents)
	}
	if to.Temporal != nil && len(forms) == 0 {
		p.Add("start", "or signal or signal_with_start is missing: %s is a task queue", to.Name)
	}
	if to.Temporal != nil && s.Body != "" {
		p.Add("body", "needs an HTTP destination or a queue: %s is a Temporal task queue", to.Name)
	}
	return rejection("invalid_subscription", p)
}

// forms returns the names of the fields for a Temporal destination that are set.
func (s Subscription) forms() (given []string) {
	if s.Start != nil {
		given = append(given, "start")
	}
	if s.Signal != nil {
		given = append(given, "signal")
	}
	if s.SignalWithStart != nil {
		given = append(given, "signal_with_start")
	}
	return given
}

func (s Subscription) check(p *definition.Problems) {
	checkName(p, "name", s.Name)
	checkName(p, "to", s.To)
	s.Events.check(p)
	checkJQ(p, "order_by", s.OrderBy)
	if !IsNamedBody(s.Body) {
		checkJQ(p, "body", JQ(s.Body))
	}
	if given := s.forms(); len(given) > 1 {
		p.Add(given[1], "and %s are both set: use one of them", given[0])
	}
	if s.Start != nil {
		s.Start.check(p, "start.")
		p.OneOf("start.if_exists", s.Start.IfExists, "delivered", "dead_letter")
	}
	if s.Signal != nil {
		p.Required("signal.workflow_id", string(s.Signal.WorkflowID))
		checkJQ(p, "signal.workflow_id", s.Signal.WorkflowID)
		p.Required("signal.signal_name", s.Signal.SignalName)
		checkInputs(p, "signal.signal_input", s.Signal.SignalInput)
	}
	if w := s.SignalWithStart; w != nil {
		w.check(p, "signal_with_start.")
		if w.IfExists != "" {
			p.Add("signal_with_start.if_exists", "is only for start: a running workflow is signaled")
		}
		p.Required("signal_with_start.signal_name", w.SignalName)
		checkInputs(p, "signal_with_start.signal_input", w.SignalInput)
		p.OneOf("signal_with_start.if_closed", w.IfClosed, "start", "skip", "dead_letter")
	}
}

func (e Events) check(p *definition.Problems) {
	checkNames(p, "events.providers", e.Providers)
	checkNames(p, "events.types", e.Types)
	checkJQ(p, "events.filter", JQ(e.Filter))
}

func checkNames(p *definition.Problems, field string, names []string) {
	if names != nil && len(names) == 0 {
		p.Add(field, "is an empty list, which selects nothing: leave it out to select all")
	}
	if len(names) > maxList {
		p.Add(field, "are more than %d", maxList)
	}
	for i, name := range names {
		one := fmt.Sprintf("%s[%d]", field, i)
		if p.Required(one, name) && len(name) > event.MaxTypeLength {
			p.Add(one, "is longer than %d bytes", event.MaxTypeLength)
		}
	}
}

func (s Start) check(p *definition.Problems, in string) {
	p.Required(in+"workflow_id", string(s.WorkflowID))
	checkJQ(p, in+"workflow_id", s.WorkflowID)
	p.Required(in+"type", s.Type)
	checkInputs(p, in+"input", s.Input)
	for _, name := range slices.Sorted(maps.Keys(s.SearchAttributes)) {
		field := in + "search_attributes." + name
		p.Required(field, string(s.SearchAttributes[name]))
		checkJQ(p, field, s.SearchAttributes[name])
	}
	checkJQ(p, in+"summary", s.Summary)
	checkJQ(p, in+"fairness_key", s.FairnessKey)
	between(p, in+"priority_key", s.PriorityKey, 0, 5)
}

func checkInputs(p *definition.Problems, field string, inputs []JQ) {
	if len(inputs) > maxList {
		p.Add(field, "are more than %d", maxList)
	}
	for i, source := range inputs {
		one := fmt.Sprintf("%s[%d]", field, i)
		if p.Required(one, string(source)) && source != BodyEnvelope {
			checkJQ(p, one, source)
		}
	}
}

func checkJQ(p *definition.Problems, field string, source JQ) {
	if len(source) > maxSource {
		p.Add(field, "is longer than %d bytes", maxSource)
		return
	}
	if _, err := jq.Compile(field, string(source)); err != nil {
		p.Add(field, "%s", err)
	}
}

// MustBeNew as a Version only creates, and never changes a stored object. A positive Version changes only that version, and 0
// changes any.
const MustBeNew = -1

// CheckVersion rejects a change of an outdated version; stored is 0 if the object doesn't exist. The error has the code
// event.CodeChangedMeanwhile.
func CheckVersion(wanted, stored int64) error {
	switch {
	case wanted == 0, wanted == stored, wanted == MustBeNew && stored == 0:
		return nil
	case wanted == MustBeNew:
		return event.Rejectf(event.CodeChangedMeanwhile, "it was created by another request at the same time; nothing was changed")
	}
	return event.Rejectf(event.CodeChangedMeanwhile,
		"it was changed by another request at the same time; read it again and repeat the change")
}

// Warnings reports likely mistakes in a selection: providers missing from known, the defined ones, and unsupported wildcards.
func (e Events) Warnings(known []string) (warnings []string) {
	for _, name := range e.Providers {
		if !slices.Contains(known, name) {
			warnings = append(warnings,
				fmt.Sprintf("events.providers: no definition is called %q; list them with: holdfast provider list", name))
		}
	}
	for _, pattern := range e.Types {
		if strings.ContainsAny(pattern, "?[]{}") {
			warnings = append(warnings, fmt.Sprintf("events.types: %q: * is the only wildcard; other characters match literally", pattern))
		}
	}
	return warnings
}
