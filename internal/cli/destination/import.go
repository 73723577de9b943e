package destination

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/delivery"
	"holdfast/delivery/webhook"
	"holdfast/internal/cli"
	"holdfast/operator/importer"
)

// ApplyImported creates a dispatcher's subscriptions, each with a destination of the same name, for dispatchers without a
// notion of destinations. Existing equal ones stay unchanged. A dry run only shows what would change.
func ApplyImported(c *cobra.Command, t *cli.Tools, all []importer.Subscription, isDryRun bool) error {
	if len(all) == 0 {
		return nil
	}
	desk, err := newTools(t)
	if err != nil {
		return err
	}
	defer desk.Close()
	f, err := fileOfImported(all)
	if err != nil {
		return err
	}
	there, err := readStored(c.Context(), desk, f)
	if err != nil {
		return err
	}
	if err := f.check(there, webhook.CheckSignature); err != nil {
		return fmt.Errorf("subscriptions are invalid; nothing was changed:\n%w", err)
	}
	p, err := planOf(f, there, false)
	if err != nil {
		return err
	}
	p.hide()
	p.warn(f, there, desk.Warnings)
	p.Left = nil // not requested
	if err := writePlan(cli.StatusWriter(c), p); err != nil || isDryRun {
		return err
	}
	made, err := apply(c.Context(), desk, f, p, cli.ActorOf(c))
	for _, name := range sorted(made) {
		if f.secrets[name] == "" {
			printSecret(cli.StatusWriter(c), name, made[name])
		}
	}
	return err
}

// fileOfImported returns the equivalent of subscriptions.yaml.
func fileOfImported(all []importer.Subscription) (file, error) {
	f := file{
		Destinations: map[string]delivery.Destination{}, Subscriptions: map[string]activeSubscription{}, secrets: map[string]string{},
	}
	var errs []error
	for _, s := range all {
		if _, twice := f.Destinations[s.Name]; twice {
			errs = append(errs, fmt.Errorf("line %d: name: another subscription has it", s.Line))
			continue
		}
		to := delivery.Destination{Name: s.Name, HTTP: &delivery.HTTP{URL: s.URL, Headers: s.Headers, Signature: s.Signature}}
		if s.RateLimit != nil {
			if to.Rate = delivery.RateOf(*s.RateLimit); to.Rate == nil {
				errs = append(errs, fmt.Errorf("line %d: rate_limit: is out of bounds", s.Line))
			}
		}
		if s.Retry != nil {
			policy := json.NewDecoder(bytes.NewReader(s.Retry))
			policy.DisallowUnknownFields()
			if err := policy.Decode(&to.Retry); err != nil {
				errs = append(errs, fmt.Errorf("line %d: retry: %w", s.Line, err))
			}
		}
		of := delivery.Subscription{Name: s.Name, To: s.Name, Active: s.Active}
		of.Events.Types, of.Events.Providers = s.EventTypes, s.Providers
		f.Destinations[s.Name], f.Subscriptions[s.Name] = to, activeSubscription{of}
		f.secrets[s.Name] = s.Secret
	}
	return f, errors.Join(errs...)
}
