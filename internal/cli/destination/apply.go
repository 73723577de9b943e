package destination

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"holdfast/delivery/webhook"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/cli"
)

func applyCommand() *cobra.Command {
	var o applyOptions
	command := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create and change destinations and subscriptions from a file",
		Long: "Create and change destinations and subscriptions so that they match a file. Unchanged\n" +
			"ones are left alone; so are those that the file doesn't name, unless --prune deletes\n" +
			"them. An HTTP destination without a variable for its secrets gets a generated secret,\n" +
			"which is shown once.",
		Example: "  holdfast subscription apply -f subscriptions.yaml --dry-run\n" +
			"  holdfast subscription apply -f subscriptions.yaml --reason 'release 42'\n" +
			"  holdfast subscription apply -f subscriptions.yaml --prune --yes",
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) error { return o.run(c, t) }),
	}
	flags := command.Flags()
	cli.AddFileFlag(command, &o.file, "subscriptions.yaml", "")
	_ = command.MarkFlagRequired("file")
	cli.AddDryRunFlag(command, &o.dryRun)
	flags.BoolVar(&o.prune, "prune", false, "delete what the file doesn't name")
	cli.AddYesFlag(command, "do not ask (with --prune)")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

type applyOptions struct {
	file          string
	dryRun, prune bool
}

// applied is the executed plan with the new secrets.
type applied struct {
	plan
	DryRun  bool              `json:"dry_run,omitempty"`
	Secrets map[string]string `json:"secrets,omitempty"`
}

func (o *applyOptions) run(c *cobra.Command, t *tools) error {
	text, err := cli.ReadBody(c.InOrStdin(), o.file)
	if err != nil {
		return err
	}
	f, err := readFile(text)
	if err != nil {
		return fmt.Errorf("%s: %w", o.file, err)
	}
	there, err := readStored(c.Context(), t, f)
	if err != nil {
		return err
	}
	if err := f.check(there, webhook.CheckSignature); err != nil {
		return fmt.Errorf("%s:\n%w", o.file, err)
	}
	p, err := planOf(f, there, o.prune)
	if err != nil {
		return err
	}
	p.hide()
	p.warn(f, there, t.Warnings)
	if err := countCanceled(c.Context(), t, p, there); err != nil {
		return err
	}
	if o.dryRun {
		return cli.Print(c, applied{plan: p, DryRun: true}, func(w io.Writer) error { return writePlan(w, p) })
	}
	if n := p.count(opDelete); n > 0 && !cli.Confirm(c,
		fmt.Sprintf("Delete %d that the file doesn't name, and cancel %d waiting deliveries?", n, p.canceled())) {
		return errors.New("nothing was changed (--yes deletes without asking, --dry-run shows what)")
	}
	secrets, err := apply(c.Context(), t, f, p, cli.ActorOf(c))
	return errors.Join(cli.Print(c, applied{plan: p, Secrets: secrets}, func(w io.Writer) error {
		if err := writePlan(w, p); err != nil {
			return err
		}
		for _, name := range sorted(secrets) {
			printSecret(w, name, secrets[name])
		}
		return nil
	}), err)
}

// readStored reads the stored objects. Header values are never read: it also masks those of the file that are already stored, so
// that both compare as equal.
func readStored(ctx context.Context, t *tools, f file) (there stored, err error) {
	for name, d := range f.Destinations {
		if f.Destinations[name], err = t.Store.Subscriptions.MaskHeaders(ctx, d); err != nil {
			return there, err
		}
	}
	destinations, err := t.Store.Subscriptions.Destinations(ctx)
	if err != nil {
		return there, err
	}
	subscriptions, err := t.Store.Subscriptions.Subscriptions(ctx)
	if err != nil {
		return there, err
	}
	return storedOf(destinations, subscriptions), nil
}

// countCanceled counts the waiting deliveries of subscriptions to delete.
func countCanceled(ctx context.Context, t *tools, p plan, there stored) (err error) {
	for i, c := range p.Changes {
		if c.Op == opDelete && c.Kind == kindSubscription {
			if p.Changes[i].Canceled, err = t.Store.Outbox.CountOpen(ctx, there.subscriptions[c.Name].ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply makes the changes one by one. If one fails, earlier ones stay, and the same file can be applied again. It sets the
// plan's counts of canceled deliveries.
func apply(ctx context.Context, t *tools, f file, p plan, by oversight.Actor) (secrets map[string]string, err error) {
	secrets = map[string]string{}
	for i := range p.Changes {
		change := &p.Changes[i]
		if err := applyOne(ctx, t, f, change, secrets, by); err != nil {
			return secrets, fmt.Errorf("%s %s %s (earlier changes were made): %w", change.Op, change.Kind, change.Name, err)
		}
	}
	return secrets, nil
}

func applyOne(ctx context.Context, t *tools, f file, c *change, secrets map[string]string, by oversight.Actor) (err error) {
	switch {
	case c.Op == opDelete && c.Kind == kindSubscription:
		gone, err := t.Store.Subscriptions.DeleteSubscription(ctx, c.Name, by)
		c.Canceled = gone.Canceled
		return err
	case c.Op == opDelete:
		if err = t.DeleteDestination(ctx, c.Name, by); errors.Is(err, event.ErrNotFound) {
			return nil // deleted with its subscription
		}
		return err
	case c.Kind == kindSubscription:
		_, err = t.Store.Subscriptions.ApplySubscription(ctx, f.Subscriptions[c.Name].Subscription, by)
		return err
	}
	_, secret, err := t.Apply(ctx, f.Destinations[c.Name], f.secrets[c.Name], by)
	if secret != "" {
		secrets[c.Name] = secret
	}
	return err
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
