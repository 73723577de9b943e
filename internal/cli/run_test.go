package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
)

// step is an operation that counts reads.
type step struct {
	operation.Base
	n int64
}

func (s step) Share() float64               { return 0 }
func (s step) MarshalJSON() ([]byte, error) { return []byte(Number(s.n)), nil }

func (s *step) UnmarshalJSON(text []byte) (err error) {
	s.n, err = strconv.ParseInt(string(text), 10, 64)
	return err
}

// counter is an API with one operation, which counts its reads.
func counter(t *testing.T) *API {
	t.Helper()
	var read atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/counts/7" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"code":"no_such_thing"}}`)
			return
		}
		fmt.Fprint(w, read.Add(1))
	}))
	t.Cleanup(server.Close)
	return &API{URL: server.URL, Client: server.Client()}
}

func counting(ends error) Runs[step] {
	return Runs[step]{
		Kind: "count",
		Line: func(s step) string { return "at " + Number(s.n) },
		End:  func(s step) (bool, error) { return s.n == 2, ends },
	}
}

// A started operation is printed first, watched to its end, and reported with its final error.
func TestStartedOperationsAreFollowed(t *testing.T) {
	t.Parallel()
	failed := errors.New("some have failed")
	for name, test := range map[string]struct {
		id    string
		flags []string
		out   string
		err   error
	}{
		"watched":  {"7", nil, "count 7\n" + Bar(0) + "  at 1\n" + Bar(0) + "  at 2\nended at 2\n", failed},
		"detached": {"7", []string{"--detach"}, "count 7\n", nil},
		"as JSON":  {"7", []string{"--json"}, "2\n", failed},
		"both":     {"7", []string{"--json", "--detach"}, "0\n", nil},
		"gone":     {"8", nil, "count 8\nended at 0\n", event.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			c := &cobra.Command{RunE: func(c *cobra.Command, _ []string) error {
				seen, err := counting(failed).Follow(c, counter(t), step{Base: operation.Base{ID: test.id}})
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
func TestConfirmedPlans(t *testing.T) {
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
