package recovery

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

// API describes the requests to a provider's API: for its list of events, and for the states behind thin events.
type API struct {
	list    *List
	fetches []*Fetch
}

// NewAPI compiles what is asked of a provider's API, and reports every problem. webhook is the path of its webhook.
func NewAPI(p *definition.Problems, webhook string, d *definition.Definition) *API {
	return &API{New(p, webhook, d.API, d.Recover), NewFetches(p, d.API, d.Fetch)}
}

// Recovery returns the provider's list of events, from which missed events can be recovered; nil if the definition has none.
func (a *API) Recovery() *List { return a.list }

// Fetches returns the GETs for the current state of what events name, in the order of the definition.
func (a *API) Fetches() []*Fetch { return a.fetches }

// APISecretNames returns the names of the variables with which the API is called.
func (a *API) APISecretNames() (names []string) {
	if a.list != nil {
		names = append(names, a.list.SecretNames()...)
	}
	for _, fetch := range a.fetches {
		names = append(names, fetch.SecretNames()...)
	}
	return names
}

// APIOff says what is off because variables of the provider's API aren't set; "" if nothing is. isPartial means that others of
// them are set.
func (a *API) APIOff(s auth.Secrets) (text string, isPartial bool) {
	var off, until, names []string
	if len(a.fetches) > 0 {
		off, names = append(off, "fetch"), a.fetches[0].SecretNames()
		until = append(until, "thin events are processed without the state that they name")
	}
	if a.list != nil {
		off, names = append(off, "recover"), a.list.SecretNames()
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
