package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// moment is a time, or how long ago it was.
type moment struct {
	to *time.Time
	// in refuses a period that has nothing in it; nil allows any time.
	in func() error
}

func (f moment) String() string { return MomentText(*f.to) }
func (f moment) Type() string   { return "string" }
func (f moment) Set(text string) (err error) {
	if *f.to, err = ParseMoment(text, time.Now()); err != nil || f.in == nil {
		return err
	}
	return f.in()
}

// AddTimeFlag adds a flag for a time; in, unless it is nil, refuses some.
func AddTimeFlag(c *cobra.Command, to *time.Time, in func() error, name, usage string) {
	c.Flags().Var(moment{to, in}, name, usage+" (90m, 7d ago, or RFC 3339)")
}

// AddPeriodFlags adds --since and --until, which refuse a period that has nothing in it.
func AddPeriodFlags(c *cobra.Command, since, until *time.Time) {
	in := func() error {
		if !since.IsZero() && !until.IsZero() && !since.Before(*until) {
			return errors.New("--since has to be before --until")
		}
		return nil
	}
	AddTimeFlag(c, since, in, "since", "not before then")
	AddTimeFlag(c, until, in, "until", "before then")
}

// ParseMoment reads a moment: how long ago it was ("90m", "7d"), or when (RFC 3339, or a date in UTC). Empty is the zero time.
func ParseMoment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.UTC().AddDate(0, 0, -n), nil
		}
	}
	ago, err := time.ParseDuration(text)
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("%q is no moment: want how long ago (90m, 7d) or when (2026-01-02T15:04:05Z)", text)
	}
	return now.UTC().Add(-ago), nil
}

// MomentTextOf is MomentText, and nothing where there is no time.
func MomentTextOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return MomentText(*t)
}

// MomentText is a time as RFC 3339, and nothing for the zero time.
func MomentText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
