package providers

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/providers/auth"
)

// APIOff says what is off because variables of the provider's API aren't set; "" if nothing is. isPartial means that others of
// them are set.
func (p *Provider) APIOff(s auth.Secrets) (text string, isPartial bool) {
	var off, until, names []string
	if len(p.fetches) > 0 {
		off, names = append(off, "fetch"), p.fetches[0].SecretNames()
		until = append(until, "thin events are processed without the state that they name")
	}
	if p.recovery != nil {
		off, names = append(off, "recover"), p.recovery.SecretNames()
		until = append(until, "events that never arrive aren't noticed")
	}
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return s != nil && len(s(name)) > 0 })
	if len(missing) == 0 {
		return "", false
	}
	are := " is"
	if len(off) > 1 {
		are = " are"
	}
	return fmt.Sprintf("%s%s off: set %s for the workers. Until then, %s", strings.Join(off, " and "), are,
		strings.Join(missing, " and "), strings.Join(until, ", and ")), len(missing) < len(names)
}
