package console

import (
	"context"
	"slices"
)

// suggestions are the existing providers and types, which filters suggest: {{template "suggestions" .Suggestions}}.
type suggestions struct{ Providers, Types []string }

// suggestions returns the providers and types of the definitions and of the newest events.
func (c *Console) suggestions(ctx context.Context) (k suggestions, err error) {
	if c.API.Events != nil {
		if k.Providers, k.Types, err = c.API.Events.RecentTypes(ctx); err != nil {
			return k, err
		}
	}
	if c.Definitions != nil {
		k.Providers = append(k.Providers, c.Definitions.Catalogue().Names()...)
	}
	slices.Sort(k.Providers)
	k.Providers = slices.Compact(k.Providers)
	return k, nil
}
