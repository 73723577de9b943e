package destination

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/delivery/declared"
	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/operator/api/deliveryapi"
)

// DestinationCommand returns `holdfast destination`.
func DestinationCommand() *cobra.Command {
	return cli.Group("destination", "Where events are delivered: list, pause, delete, rotate secrets",
		"  holdfast destination list\n  holdfast destination pause crm --reason 'they deploy'",
		listDestinationsCommand(), showDestinationCommand(),
		stateCommand(kindDestination, "pause", delivery.DestinationPaused),
		stateCommand(kindDestination, "resume", delivery.DestinationReady),
		stateCommand(kindDestination, "disable", delivery.DestinationDisabled),
		rotateCommand(kindDestination), deleteDestinationCommand())
}

func listDestinationsCommand() *cobra.Command {
	return cli.Page[deliveryapi.DestinationView]{
		Short: "List destinations, with their health", Route: "/destinations",
		Example: "  holdfast destination list\n" +
			"  holdfast destination list --json |\n    jq '.items[] | select(.condition.breaker != \"closed\")'",
		Heading: []string{"NAME!", "KIND+", "HEALTH", "BREAKER", "WAITING", "RETRYING", "OLDEST~", "NEXT~", "FAILURE"},
		Cells: func(d deliveryapi.DestinationView) []string {
			how := d.Condition
			return []string{
				d.Name, d.Kind(), string(how.Health()), string(how.Breaker), cli.Number(how.Waiting), cli.Number(how.Retrying),
				cli.OptionalTimeText(how.Oldest), cli.OptionalTimeText(how.NextAt), how.Failure,
			}
		},
	}.Command()
}

func showDestinationCommand() *cobra.Command {
	return named(kindDestination, "show", "Show one destination: its settings and its health",
		"  holdfast destination show crm",
		func(c *cobra.Command, a *cli.API, name string) error {
			return notFound(cli.Show(c, a, pathOf(kindDestination, name), nil, writeDestination), kindDestination, name)
		})
}

func writeDestination(w io.Writer, d deliveryapi.DestinationView) error {
	var more []string
	fields, err := declared.DestinationSettings(d.Destination)
	if err != nil {
		return err
	}
	for _, f := range sorted(fields) {
		more = append(more, f, string(fields[f]))
	}
	if d.CertificateUntil != nil {
		more = append(more, "client certificate", delivery.CertificateState(*d.CertificateUntil, time.Now()))
	}
	how := d.Condition
	more = append(more, conditionFields(how)...)
	more = append(more, "next step", how.NextStep(delivery.Commands(d.Name)))
	for _, s := range d.Secrets {
		mark := s.Fingerprint
		if s.Until != nil {
			mark += " until " + cli.OptionalTimeText(s.Until)
		}
		more = append(more, "secret", mark)
	}
	return cli.WriteFields(w, append([]string{"destination", d.Name + " (" + strconv.FormatInt(d.ID, 10) + ")"}, more...)...)
}

func conditionFields(how delivery.Condition) []string {
	state := string(how.State)
	if how.By != "" {
		state += " since " + how.StateAt.Format(time.RFC3339) + " by " + how.By
	}
	var failing string
	if how.FailingSince != nil {
		failing = how.Failure + " since " + cli.OptionalTimeText(how.FailingSince)
	}
	return []string{
		"state", state, "because", how.Reason, "breaker", string(how.Breaker), "open until", cli.OptionalTimeText(how.OpenUntil),
		"endpoint busy until", cli.OptionalTimeText(how.ResumeAt),
		"failing with", failing,
		"waiting", cli.Number(how.Waiting), "retrying", cli.Number(how.Retrying), "in flight", cli.Number(how.Leased),
		"oldest", cli.OptionalTimeText(how.Oldest), "next attempt", cli.OptionalTimeText(how.NextAt),
	}
}

// stateCommand pauses, resumes or disables a destination, also by the name of a subscription.
func stateCommand(kind, verb string, to delivery.DestinationState) *cobra.Command {
	short := map[delivery.DestinationState]string{
		delivery.DestinationPaused:   "Send nothing until it is resumed; matching events are kept",
		delivery.DestinationReady:    "Send waiting deliveries now; also enables a disabled one",
		delivery.DestinationDisabled: "Send nothing until it is resumed; matching events are kept",
	}[to]
	long := ""
	if kind == kindSubscription {
		long = short + ".\nThis changes the destination of the subscription, and so affects every other\nsubscription to it."
	}
	command := named(kind, verb, short, "  holdfast "+kind+" "+verb+" crm --reason 'INC-42'",
		func(c *cobra.Command, a *cli.API, name string) error {
			_, others, err := targetOf(c, a, kind, name)
			if err != nil {
				return err
			}
			var shown deliveryapi.DestinationView
			if err := change(c, a, http.MethodPost, kind, name, verb, cli.Reasoned(c), &shown); err != nil {
				return err
			}
			return done(c, shown, "destination %s is %s: %s%s", shown.Name, shown.Condition.State, waits(shown.Condition), others)
		})
	command.Long = long
	cli.AddReasonFlag(command)
	return command
}

