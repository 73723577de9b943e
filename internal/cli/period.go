package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/word"
)

// moment is a time, or a duration back from now.
type moment struct {
	to *time.Time
	// in refuses an empty period; nil allows any time.
	in func() error
}

func (f moment) String() string { return TimeText(*f.to) }
func (f moment) Type() string   { return "string" }
func (f moment) Set(text string) (err error) {
	*f.to = time.Time{}
	if text != "" {
		*f.to, err = word.ParseTime(text, time.Now())
	}
	if err != nil || f.in == nil {
		return err
	}
	return f.in()
}

// AddTimeFlag adds a flag for a time; in, unless nil, validates it.
func AddTimeFlag(c *cobra.Command, to *time.Time, in func() error, name, usage string) {
	c.Flags().Var(moment{to, in}, name, usage+": "+word.TimeForms)
}

// length is a duration in s, m, h or d.
type length struct{ to *time.Duration }

// String returns "" for 0, so that the help shows no default.
func (l length) String() string {
	if *l.to == 0 {
		return ""
	}
	return word.Duration(*l.to)
}

func (l length) Type() string { return "duration" }
func (l length) Set(text string) (err error) {
	*l.to, err = word.ParseDuration(text)
	return err
}

// AddDurationFlag adds a flag for a duration.
func AddDurationFlag(c *cobra.Command, to *time.Duration, value time.Duration, name, usage string) {
	*to = value
	c.Flags().Var(length{to}, name, usage)
}

// AddPeriodFlags adds --since and --until, which refuse an empty period.
func AddPeriodFlags(c *cobra.Command, since, until *time.Time) {
	in := func() error {
		if !since.IsZero() && !until.IsZero() && !since.Before(*until) {
			return fmt.Errorf("--since must be before --until: %s isn't before %s", TimeText(*since), TimeText(*until))
		}
		return nil
	}
	AddTimeFlag(c, since, in, "since", "not before then")
	AddTimeFlag(c, until, in, "until", "before then")
}

// OptionalTimeText is TimeText for a pointer; "" for nil.
func OptionalTimeText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return TimeText(*t)
}

// TimeText formats a time as RFC 3339; "" for the zero time.
func TimeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
