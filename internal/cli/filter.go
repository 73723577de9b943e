package cli

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/operator/httpapi"
)

// Filters are flags that a command passes on to a route as they are: the route refuses what it can't use.

const parameterAnnotation = "parameter"

// eventParameter is the parameter of --event, whose value names an event in any way.
const eventParameter = "event_id"

// AsFilter passes a flag's value on as a parameter of the route, or as a field of its body.
func AsFilter(c *cobra.Command, flag, parameter string) {
	_ = c.Flags().SetAnnotation(flag, parameterAnnotation, []string{parameter}) // the flag exists
}

// AddFilter adds a filter with any text.
func AddFilter(c *cobra.Command, flag, parameter, usage string) {
	c.Flags().String(flag, "", usage)
	AsFilter(c, flag, parameter)
}

// AddChoiceFilter adds a filter with one of the values, which the help lists.
func AddChoiceFilter[T ~string](c *cobra.Command, flag, parameter, usage string, all []T) {
	AddChoiceFlag(c, new(T), flag, usage, all)
	AsFilter(c, flag, parameter)
}

// AddProviderFilters adds the filters by provider and by the sender within it.
func AddProviderFilters(c *cobra.Command) {
	AddProviderFlags(c, new(string), new(string))
	AsFilter(c, providerFlag, "provider")
	AsFilter(c, sourceFlag, "source")
}

// AddProviderFilter adds the filter by provider.
func AddProviderFilter(c *cobra.Command) {
	AddProviderFlag(c, new(string))
	AsFilter(c, providerFlag, "provider")
}

// AddTypeFilter adds the filter by type.
func AddTypeFilter(c *cobra.Command) { AddFilter(c, "type", "type", "only those of this type") }

// AddKeyFilter adds the filter by key.
func AddKeyFilter(c *cobra.Command) {
	AddFilter(c, "key", "key", "only those of this key (as the provider gave it)")
}

// AddPeriodFilters adds --since and --until.
func AddPeriodFilters(c *cobra.Command) {
	AddTimeFilter(c, "since", "since", "not before then")
	AddTimeFilter(c, "until", "until", "before then")
}

// AddTimeFilter adds a filter by time.
func AddTimeFilter(c *cobra.Command, flag, parameter, usage string) {
	AddTimeFlag(c, new(time.Time), nil, flag, usage)
	AsFilter(c, flag, parameter)
}

// AddEventFilter adds a filter that names an event in any way that FindEvent accepts.
func AddEventFilter(c *cobra.Command) {
	AddEventFlag(c, new(string), "only its own")
	AsFilter(c, "event", eventParameter)
}

// parameterOf returns "" for a flag that isn't a filter.
func parameterOf(f *pflag.Flag) string {
	for _, name := range f.Annotations[parameterAnnotation] {
		return name
	}
	return ""
}

// FiltersOf returns the given filters by the route's names.
func (a *API) FiltersOf(ctx context.Context, c *cobra.Command) (url.Values, error) {
	query := url.Values{}
	var problems []error
	c.Flags().Visit(func(f *pflag.Flag) {
		name, text := parameterOf(f), f.Value.String()
		if name == "" || text == "" {
			return
		}
		if name == eventParameter {
			id, err := a.FindEvent(ctx, text)
			problems = append(problems, err)
			text = id
		}
		query.Set(name, text)
	})
	return query, errors.Join(problems...)
}

// Reasoned returns a request's body with the command's reason for the audit log.
func Reasoned(c *cobra.Command) httpapi.Reasoned {
	reason, _ := c.Flags().GetString(ReasonFlag) // no flag means no reason
	return httpapi.Reasoned{Reason: reason}
}
