package destination

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/operator/api/deliveryapi"
)

func createCommand() *cobra.Command {
	o := createOptions{}
	command := named("name", "create", "Create a subscription, and its destination if needed",
		"  holdfast subscription create crm --url https://crm.example.com/hooks \\\n"+
			"    --types 'customer.*'\n"+
			"  holdfast subscription create orders --task-queue orders \\\n"+
			"    --start OrderWorkflow --workflow-id '\"order:\" + .body.id'\n"+
			"  holdfast subscription create invoices --to crm --types 'invoice.*' --body raw",
		o.run)
	command.Long = "Create a subscription; with --url or --task-queue its destination as well, of the\n" +
		"same name. For all other settings, use a file: holdfast subscription apply."
	flags := command.Flags()
	flags.StringVar(&o.to, "to", "", "an existing destination")
	flags.StringVar(&o.url, "url", "", "the URL to send to (an HTTP endpoint)")
	flags.StringVar(&o.proxy, "proxy", "", "to an endpoint: a proxy in HOLDFAST_PROXIES, or direct (default: HOLDFAST_PROXY)")
	flags.StringVar(&o.queue, "task-queue", "", "a Temporal task queue")
	flags.StringVar(&o.profile, "profile", "", "a profile of TEMPORAL_CONFIG_FILE (default: Holdfast's own Temporal)")
	flags.StringSliceVar(&o.events.Providers, "providers", nil, "only events of these providers")
	flags.StringSliceVar(&o.events.Types, "types", nil, "only events of these types, which may be globs: customer.*")
	flags.StringVar(&o.events.Filter, "filter", "", "only events for which this jq returns true")
	flags.StringVar(&o.orderBy, "order-by", "", "jq that returns a key: one delivery of a key at a time, in order")
	flags.StringVar(&o.body, "body", "", "to an endpoint: raw (default), envelope, or jq")
	flags.StringVar(&o.start, "start", "", "to a task queue: start a workflow of this type")
	flags.StringVar(&o.signal, "signal", "", "to a task queue: signal with this name (with --start, start it if needed)")
	flags.StringVar(&o.workflowID, "workflow-id", "", "to a task queue: jq that returns the workflow ID")
	flags.StringVar(&o.input, "input", delivery.BodyEnvelope, "to a task queue: the input of workflow and signal, envelope or jq")
	cli.AddRateFlag(command, &o.rate, "rate", "attempts")
	flags.BoolVar(&o.secretStdin, "secret-stdin", false, secretUsage)
	cli.AddReasonFlag(command)
	return command
}

type createOptions struct {
	to, url, proxy, queue, profile         string
	body, start, signal, workflowID, input string
	orderBy                                string
	events                                 delivery.Events
	rate                                   float64
	secretStdin                            bool
}

func (o *createOptions) run(c *cobra.Command, a *cli.API, name string) error {
	s, to, err := o.declare(name)
	if err != nil {
		return cli.UsageError(c, err)
	}
	if err := mustBeNew(c, a, s, to); err != nil {
		return err
	}
	secret, err := secretFrom(c, o.secretStdin)
	if err != nil {
		return err
	}
	var target deliveryapi.DestinationView
	if to != nil {
		body := deliveryapi.DestinationRequest{Destination: *to, Reasoned: cli.Reasoned(c), Secret: secret}
		if err := a.Change(c.Context(), http.MethodPost, "/destinations", body, &target); err != nil {
			return err
		}
	}
	var made deliveryapi.SubscriptionView
	body := deliveryapi.SubscriptionRequest{Subscription: s, Reasoned: cli.Reasoned(c)}
	if err := a.Change(c.Context(), http.MethodPost, "/subscriptions", body, &made); err != nil {
		if target.Secret != "" {
			printSecret(cli.StatusWriter(c), target.Name, target.Secret) // no other response has it
		}
		return notFound(err, kindDestination, s.To)
	}
	made.Secret = target.Secret
	return cli.Print(c, made, func(w io.Writer) error {
		fmt.Fprintf(w, "subscription %s goes to %s\n", s.Name, s.To)
		writeWarnings(w, "", made.Warnings)
		printSecret(w, s.To, made.Secret)
		_, err := fmt.Fprintf(w, "try it: holdfast subscription test %s\n", s.Name)
		return err
	})
}

// declare returns what the flags declare; to is nil if the destination exists.
func (o *createOptions) declare(name string) (s delivery.Subscription, to *delivery.Destination, err error) {
	given := 0
	for _, text := range []string{o.to, o.url, o.queue} {
		if text != "" {
			given++
		}
	}
	if given != 1 {
		return s, nil, errors.New("use exactly one of --to, --url and --task-queue")
	}
	if o.proxy != "" && o.url == "" {
		return s, nil, errors.New("--proxy is for a new destination with --url")
	}
	s = delivery.Subscription{Name: name, To: o.to, Events: o.events, Active: true, OrderBy: delivery.JQ(o.orderBy), Body: o.body}
	o.declareForm(&s)
	switch {
	case o.url != "":
		to = &delivery.Destination{Name: name, HTTP: &delivery.HTTP{URL: o.url, Proxy: o.proxy}}
	case o.queue != "":
		to = &delivery.Destination{Name: name, Temporal: &delivery.Temporal{Profile: o.profile, TaskQueue: o.queue}}
	case o.rate > 0 || o.secretStdin:
		return s, nil, errors.New("--rate and --secret-stdin are for a new destination")
	default:
		return s, nil, s.Check()
	}
	s.To, to.Rate = name, delivery.RateOf(o.rate)
	return s, to, errors.Join(to.Check(), s.CheckFor(*to))
}

// declareForm sets what is started or signaled.
func (o *createOptions) declareForm(s *delivery.Subscription) {
	id, input := delivery.JQ(o.workflowID), []delivery.JQ{delivery.JQ(o.input)}
	start := delivery.Start{WorkflowID: id, Type: o.start, Input: input}
	switch {
	case o.start != "" && o.signal != "":
		s.SignalWithStart = &delivery.SignalWithStart{Start: start, SignalName: o.signal, SignalInput: input}
	case o.start != "":
		s.Start = &start
	case o.signal != "":
		s.Signal = &delivery.Signal{WorkflowID: id, SignalName: o.signal, SignalInput: input}
	}
}

// mustBeNew refuses names that are taken, before anything is created: to change existing objects, apply a file.
func mustBeNew(c *cobra.Command, a *cli.API, s delivery.Subscription, to *delivery.Destination) error {
	if err := a.Read(c.Context(), pathOf(kindSubscription, s.Name), nil, &struct{}{}); !errors.Is(err, event.ErrNotFound) {
		return cmp.Or(err, fmt.Errorf("subscription %s already exists: holdfast subscription apply changes it", s.Name))
	}
	if to == nil {
		return nil
	}
	if err := a.Read(c.Context(), pathOf(kindDestination, to.Name), nil, &struct{}{}); !errors.Is(err, event.ErrNotFound) {
		return cmp.Or(err, fmt.Errorf("destination %s already exists: use it with --to", to.Name))
	}
	return nil
}
