package providers

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
)

// sample makes an event of one type as the provider would send it.
type sample struct {
	body    *jq.Expression
	headers map[string]string
	item    *jq.Expression // nil if it isn't known how the provider's list has the event
}

func newSamples(c *mapping.Compiler, defs map[string]definition.Sample) map[string]sample {
	samples := map[string]sample{}
	for _, eventType := range slices.Sorted(maps.Keys(defs)) {
		field := fmt.Sprintf("samples[%q]", eventType)
		c.Required(field+".body", string(defs[eventType].Body))
		samples[eventType] = sample{
			body: c.NewExpression(field+".body", defs[eventType].Body), headers: defs[eventType].Headers,
			item: c.NewExpression(field+".item", defs[eventType].Item),
		}
	}
	return samples
}

// SampleTypes returns the event types with samples, sorted.
func (p *Provider) SampleTypes() []string { return slices.Sorted(maps.Keys(p.samples)) }

// SampleEvent returns the event type in a sample's name: "order.paid of a guest" is another sample of order.paid.
func SampleEvent(sample string) string {
	eventType, _, _ := strings.Cut(sample, " of ")
	return eventType
}

// DefaultSample returns the event type to send by default: the first one that the file has a sample of, or "".
func (p *Provider) DefaultSample() string {
	for _, eventType := range append(p.file.SampleTypes(), p.SampleTypes()...) {
		if _, ok := p.samples[eventType]; ok {
			return eventType
		}
	}
	return ""
}

// Envelope returns the request for a custom body, with the headers of the sample of its type, and its message ID: id, unless
// the sample has one. Without a type, or for one without a sample, the headers are those that all samples have in common. open
// are headers that all samples have with different values: they depend on the event. partial are those that only some samples
// have: the body of the others says the same.
func (p *Provider) Envelope(eventType, id string) (r *auth.Request, open, partial []string) {
	r = &auth.Request{Method: "POST", Path: p.Paths()[0], Query: url.Values{}, Header: map[string][]string{}}
	r.SetHeader("content-type", "application/json")
	headers := p.samples[eventType].headers
	if _, known := p.samples[eventType]; !known {
		headers, open, partial = p.commonHeaders()
	}
	for name, value := range headers {
		r.SetHeader(strings.ToLower(name), strings.ReplaceAll(value, "{id}", id))
	}
	for _, name := range p.IDHeaders() {
		if r.Header[name] == nil && !slices.Contains(open, name) {
			r.SetHeader(name, id)
		}
	}
	return r, open, partial
}

// commonHeaders returns the headers that all samples have with the same value, and those with different values: of all samples,
// and of some.
func (p *Provider) commonHeaders() (common map[string]string, open, partial []string) {
	values, having := map[string]map[string]bool{}, map[string]int{}
	common = map[string]string{}
	for _, s := range p.samples {
		for name, value := range s.headers {
			name = strings.ToLower(name)
			if having[name]++; values[name] == nil {
				values[name] = map[string]bool{}
			}
			if strings.Contains(value, "{id}") { // an ID doesn't depend on the event
				value = "{id}"
			}
			values[name][value], common[name] = true, value
		}
	}
	for name, n := range having {
		switch {
		case n < len(p.samples):
			delete(common, name)
			if len(values[name]) > 1 {
				partial = append(partial, name)
			}
		case len(values[name]) > 1:
			delete(common, name)
			open = append(open, name)
		}
	}
	slices.Sort(open)
	slices.Sort(partial)
	return common, open, partial
}

const defaultEntity = "sample"

const sampleBoundary = "sample-boundary"

// Sample returns an unsigned request with an event of the type. Each id makes a different event. Text becomes the body
// verbatim, any other value becomes JSON, or a form if the content type is that of multipart forms; the headers are the sample's,
// with {id} replaced.
func (p *Provider) Sample(eventType, id string, now time.Time) (*auth.Request, error) {
	return p.SampleOf(eventType, id, defaultEntity, now)
}

// SampleOf is Sample about another entity, if the sample's entity can be chosen.
func (p *Provider) SampleOf(eventType, id, entity string, now time.Time) (*auth.Request, error) {
	s, ok := p.samples[eventType]
	if !ok {
		return nil, fmt.Errorf("the definition of %s has no sample of %q; it has: %s",
			p.Name(), eventType, strings.Join(p.SampleTypes(), ", "))
	}
	v, err := s.body.Once(sampleInput(id, entity, now))
	if err != nil {
		return nil, s.body.Failed(err)
	}
	r, _, _ := p.Envelope(eventType, id)
	if text, ok := v.(string); ok {
		r.Body = []byte(text)
	} else if fields, ok := v.(map[string]any); ok && decode.MediaType(r.Header["content-type"][0]) == decode.MultipartType {
		r.SetHeader("content-type", decode.MultipartType+"; boundary="+sampleBoundary)
		if r.Body, err = decode.EncodeMultipart(fields, sampleBoundary); err != nil {
			return nil, s.body.Failed(err)
		}
	} else if r.Body, err = jq.Marshal(v, definition.MaxBodyLimit); err != nil {
		return nil, s.body.Failed(err)
	}
	p.Enclose(r)
	return r, nil
}

func sampleInput(id, entity string, now time.Time) jq.Input {
	return jq.Input{Value: map[string]any{
		"id": id, "entity": entity, "now": int(now.Unix()), "rfc3339": now.UTC().Format(time.RFC3339),
	}}
}

// SampleItem returns the event of Sample as it is in the provider's list of events; nil if the definition doesn't say.
func (p *Provider) SampleItem(eventType, id string, now time.Time) ([]byte, error) {
	x := p.samples[eventType].item
	if x == nil {
		return nil, nil
	}
	v, err := x.Once(sampleInput(id, defaultEntity, now))
	if err != nil {
		return nil, x.Failed(err)
	}
	return jq.Marshal(v, definition.MaxBodyLimit)
}

// sampleTime is the time of the samples whose types are read.
var sampleTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// typesOfSamples returns the types of all events of the samples: a batch has several, and a sample's name is only one of them.
func (p *Provider) typesOfSamples() (types []string) {
	for name := range p.samples {
		types = append(types, SampleEvent(name))
		r, err := p.Sample(name, "x", sampleTime)
		if err != nil {
			continue
		}
		items, err := p.Split(r)
		if err != nil {
			continue
		}
		for _, item := range items {
			types = append(types, item.Type)
		}
	}
	return slices.DeleteFunc(types, func(t string) bool { return t == "" })
}
