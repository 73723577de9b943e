package operatorapi

import (
	"encoding/json"
	"fmt"
	"time"

	"holdfast/event"
	"holdfast/operator/api"
	"holdfast/operator/dispatcher"
	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

// tokenVariable is also named by the definition of events, so that one token reads and publishes.
const tokenVariable = "HOLDFAST_DISPATCHER_TOKEN" //nolint:gosec // a name

// Dispatcher serves the requests of an outbound dispatcher's clients other than publishing.
func (s Side) Dispatcher(all *api.API) (*dispatcher.Server, error) {
	token := auth.NewOne(&definition.Problems{}, tokenVariable,
		definition.Scheme{Token: &definition.Token{In: "bearer", Secrets: tokenVariable}}, nil).WithSecrets(s.Config.Secrets)
	if err := token.CheckSecrets(); err != nil {
		return nil, fmt.Errorf("%s: %w", tokenVariable, err)
	}
	return dispatcher.New(dispatcher.Options{
		API: all,
		Authenticate: func(header string) error {
			return token.Authenticate(&auth.Request{Header: map[string][]string{"authorization": {header}}}, time.Now())
		},
		Key: s.keyOfPublished, Parse: s.parsePublished,
	}), nil
}

// keyOfPublished returns the key that the definition gives an event with this ID and source, or "".
func (s Side) keyOfPublished(id, source string) string {
	fields := map[string]string{"id": id}
	if source != "" {
		fields["source"] = source
	}
	body, err := json.Marshal(fields)
	p, ok := s.lookup(dispatcher.Provider)
	if err != nil || !ok {
		return ""
	}
	items, err := p.SplitStored(&auth.Request{Body: body})
	if err != nil || len(items) != 1 || items[0].KeyFrom != event.KeyFromEvent {
		return ""
	}
	return items[0].Key
}

// parsePublished parses published events like a worker.
func (s Side) parsePublished(body []byte) error {
	p, ok := s.lookup(dispatcher.Provider)
	if !ok {
		return nil // the ingress refuses it
	}
	items, err := p.SplitStored(&auth.Request{Body: body})
	for i := 0; err == nil && i < len(items); i++ {
		_, err = p.Parse(event.Receipt{
			Provider: p.Name(), Source: items[i].Source, Key: items[i].Key, KeyFrom: items[i].KeyFrom, Type: items[i].Type,
			Root: items[i].Root, ReceivedAt: time.Now().UTC(),
		}, items[i].Body)
	}
	return err
}
