package importer

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/movein"
)

// fromTokenVariable names the variable with the token for another system's API.
const fromTokenVariable = "HOLDFAST_SECRET_FROM_TOKEN"

// system is another webhook gateway whose API is read, instead of a file.
type system struct {
	from                          movein.From
	url, project                  string
	tokenFile, signingFile        string
	tenants                       []string
	since                         time.Time
	undelivered, failed, inFlight bool
}

func (s *system) addFlags(c *cobra.Command) {
	flags := c.Flags()
	cli.AddChoiceFlag(c, &s.from, "from", "read from there: another gateway's API, instead of a file", movein.Systems())
	flags.StringVar(&s.url, "from-url", "", "the address of its API: https://…")
	flags.StringVar(&s.tokenFile, "from-token-file", "", "a file with the token for it (default: "+fromTokenVariable+")")
	flags.StringVar(&s.project, "project", "", "with --from convoy: the ID of the project")
	flags.StringArrayVar(&s.tenants, "tenant", nil, "with --from outpost: only this tenant; can be repeated")
	flags.StringVar(&s.signingFile, "signing-secret-file", "", "with --from hookdeck: a file with the project's signing secret")
	flags.BoolVar(&s.undelivered, "undelivered", false, "with --from: what that system would still send")
	flags.BoolVar(&s.failed, "failed", false, "with --from: what that system has given up")
	cli.AddTimeFlag(c, &s.since, nil, "since", "not before then (with --from, by the time of receipt)")
}

func (s *system) addInFlightFlag(c *cobra.Command) {
	c.Flags().BoolVar(&s.inFlight, "in-flight", false, "also what that system is sending right now, which may arrive twice")
}

// check refuses a line with neither a file nor a system, or with both, and flags that would be ignored.
func (s *system) check(c *cobra.Command, args []string) error {
	switch {
	case s.from == "" && len(args) == 0:
		return cli.UsageError(c, errors.New("give a FILE, or --from"))
	case s.from == "":
		for _, name := range []string{
			"from-url", "from-token-file", "project", "tenant", "signing-secret-file", "undelivered", "failed", "in-flight", "since",
		} {
			if c.Flags().Changed(name) {
				return cli.UsageError(c, fmt.Errorf("--%s needs --from", name))
			}
		}
		return nil
	case s.sends() && c.Flags().Changed("detach"):
		return cli.UsageError(c,
			errors.New("--detach can't be combined with --undelivered or --failed: deliveries are queued after the import"))
	case len(args) > 0:
		return cli.UsageError(c, errors.New("give a FILE or --from, not both"))
	case !cli.IsURL(s.url):
		return cli.UsageError(c, fmt.Errorf("invalid --from-url %q: use http://… or https://…", s.url))
	}
	for _, name := range []string{"format", "record", "default-provider"} {
		if c.Flags().Changed(name) {
			return cli.UsageError(c, fmt.Errorf("--%s can't be combined with --from", name))
		}
	}
	return nil
}

// open opens the system's API.
func (s *system) open(c *cobra.Command, a *cli.API) (*move, error) {
	source, err := s.source()
	if err != nil {
		return nil, cli.UsageError(c, err)
	}
	of, err := movein.Open(source)
	if err != nil {
		return nil, cli.UsageError(c, err)
	}
	m := &move{system: s, c: c, api: a, of: of}
	if source.SendsTokenInClear() {
		m.warning = "--from-url is http://, so the token and the secrets can be read on the way: use https://, or a tunnel to localhost"
	}
	return m, nil
}

func (s *system) source() (of movein.Source, err error) {
	token, err := secretOf(s.tokenFile)
	if err != nil {
		return of, err
	}
	signing, err := secretOf(s.signingFile)
	return movein.Source{
		From: s.from, URL: s.url, Token: cmp.Or(token, os.Getenv(fromTokenVariable)), Project: s.project, Tenants: s.tenants,
		Signing: movein.Secret(signing),
	}, err
}

func secretOf(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	return strings.TrimSpace(string(text)), err
}

// usualPeriod is how far back undelivered events are searched.
const usualPeriod = 30 * 24 * time.Hour

// selection selects the events to import. Without --undelivered, --failed and --since there are none.
func (s *system) selection() (of movein.Selection, isAny bool) {
	of = movein.Selection{Since: s.since, Undelivered: s.undelivered, Failed: s.failed}
	isAny = s.undelivered || s.failed || !s.since.IsZero()
	if of.Since.IsZero() {
		of.Since = time.Now().Add(-usualPeriod)
	}
	return of, isAny
}

// sends reports whether the selected events get deliveries.
func (s *system) sends() bool { return s.undelivered || s.failed }
