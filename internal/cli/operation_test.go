package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator/launch"
)

// step is an operation that counts reads.
type step struct {
	operation.Base
	n int64
}

func (s step) Share() float64               { return 0 }
func (s step) MarshalJSON() ([]byte, error) { return []byte(Number(s.n)), nil }

// counter has one operation and counts its reads.
type counter struct {
	launch.Store[step]
	read int64
}

func (c *counter) Read(context.Context, string) (step, error) { c.read++; return step{n: c.read}, nil }

func counting(ends error) Operations[step] {
	all := &launch.Operations[step]{Store: &counter{}}
	return Operations[step]{
		Kind: "count",
		Of:   func(*Tools) *launch.Operations[step] { return all },
		Line: func(s step) string { return "at " + Number(s.n) },
		End:  func(s step) (bool, error) { return s.n == 2, ends },
	}
}

// A started operation is printed first, watched to its end, and reported with its final error.
func TestWhatWasStartedIsFollowed(t *testing.T) {
	t.Parallel()
	failed, unstarted := errors.New("some have failed"), event.ErrNotFound
	for name, test := range map[string]struct {
		flags      []string
		ends, fail error
		out        string
		err        error
	}{
		"watched":     {nil, failed, nil, "count 7\n" + Bar(0) + "  at 1\n" + Bar(0) + "  at 2\nended at 2\n", failed},
		"detached":    {[]string{"--detach"}, failed, nil, "count 7\n", nil},
		"as JSON":     {[]string{"--json"}, failed, nil, "2\n", failed},
		"both":        {[]string{"--json", "--detach"}, failed, nil, "0\n", nil},
		"not started": {nil, nil, unstarted, "count 7\nended at 0\n", unstarted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			c := &cobra.Command{RunE: func(c *cobra.Command, _ []string) error {
				seen, err := counting(test.ends).Follow(c, nil, step{Base: operation.Base{ID: "7"}}, test.fail)
				return Report(c, seen, func(w io.Writer) error {
					_, err := io.WriteString(w, "ended at "+Number(seen.n)+"\n")
					return err
				}, err)
			}, SilenceErrors: true, SilenceUsage: true}
			AddStartFlags(c, nil)
			AddJSONFlag(c)
			c.SetArgs(append([]string{}, test.flags...))
			c.SetOut(&out)
			c.SetErr(io.Discard)
			require.ErrorIs(t, c.ExecuteContext(t.Context()), test.err)
			require.Equal(t, test.out, out.String())
		})
	}
}

// Showing a plan starts nothing; without --yes and a terminal nothing is confirmed; and JSON shows only the result.
func TestWhatIsAgreedTo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags []string
		only  bool
		ok    bool
		out   string
		err   string
	}{
		"only shown":   {[]string{"--yes"}, true, false, "a plan\n", ""},
		"shown, JSON":  {[]string{"--json"}, true, false, "7\n", ""},
		"agreed":       {[]string{"--yes"}, false, true, "a plan\n", ""},
		"agreed, JSON": {[]string{"--yes", "--json"}, false, true, "", ""},
		"nobody there": {nil, false, false, "a plan\n", "nothing was started"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			c := &cobra.Command{RunE: func(c *cobra.Command, _ []string) error {
				ok, err := ConfirmPlan(c, 7, func(w io.Writer) error {
					_, err := io.WriteString(w, "a plan\n")
					return err
				}, test.only, "Go?")
				require.Equal(t, test.ok, ok)
				return err
			}, SilenceErrors: true, SilenceUsage: true}
			AddStartFlags(c, nil)
			AddJSONFlag(c)
			c.SetArgs(append([]string{}, test.flags...))
			c.SetIn(&bytes.Buffer{})
			c.SetOut(&out)
			if err := c.ExecuteContext(t.Context()); test.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.err)
			}
			require.Equal(t, test.out, out.String())
		})
	}
}
