package destination

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/delivery"
	"holdfast/delivery/declared"
	"holdfast/internal/cli"
	"holdfast/operator/importer"
)

// ApplyImported creates a dispatcher's subscriptions, each with a destination of the same name, for dispatchers without a
// notion of destinations. Existing equal ones stay unchanged. A dry run only shows what would change.
func ApplyImported(c *cobra.Command, a *cli.API, all []importer.ImportedSubscription, isDryRun bool) error {
	if len(all) == 0 {
		return nil
	}
	f, err := fileOfImported(all)
	if err != nil {
		return err
	}
	done, err := f.apply(c, a, false, isDryRun)
	var wrong *mistakesError
	if errors.As(err, &wrong) {
		return fmt.Errorf("subscriptions are invalid; nothing was changed:\n%w", err)
	}
	if err != nil {
		return err
	}
	done.Left = nil // not requested
	if err := WritePlan(cli.StatusWriter(c), done.Plan); err != nil {
		return err
	}
	for _, name := range sorted(done.Secrets) {
		if f.secrets[name] == "" {
			printSecret(cli.StatusWriter(c), name, done.Secrets[name])
		}
	}
	return problemOf(done)
}

// fileOfImported returns the equivalent of subscriptions.yaml.
func fileOfImported(all []importer.ImportedSubscription) (file, error) {
	f := file{State: declared.Stored(nil, nil), secrets: map[string]string{}}
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
		f.Destinations[s.Name], f.Subscriptions[s.Name] = to, declared.Subscription{Subscription: of}
		f.secrets[s.Name] = s.Secret
	}
	return f, errors.Join(errs...)
}
