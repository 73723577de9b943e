package cli

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/config"
	"holdfast/operator/httpapi"
	"holdfast/providers"
)

// completer returns the completions of an argument or a flag, given the arguments before it; none if they are unknown.
type completer func(c *cobra.Command, before []string) []string

// argumentCompleters completes the arguments in a command's usage line, by the command's group or for all groups.
var argumentCompleters = map[string]completer{
	"PROVIDER": completeProviders,
	"TYPE":     completeSampleTypes,
	"EVENT":    recentEvents,
	"event ID": recentEvents,
	"inbox ID": fromRoute("/inbox", func(r row) string { return r.Receipt.ID + "\t" + r.Receipt.Provider }),
	"dlq ID": fromRoute("/dead-letters", func(r row) string {
		return r.id() + "\t" + r.State + ": " + r.Provider + " " + r.Failure.Code
	}),
	"replay ID":       operationsOf(operation.KindReplay),
	"rebuild ID":      operationsOf(operation.KindRebuild),
	"resend ID":       operationsOf(operation.KindResend),
	"SUBSCRIPTION":    subscriptionNames,
	"DESTINATION":     destinationNames,
	"event-type NAME": fromRoute("/event-types", func(r row) string { return r.Name }),
}

// flagCompleters completes flags that have one meaning in all commands.
var flagCompleters = map[string]completer{
	"provider": completeProviders, "event": recentEvents, "subscription": subscriptionNames, "destination": destinationNames,
	"to": destinationNames,
}

// row has what completions show of the rows of any list.
type row struct {
	ID                          json.RawMessage
	Name, Provider, Type, State string
	Receipt                     event.Receipt
	Failure                     event.Failure
}

func (r row) id() string { return strings.Trim(string(r.ID), `"`) }

var (
	recentEvents      = fromRoute("/events", func(r row) string { return r.id() + "\t" + r.Provider + " " + r.Type })
	subscriptionNames = fromRoute("/subscriptions", func(r row) string { return r.Name })
	destinationNames  = fromRoute("/destinations", func(r row) string { return r.Name })
)

func operationsOf(kind operation.Kind) completer {
	return fromRoute(Path(kind.Plural()), func(r row) string { return r.id() + "\t" + r.State })
}

// fromRoute completes with words from the first page of a list.
func fromRoute(route string, word func(row) string) completer {
	return func(c *cobra.Command, _ []string) []string {
		text := func(name string) string {
			value, _ := c.Flags().GetString(name) // not every command with such a flag has --operator
			return value
		}
		flags := APIFlags{text("operator"), text("token-file")}
		ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
		defer cancel()
		api, err := flags.open(c)
		if err != nil {
			return nil
		}
		defer api.close()
		var found httpapi.List[row]
		if api.Read(ctx, route, nil, &found) != nil {
			return nil
		}
		return each(found.Items[:min(len(found.Items), completions)], word)
	}
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
