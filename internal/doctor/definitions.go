package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/event/oversight"
	"holdfast/internal/config"
	"holdfast/internal/lint"
	"holdfast/internal/word"
	"holdfast/providers"
	"holdfast/providers/receiving"
)

func providersOf(cfg config.Config) (*providers.Catalogue, error) {
	catalogue, err := providers.Load(cfg.Providers.Dir)
	if err != nil {
		return nil, err
	}
	return catalogue.WithSecrets(cfg.Secrets), nil
}

// maxNamed is how many providers a finding names.
const maxNamed = 10

// examineProviders lists the providers that can send. A missing secret isn't an error, because most installations use few of the
// definitions.
func (d *doctor) examineProviders(ctx context.Context) {
	catalogue, err := providersOf(d.cfg)
	if err != nil {
		d.add("providers", resultFail, err.Error(),
			"correct the definitions in "+cmp.Or(d.cfg.Providers.Dir, "HOLDFAST_PROVIDERS_DIR=/etc/holdfast/providers"))
		return
	}
	names := slices.Concat(catalogue.SecretNames(), catalogue.APISecretNames())
	err = errors.Join(d.cfg.CheckSecrets(names...), d.cfg.CheckHandlers(catalogue.HandlerNames()...))
	if err != nil {
		d.add("secrets", resultFail, err.Error(), "correct the variables, or the files that they name")
	}
	d.examineSamples(catalogue)
	var usable []string
	for _, name := range catalogue.Names() {
		if provider, _ := catalogue.Lookup(name); provider.CheckSecrets() == nil {
			usable = append(usable, name)
		}
	}
	d.examineAPIs(catalogue, usable)
	d.reportProviders(usable, len(catalogue.Names()))
	d.examineSecrets(catalogue, usable)
	d.examineBodyMemory(catalogue, usable)
	d.examineRedelivery(catalogue)
	d.trySourceQueues(ctx, catalogue)
}

// examineSecrets looks for what is wrong with secrets that can be read, such as quotes around one.
func (d *doctor) examineSecrets(catalogue *providers.Catalogue, usable []string) {
	var problems []string
	for _, name := range usable {
		provider, _ := catalogue.Lookup(name)
		problems = append(problems, provider.SecretProblems()...)
	}
	if slices.Sort(problems); len(problems) > 0 {
		d.add("form of the secrets", resultWarn, strings.Join(slices.Compact(problems), "; "),
			"correct the variables, or the files that they name")
	}
}

// examineBodyMemory checks that a client may send the largest body of a definition: large bodies get three quarters of a client's
// quarter.
func (d *doctor) examineBodyMemory(catalogue *providers.Catalogue, usable []string) {
	memory, lowered := d.cfg.Ingress.BodyMemory, int(d.cfg.Ingress.BodyLimit)
	largest, of := config.ByteSize(receiving.OpenLimit(lowered)), "without a secret"
	for _, name := range usable {
		provider, _ := catalogue.Lookup(name)
		if limit := config.ByteSize(provider.BodyLimit(lowered)); limit > largest {
			largest, of = limit, "of "+name
		}
	}
	share := memory / 4 * 3 / 4
	d.add("memory for bodies", either(largest <= share, resultWarn),
		fmt.Sprintf("%s in each ingress, %s of it for the large bodies of a client; the largest is %s, %s", memory, share, largest, of),
		fmt.Sprintf("set HOLDFAST_INGRESS_BODY_MEMORY=%s, six times the largest body: otherwise a request of that size gets 503 "+
			"each time", 6*largest))
}

// examineRedelivery looks for names in HOLDFAST_RECOVERY_REDELIVER that have no effect.
func (d *doctor) examineRedelivery(catalogue *providers.Catalogue) {
	for _, name := range d.cfg.Recovery.Redeliver {
		if _, list, err := providers.ListOf(catalogue.Lookup, name); err != nil || list.FollowUp == nil || !list.FollowUp.Redelivers {
			d.add("redelivery by "+name, resultWarn, "HOLDFAST_RECOVERY_REDELIVER names it, but no definition lets it send events again",
				"correct the name, or add `recover.redeliver` to its definition")
		}
	}
}

// examineAPIs reports what is off without credentials for the providers' APIs. That is allowed, and reported together for many
// providers; half a credential is a mistake.
func (d *doctor) examineAPIs(catalogue *providers.Catalogue, usable []string) {
	var without []oversight.Finding
	for _, name := range usable {
		p, _ := catalogue.Lookup(name)
		switch off, isPartial := p.APIOff(d.cfg.Secrets); {
		case isPartial:
			d.add("API of "+name, resultWarn, off, "set what is missing, and restart the workers")
		case off != "":
			without = append(without, oversight.Finding{Check: "API of " + name, Detail: off})
		}
	}
	if n := len(without); n > maxNamed {
		d.add("APIs of providers", resultOK, fmt.Sprintf("%d have no credential, which is allowed. %s: %s", n, without[0].Check,
			without[0].Detail), "")
		return
	}
	for _, f := range without {
		d.add(f.Check, resultOK, f.Detail, "")
	}
}

func (d *doctor) reportProviders(usable []string, all int) {
	detail := fmt.Sprintf("%d of %d can authenticate their senders", len(usable), all)
	switch n := len(usable); {
	case n > maxNamed:
		detail += "; `holdfast provider list` lists them"
	case n > 0:
		detail += ": " + strings.Join(usable, ", ")
	}
	d.add("providers", either(len(usable) > 0, resultWarn), detail,
		"an ingress needs the secret of at least one provider: run doctor with its environment; "+
			"`holdfast provider show NAME` names the variable")
}

// examineSamples checks the definitions on disk. A process that has rejected a reload still uses the old ones.
func (d *doctor) examineSamples(catalogue *providers.Catalogue) {
	if d.cfg.Providers.Dir == "" {
		return
	}
	detail := "those of your definitions pass"
	failing := lint.FailingSamples(catalogue)
	if n := len(failing); n > 0 {
		detail = fmt.Sprintf("%s, the first: %s", word.Count(n, "sample fails", "samples fail"), failing[0])
	}
	d.add("samples", either(len(failing) == 0, resultFail), detail,
		"correct the definition or its sample: a reload keeps the old definitions, a start takes these; "+
			"`holdfast provider check` names all")
}
