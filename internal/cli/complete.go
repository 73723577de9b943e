package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/config"
	"holdfast/internal/stores"
	"holdfast/persistence"
	"holdfast/providers"
)

// completer returns the completions of an argument or a flag, given the arguments before it; none if they are unknown.
type completer func(c *cobra.Command, before []string) []string

// argumentCompleters completes the arguments in a command's usage line, by the command's group or for all groups.
var argumentCompleters = map[string]completer{
	"PROVIDER": completeProviders,
	"TYPE":     completeSampleTypes,
	"EVENT":    fromStore(recentEvents),
	"event ID": fromStore(recentEvents),
	"inbox ID": fromStore(waitingEvents),
	"dlq ID":   fromStore(waitingDeadLetters),
	"replay ID": fromStore(func(ctx context.Context, s *persistence.Store) []string {
		return idsOf(s.Replays.Latest(ctx, completions))
	}),
	"rebuild ID": fromStore(func(ctx context.Context, s *persistence.Store) []string {
		return idsOf(s.Rebuilds.Latest(ctx, completions))
	}),
	"resend ID": fromStore(func(ctx context.Context, s *persistence.Store) []string {
		return idsOf(s.Resends.Latest(ctx, completions))
	}),
	"SUBSCRIPTION": fromStore(subscriptionNames),
	"DESTINATION":  fromStore(destinationNames),
}

// idsOf returns the IDs of operations with their states.
func idsOf[T operation.Any](all []T, _ error) []string {
	return each(all, func(o T) string { return o.Common().ID + "\t" + string(o.Common().State) })
}

// flagCompleters completes flags that have one meaning in all commands.
var flagCompleters = map[string]completer{
	"provider": completeProviders, "event": fromStore(recentEvents), "subscription": fromStore(subscriptionNames),
	"destination": fromStore(destinationNames), "to": fromStore(destinationNames),
}

const (
	// completions is the maximum number of offered IDs.
	completions = 20
	// completionTimeout bounds the time for completing.
	completionTimeout = 2 * time.Second
)

// complete adds completion to c and the commands below it.
func complete(c *cobra.Command) {
	arguments := strings.Fields(c.Use)[1:]
	if !c.HasSubCommands() && c.ValidArgsFunction == nil && c.ValidArgs == nil {
		c.ValidArgsFunction = func(c *cobra.Command, before []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(before) >= len(arguments) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			name := strings.Trim(arguments[len(before)], "[]")
			if strings.HasPrefix(name, "FILE") || name == "|" {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return completionsOf(c, name, before), cobra.ShellCompDirectiveNoFileComp
		}
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if find, ok := flagCompleters[f.Name]; ok {
			_ = c.RegisterFlagCompletionFunc(f.Name, func(c *cobra.Command, before []string, _ string) (
				[]string, cobra.ShellCompDirective) {
				return find(c, before), cobra.ShellCompDirectiveNoFileComp
			})
		}
	})
	for _, below := range c.Commands() {
		complete(below)
	}
}

func completionsOf(c *cobra.Command, argument string, before []string) []string {
	for _, name := range []string{c.Parent().Name() + " " + argument, argument} {
		if find, ok := argumentCompleters[name]; ok {
			return find(c, before)
		}
	}
	return nil
}

// fromStore completes with words from the database.
func fromStore(find func(context.Context, *persistence.Store) []string) completer {
	return func(c *cobra.Command, _ []string) []string {
		cfg, _, err := config.LoadBesideDev()
		if err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
		defer cancel()
		store, err := stores.OpenStore(ctx, cfg, nil)
		if err != nil {
			return nil
		}
		defer store.Close()
		return find(ctx, store)
	}
}

func each[T any](all []T, word func(T) string) []string {
	var found []string
	for _, one := range all {
		found = append(found, Printable(word(one)))
	}
	return found
}

func loadCatalogue() *providers.Catalogue {
	cfg, _, err := config.LoadBesideDev()
	if err != nil {
		return nil
	}
	catalogue, err := providers.Load(cfg.Providers.Dir)
	if err != nil {
		return nil
	}
	return catalogue
}

func completeProviders(*cobra.Command, []string) []string {
	catalogue := loadCatalogue()
	if catalogue == nil {
		return nil
	}
	return each(catalogue.Names(), func(name string) string {
		p, _ := catalogue.Lookup(name)
		return name + "\t" + p.Title()
	})
}

// completeSampleTypes returns the types for which the preceding provider has samples.
func completeSampleTypes(_ *cobra.Command, before []string) []string {
	catalogue := loadCatalogue()
	if catalogue == nil || len(before) == 0 {
		return nil
	}
	if p, ok := catalogue.Lookup(before[0]); ok {
		return p.SampleTypes()
	}
	return nil
}

func recentEvents(ctx context.Context, s *persistence.Store) []string {
	all, _ := s.Read.Events(ctx, event.RecordQuery{Limit: completions})
	return each(all, func(e event.Record) string { return e.Receipt.ID + "\t" + e.Receipt.Provider + " " + e.Type })
}

func waitingEvents(ctx context.Context, s *persistence.Store) []string {
	all, _ := s.Inbox.Inbox(ctx, event.InboxQuery{Limit: completions})
	return each(all, func(e event.Waiting) string { return e.Receipt.ID + "\t" + e.Receipt.Provider })
}

func waitingDeadLetters(ctx context.Context, s *persistence.Store) []string {
	all, _ := s.DeadLetters.DeadLetters(ctx, event.DeadLetterQuery{Limit: completions})
	return each(all, func(d event.DeadLetter) string {
		return strconv.FormatInt(d.ID, 10) + "\t" + string(d.State) + ": " + d.Receipt.Provider + " " + d.Failure.Code
	})
}

func subscriptionNames(ctx context.Context, s *persistence.Store) []string {
	all, _ := s.Subscriptions.Subscriptions(ctx)
	return each(all, func(one delivery.Subscription) string { return one.Name })
}

func destinationNames(ctx context.Context, s *persistence.Store) []string {
	all, _ := s.Subscriptions.Destinations(ctx)
	return each(all, func(one delivery.Destination) string { return one.Name })
}