// waits counts the unfinished deliveries, attempted or not.
func waits(c delivery.Condition) string {
	switch n := c.Waits(); {
	case c.AtLeast:
		return fmt.Sprintf("at least %d deliveries waiting", n)
	case n == 1:
		return "1 delivery waiting"
	default:
		return fmt.Sprintf("%d deliveries waiting", n)
	}
}

// targetOf returns the destination that a name refers to, and the other subscriptions to it.
func targetOf(c *cobra.Command, a *cli.API, kind, name string) (destination, others string, err error) {
	if kind == kindDestination {
		return name, "", nil
	}
	var s deliveryapi.SubscriptionView
	if err := read(c, a, kind, name, &s); err != nil {
		return "", "", err
	}
	all, err := cli.ReadAll[deliveryapi.SubscriptionView](c, a, "/subscriptions", url.Values{})
	var names []string
	for _, other := range all {
		if other.DestinationID == s.DestinationID && other.ID != s.ID {
			names = append(names, other.Name)
		}
	}
	if len(names) > 0 {
		others = "; also used by " + someOf(names)
	}
	return s.To, others, err
}

// someOf returns as many names as fit on a line.
func someOf(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], " "), len(names)-most)
}

// rotateCommand gives a destination a new secret.
func rotateCommand(kind string) *cobra.Command {
	grace := deliveryapi.DefaultGrace
	var given bool
	command := named(kind, "rotate-secret", "Create a new secret; the old one also signs for a while",
		"  holdfast "+kind+" rotate-secret crm --grace 48h\n  holdfast "+kind+" rotate-secret stock --secret-stdin < password.txt",
		func(c *cobra.Command, a *cli.API, name string) error {
			secret, err := secretFrom(c, given)
			if err != nil {
				return err
			}
			if grace < 0 || grace > admin.MaxGrace {
				return cli.UsageError(c,
					fmt.Errorf("invalid --grace %s: use 0s to %s", event.Duration(grace), event.Duration(admin.MaxGrace)))
			}
			length := event.Duration(grace)
			var shown deliveryapi.DestinationView
			if err := change(c, a, http.MethodPost, kind, name, "rotate-secret", deliveryapi.Rotation{
				Reasoned: cli.Reasoned(c), Secret: secret, Grace: &length,
			}, &shown); err != nil {
				return err
			}
			return cli.Print(c, shown, func(w io.Writer) error {
				if shown.Secret == "" { // a queue's
					_, err := fmt.Fprintf(w, "%s connects with the new secret from its next attempt on\n", shown.Name)
					return err
				}
				printSecret(w, shown.Name, shown.Secret)
				_, err := fmt.Fprintf(w, "requests are also signed with the previous secret for %s\n", length)
				return err
			})
		})
	cli.AddDurationFlag(command, &grace, grace, "grace", "how long the previous secret is also used, max 168h")
	command.Flags().BoolVar(&given, "secret-stdin", false, secretUsage)
	cli.AddReasonFlag(command)
	return command
}

const secretUsage = "read the secret from standard input (otherwise one is generated)"

// maxSecretInput is in bytes.
const maxSecretInput = 4 << 10

// secretFrom reads a secret from standard input, which process lists don't show.
func secretFrom(c *cobra.Command, given bool) (string, error) {
	if !given {
		return "", nil
	}
	text, err := io.ReadAll(io.LimitReader(c.InOrStdin(), maxSecretInput))
	if err != nil {
		return "", err
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if secret == "" {
		return "", errors.New("standard input has no secret")
	}
	return secret, nil
}

func deleteDestinationCommand() *cobra.Command {
	command := named(kindDestination, "delete", "Delete a destination without subscriptions",
		"  holdfast destination delete crm --reason 'gone'",
		func(c *cobra.Command, a *cli.API, name string) error {
			if err := change(c, a, http.MethodDelete, kindDestination, name, "", cli.Reasoned(c), nil); err != nil {
				return err
			}
			return done(c, map[string]string{"deleted": name}, "deleted destination %s", name)
		})
	cli.AddReasonFlag(command)
	return command
}
