package providers

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"holdfast/providers/auth"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// sample makes an event of one type as the provider would send it.
type sample struct {
	body    *jq.Expression
	headers map[string]string
}

func (c *compiler) newSamples(defs map[string]definition.Sample) map[string]sample {
	samples := map[string]sample{}
	for _, eventType := range slices.Sorted(maps.Keys(defs)) {
		field := fmt.Sprintf("samples[%q]", eventType)
		c.Required(field+".body", string(defs[eventType].Body))
		samples[eventType] = sample{
			body: c.NewExpression(field+".body", defs[eventType].Body), headers: defs[eventType].Headers,
		}
	}
	return samples
}

// SampleTypes are the types of event that the definition has a sample of, sorted.
func (p *Provider) SampleTypes() []string { return slices.Sorted(maps.Keys(p.samples)) }

// SampleEvent is the type of the event that a sample's name speaks of: "order.paid of a guest" shows order.paid once more.
func SampleEvent(sample string) string {
	eventType, _, _ := strings.Cut(sample, " of ")
	return eventType
}

// DefaultSample is the type of event to send where nobody names one: the first one that the file has a sample of. Without samples
// it is "".
func (p *Provider) DefaultSample() string {
	for _, eventType := range append(p.file.SampleTypes(), p.SampleTypes()...) {
		if _, ok := p.samples[eventType]; ok {
			return eventType
		}
	}
	return ""
}

// Envelope is the request around a body that is not a sample's, with the headers of the sample of its type, and its message ID:
// id, unless the sample has one. Without a type, or for one that has no sample, they are those that all samples have in common;
// open are those that all of them have as well, and each with a value of its own: what the event is stands in them.
func (p *Provider) Envelope(eventType, id string) (r *auth.Request, open []string) {
	r = &auth.Request{Method: "POST", Path: p.Paths()[0], Query: url.Values{}, Header: map[string][]string{}}
	r.SetHeader("content-type", "application/json")
	headers := p.samples[eventType].headers
	if _, known := p.samples[eventType]; !known {
		headers, open = p.commonHeaders()
	}
	for name, value := range headers {
		r.SetHeader(strings.ToLower(name), strings.ReplaceAll(value, "{id}", id))
	}
	for _, name := range p.IDHeaders() {
		if r.Header[name] == nil && !slices.Contains(open, name) {
			r.SetHeader(name, id)
		}
	}
	return r, open
}

func (p *Provider) commonHeaders() (common map[string]string, open []string) {
	values, having := map[string]map[string]bool{}, map[string]int{}
	common = map[string]string{}
	for _, s := range p.samples {
		for name, value := range s.headers {
			name = strings.ToLower(name)
			if having[name]++; values[name] == nil {
				values[name] = map[string]bool{}
			}
			if strings.Contains(value, "{id}") { // an ID says nothing of what the event is
				value = "{id}"
			}
			values[name][value], common[name] = true, value
		}
	}
	for name, n := range having {
		switch {
		case n < len(p.samples):
			delete(common, name)
		case len(values[name]) > 1:
			delete(common, name)
			open = append(open, name)
		}
	}
	slices.Sort(open)
	return common, open
}

// defaultEntity is the name of the entities that samples speak of.
const defaultEntity = "sample"

// Sample makes an unsigned request with an event of the type. Each id gives an event of its own. Text becomes the body as it
// is, any other value becomes JSON; the headers are the sample's, with {id} replaced.
func (p *Provider) Sample(eventType, id string, now time.Time) (*auth.Request, error) {
	return p.SampleOf(eventType, id, defaultEntity, now)
}

// SampleOf is Sample about another entity, if the sample lets its name be chosen.
func (p *Provider) SampleOf(eventType, id, entity string, now time.Time) (*auth.Request, error) {
	s, ok := p.samples[eventType]
	if !ok {
		return nil, fmt.Errorf("the definition of %s has no sample of %q; it has: %s",
			p.name, eventType, strings.Join(p.SampleTypes(), ", "))
	}
	in := jq.Input{Value: map[string]any{
		"id": id, "entity": entity, "now": int(now.Unix()), "rfc3339": now.UTC().Format(time.RFC3339),
	}}
	v, err := s.body.Once(in)
	if err != nil {
		return nil, s.body.Failed(err)
	}
	r, _ := p.Envelope(eventType, id)
	if text, ok := v.(string); ok {
		r.Body = []byte(text)
	} else if r.Body, err = jq.Marshal(v, maxBodyLimit); err != nil {
		return nil, s.body.Failed(err)
	}
	return r, nil
}
