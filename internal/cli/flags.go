package cli

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/word"
)

// Flags with a closed set of values refuse others when parsed: a filter that can't match would return an empty list.

// choice is one of a closed set of values.
type choice[T ~string] struct {
	to  *T
	all []T
}

func (f choice[T]) String() string { return string(*f.to) }
func (f choice[T]) Type() string   { return "string" }
func (f choice[T]) Set(text string) (err error) {
	*f.to, err = word.Choose(text, f.all)
	return err
}

// AddChoiceFlag adds a flag and lists its values in the help.
func AddChoiceFlag[T ~string](c *cobra.Command, to *T, name, usage string, all []T) {
	c.Flags().Var(choice[T]{to, all}, name, usage+": "+word.Alternatives(all))
	_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(Words(all), cobra.ShellCompDirectiveNoFileComp)) // it is new
}

// Words returns the values of a closed set as text.
func Words[T ~string](all []T) []string { return each(all, func(one T) string { return string(one) }) }

// pageSize is a number of rows.
type pageSize struct{ to *int }

func (f pageSize) String() string { return strconv.Itoa(*f.to) }
func (f pageSize) Type() string   { return "int" }
func (f pageSize) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > event.MaxPage {
		return fmt.Errorf("use a number from 1 to %d", event.MaxPage)
	}
	*f.to = n
	return nil
}

// AddLimitFlag adds the page size with its default.
func AddLimitFlag(c *cobra.Command, to *int, usual int) {
	*to = usual
	c.Flags().Var(pageSize{to}, "limit", fmt.Sprintf("max number of rows, 1 to %d", event.MaxPage))
}

// AddEventFlag adds a flag that identifies an event in any way that API.FindEvent accepts.
func AddEventFlag(c *cobra.Command, to *string, usage string) {
	c.Flags().StringVar(to, "event", "", "an event (its ID, workflow ID, key or dead letter): "+usage)
}

// rate is a number per second.
type rate struct{ to *float64 }

func (f rate) Type() string { return "string" }
func (f rate) Set(text string) (err error) {
	*f.to, err = operation.ParseRate(text)
	return err
}
func (f rate) String() string {
	if *f.to == 0 {
		return ""
	}
	return RateText(*f.to)
}

// AddRateFlag adds a flag for a rate per second.
func AddRateFlag(c *cobra.Command, to *float64, name, usage string) {
	c.Flags().Var(rate{to}, name, "max rate (50/s, 600/m): "+usage)
}

// RateText formats a rate as AddRateFlag parses it.
func RateText(perSecond float64) string { return strconv.FormatFloat(perSecond, 'g', 4, 64) + "/s" }

// PlanDuration formats how long a plan of n items takes, in whole seconds; "" for none.
func PlanDuration(n int64, perSecond float64) string {
	if n == 0 {
		return ""
	}
	seconds := math.Ceil(float64(n) / perSecond)
	return "at least " + word.Duration(time.Duration(seconds)*time.Second) + ", at " + RateText(perSecond)
}

const providerFlag, sourceFlag = "provider", "source"

// AddProviderFlags adds the filters by provider and by the sender within it.
func AddProviderFlags(c *cobra.Command, provider, source *string) {
	AddProviderFlag(c, provider)
	c.Flags().StringVar(source, sourceFlag, "", "only those of this source, an instance or account (with --provider)")
}

// AddProviderFlag adds the filter by provider.
func AddProviderFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, providerFlag, "", "only those of this provider")
}

// AddTypeFlag adds the filter by type.
func AddTypeFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "type", "", "only those of this type")
}

// AddKindFlag adds the filter by kind of entity; more says what it needs.
func AddKindFlag(c *cobra.Command, to *string, more string) {
	c.Flags().StringVar(to, "kind", "", "only those of this kind of entity"+more)
}

// AddFailureFlags adds the filters by cause of failure.
func AddFailureFlags(c *cobra.Command, class *event.Class, code *string) {
	AddChoiceFlag(c, class, "class", "only those of this class", event.Classes())
	c.Flags().StringVar(code, "code", "", "only those with this code")
}

const detachFlag = "detach"

// AddStartFlags adds the flags of commands that start large operations.
func AddStartFlags(c *cobra.Command, dryRun *bool) {
	if dryRun != nil {
		AddDryRunFlag(c, dryRun)
	}
	AddYesFlag(c, "do not ask")
	c.Flags().Bool(detachFlag, false, "do not watch the progress")
}

// AddDryRunFlag adds --dry-run.
func AddDryRunFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "dry-run", false, "change nothing: show what would be done")
}

// AddFileFlag adds the flag for an input file.
func AddFileFlag(c *cobra.Command, to *string, usage string) {
	c.Flags().StringVarP(to, "file", "f", "", "the file to read (- is standard input): "+usage)
}

// AddSecretFlag adds a secret to sign or check with.
func AddSecretFlag(c *cobra.Command, to *string, usage string) {
	c.Flags().StringVar(to, "secret", "", "a secret instead of the configured ones: "+usage)
}

// AddHeaderFlag adds the headers of a request.
func AddHeaderFlag(c *cobra.Command, to *[]string) {
	c.Flags().StringArrayVar(to, "header", nil, "a header, 'Name: value', replaces one with that name (repeatable)")
}

// ReasonFlag is the name of the flag that AddReasonFlag adds.
const ReasonFlag = "reason"

// AddFetchFlag adds --fetch.
func AddFetchFlag(c *cobra.Command, fetch *bool) {
	c.Flags().BoolVar(fetch, "fetch", false, "ask the provider's API again for the state behind an event")
}

// AddReasonFlag adds --reason, which the audit log stores.
func AddReasonFlag(c *cobra.Command) { c.Flags().String(ReasonFlag, "", "why, for the audit log") }
