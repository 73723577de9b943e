package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/event"
)

// Flags that know which values they can have refuse the others as soon as they are read: a filter that cannot match would say
// that there is nothing.

// choice is one of a closed set of values.
type choice[T ~string] struct {
	to  *T
	all []T
}

func (f choice[T]) String() string { return string(*f.to) }
func (f choice[T]) Type() string   { return "string" }
func (f choice[T]) Set(text string) (err error) {
	*f.to, err = event.Choose(text, f.all)
	return err
}

// AddChoiceFlag adds a flag whose help names the values that it takes.
func AddChoiceFlag[T ~string](c *cobra.Command, to *T, name, usage string, all []T) {
	c.Flags().Var(choice[T]{to, all}, name, usage+": "+event.Alternatives(all))
}

// ordinal is a number from 1.
type ordinal[T int | int64] struct {
	to   *T
	most T // 0 is as many as there are
}

func (f ordinal[T]) String() string { return strconv.FormatInt(int64(*f.to), 10) }
func (f ordinal[T]) Type() string   { return "int" }
func (f ordinal[T]) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || f.most > 0 && n > int64(f.most) {
		if f.most > 0 {
			return fmt.Errorf("want a number from 1 to %d", f.most)
		}
		return errors.New("want a number from 1")
	}
	*f.to = T(n)
	return nil
}

// AddLimitFlag adds the size of a page, with its usual value.
func AddLimitFlag(c *cobra.Command, to *int, usual int) {
	*to = usual
	c.Flags().Var(ordinal[int]{to, event.MaxPage}, "limit", fmt.Sprintf("how many at most, 1 to %d", event.MaxPage))
}

// AddPageFlag takes the number of the row that ended the page before.
func AddPageFlag(c *cobra.Command, to *int64, name, usage string) {
	c.Flags().Var(ordinal[int64]{to, 0}, name, usage)
}

// eventID is the ID of an event.
type eventID struct{ to *string }

func (f eventID) String() string { return *f.to }
func (f eventID) Type() string   { return "string" }
func (f eventID) Set(text string) error {
	if text != "" && uuid.Validate(text) != nil {
		return errors.New("want the ID of an event, a UUID; `holdfast event show` knows it by that of its workflow")
	}
	*f.to = text
	return nil
}

// AddEventFlag adds a flag that takes the ID of an event.
func AddEventFlag(c *cobra.Command, to *string, name, usage string) {
	c.Flags().Var(eventID{to}, name, usage)
}

// rate is a number a second.
type rate struct{ to *float64 }

func (f rate) Type() string { return "string" }
func (f rate) Set(text string) (err error) {
	*f.to, err = event.ParseRate(text)
	return err
}
func (f rate) String() string {
	if *f.to == 0 {
		return ""
	}
	return RateText(*f.to)
}

// AddRateFlag adds a flag for a rate, in a second, such as 50/s or 600/m.
func AddRateFlag(c *cobra.Command, to *float64, name, usage string) {
	c.Flags().Var(rate{to}, name, usage)
}

// RateText is a rate as AddRateFlag reads it.
func RateText(perSecond float64) string { return strconv.FormatFloat(perSecond, 'g', 4, 64) + "/s" }

const providerFlag, sourceFlag = "provider", "source"

// AddProviderFlags adds the filters by provider and by the sender within it.
func AddProviderFlags(c *cobra.Command, provider, source *string) {
	c.Flags().StringVar(provider, providerFlag, "", "only those of this provider")
	c.Flags().StringVar(source, sourceFlag, "", "with --provider: only those of this source (an instance, an account)")
}

// checkSource refuses a source without its provider: two providers may use the same name.
func checkSource(c *cobra.Command) error {
	provider, _ := c.Flags().GetString(providerFlag)
	source, _ := c.Flags().GetString(sourceFlag)
	if source != "" && provider == "" {
		return Misuse(c, fmt.Errorf("--source %q: want --provider beside it", source))
	}
	return nil
}
