package definition

import (
	"errors"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"holdfast/ingress/queues"
	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/word"
	"holdfast/operator/httpapi"
	"holdfast/providers"
)

// checkedQueue is a queue that was tried from this machine.
type checkedQueue struct {
	Provider string `json:"provider"`
	Broker   string `json:"broker"`
	Queue    string `json:"queue"`
	// Code is "" if the queue can be read.
	Code   string `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
	Advice string `json:"advice,omitempty"`
	// Waiting is missing if the broker doesn't say.
	Waiting *int64 `json:"waiting,omitempty"`
}

func queuesCommand() *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use:   "queues [PROVIDER]",
		Short: "Try to read the queues of the definitions",
		Long: "Connect from this machine to each queue that a definition reads, and show how many\n" +
			"messages wait. No message is read, and nothing is created. Run it with the\n" +
			"environment of an ingress. The exit code is 1 if a queue can't be read.",
		Example: "  holdfast provider queues\n  holdfast provider queues orders --json | jq '.items[].code'",
		Args:    cobra.MaximumNArgs(1),
		RunE: withCatalogue(func(c *cobra.Command, catalogue *providers.Catalogue, args []string) error {
			cfg, _, err := config.LoadBesideDev()
			if err != nil {
				return err
			}
			found, failed := httpapi.List[checkedQueue]{Items: []checkedQueue{}}, 0
			for _, q := range catalogue.Queues() {
				if len(args) > 0 && q.Provider != args[0] {
					continue
				}
				one := newCheckedQueue(queues.Check(c.Context(), q, cfg))
				if found.Items = append(found.Items, one); one.Code != "" {
					failed++
				}
			}
			if err := cli.Print(c, found, func(w io.Writer) error { return writeQueues(w, found.Items) }); err != nil {
				return err
			}
			if failed > 0 {
				return errors.New(word.Count(int64(failed), "queue can't be read", "queues can't be read"))
			}
			return nil
		}),
	})
}

func newCheckedQueue(s queues.Status) checkedQueue {
	one := checkedQueue{Provider: s.Provider, Broker: s.Broker, Queue: s.Name}
	if s.Problem != nil {
		one.Code, one.Detail, one.Advice = s.Problem.Code, s.Problem.Text, queues.Advice(s.Problem.Code)
	}
	if s.Waiting >= 0 {
		one.Waiting = &s.Waiting
	}
	return one
}

func writeQueues(w io.Writer, all []checkedQueue) error {
	if len(all) == 0 {
		_, err := io.WriteString(w, "no definition reads a queue\n")
		return err
	}
	table := cli.NewTable(w, "PROVIDER!", "BROKER", "QUEUE", "STATE", "WAITING", "DETAIL")
	for _, q := range all {
		state, waiting, detail := "ok", "unknown", ""
		if q.Waiting != nil {
			waiting = strconv.FormatInt(*q.Waiting, 10)
		}
		if q.Code != "" {
			state, detail = q.Code, q.Detail+"; "+q.Advice
		}
		table.Row(q.Provider, q.Broker, q.Queue, state, waiting, detail)
	}
	return table.Flush()
}
