package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// IDs that begin with a dash are arguments wherever they are, and everything else means what it did.
func TestArgumentsThatBeginWithADash(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"entity show stripe customer -1001557":                     "stripe customer -1001557",
		"entity show stripe customer -1001557 --json":              "stripe customer -1001557 json",
		"entity show -7 --at=2h -8 -9":                             "-7 -8 -9 at=2h",
		"entity show stripe customer -- -y":                        "stripe customer -y",
		"entity show -y stripe customer -5":                        "stripe customer -5 yes",
		"entity show -f - stripe customer -5":                      "stripe customer -5 file=-",
		"entity show -f-5 stripe customer x":                       "stripe customer x file=-5",
		"entity show stripe customer -ü":                           "stripe customer -ü",
		"entity show stripe customer -":                            "stripe customer -",
		"entity show stripe customer x --json":                     "stripe customer x json",
		"entity show stripe customer --jsn":                        "unknown flag: --jsn",
		"entity show stripe customer -5 --jsn":                     "unknown flag: --jsn",
		"entity shw":                                               "unknown command",
		"entity show stripe customer -yx":                          "stripe customer -yx",
		"entity show stripe customer -5 -- --json":                 "stripe customer -5 --json",
		"entity show --at 1h stripe customer -5 --json --at 2h -y": "stripe customer -5 json yes at=2h",
	} {
		var got []string
		show := &cobra.Command{Use: "show", Args: cobra.ArbitraryArgs}
		asJSON, yes := show.Flags().Bool("json", false, ""), show.Flags().BoolP("yes", "y", false, "")
		file, at := show.Flags().StringP("file", "f", "", ""), show.Flags().String("at", "", "")
		show.RunE = func(_ *cobra.Command, args []string) error {
			got = args
			if *asJSON {
				got = append(got, "json")
			}
			if *yes {
				got = append(got, "yes")
			}
			for _, v := range []struct{ name, value string }{{"at", *at}, {"file", *file}} {
				if v.value != "" {
					got = append(got, v.name+"="+v.value)
				}
			}
			return nil
		}
		show.Example = "x"
		root := NewRoot(Group("entity", "", "", show))
		root.SetArgs(Arguments(root, strings.Fields(line)))
		if err := root.ExecuteContext(t.Context()); err != nil {
			require.ErrorContains(t, err, want, line)
			continue
		}
		require.Equal(t, want, strings.Join(got, " "), line)
	}
}
