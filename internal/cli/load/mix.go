package load

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/loadgen"
	"holdfast/providers"
)

// parseMix parses one or more PROVIDER[:TYPE][=WEIGHT].
func parseMix(c *cobra.Command, catalogue *providers.Catalogue, words []string) (mix []loadgen.Share, err error) {
	for _, word := range words {
		share := loadgen.Share{Weight: 1}
		what, weight, given := strings.Cut(word, "=")
		if given {
			if share.Weight, err = strconv.ParseFloat(weight, 64); err != nil || !(share.Weight > 0) {
				return nil, fmt.Errorf("invalid argument %q: use PROVIDER, PROVIDER:TYPE or PROVIDER:TYPE=WEIGHT, with a weight above 0", word)
			}
		}
		name, eventType, _ := strings.Cut(what, ":")
		if share.Provider, err = cli.FindProvider(c, catalogue, name); err != nil {
			return nil, err
		}
		share.Type = eventType
		mix = append(mix, share)
	}
	return mix, nil
}

// parseShare parses "30%"; "" is 0.
func parseShare(flag, s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err != nil || !(n >= 0 && n <= 100) {
		return 0, fmt.Errorf("invalid --%s %q: use 0%% to 100%%", flag, s)
	}
	return n / 100, nil
}
