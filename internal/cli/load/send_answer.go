package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/providers/auth"
)

// sentAnswer is a server's response.
type sentAnswer struct {
	status int
	took   time.Duration
	body   []byte
	// workflows are the events' workflow IDs, for a response that doesn't name them.
	workflows []string
}

// answeredEvents is Holdfast's response body; other servers send something else.
type answeredEvents struct {
	Events []struct {
		WorkflowID string `json:"workflow_id"`
	} `json:"events"`
}

func deliver(ctx context.Context, client *http.Client, r *auth.Request) (sentAnswer, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return sentAnswer{}, err
	}
	for name, values := range r.Header {
		for _, value := range values {
			request.Header.Add(name, value)
		}
	}
	start := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return sentAnswer{}, withoutURL(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return sentAnswer{status: response.StatusCode, took: time.Since(start), body: body}, err
}

// withoutURL removes the URL from a client's error: path and query may contain a token.
func withoutURL(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return fmt.Errorf("send: %w", failed.Err)
	}
	return err
}

func (a sentAnswer) accepted() bool { return a.status >= 200 && a.status < 300 }

// workflowIDs returns the workflow IDs of the accepted events. Not every provider's response names them.
func (a sentAnswer) workflowIDs() (ids []string) {
	var answered answeredEvents
	_ = json.Unmarshal(a.body, &answered)
	for _, e := range answered.Events {
		ids = append(ids, e.WorkflowID)
	}
	if len(ids) == 0 {
		return a.workflows
	}
	return ids
}

// report prints the response and where to look next.
func (a sentAnswer) report(c *cobra.Command, cfg config.Config) error {
	var body any = json.RawMessage(a.body)
	if !json.Valid(a.body) {
		body = string(a.body)
	}
	err := cli.Print(c, map[string]any{"status": a.status, "took_ms": a.took.Milliseconds(), "answer": body},
		func(w io.Writer) error { return a.write(w, cfg) })
	if err == nil && !a.accepted() {
		err = errors.New("the event was not accepted")
	}
	return err
}

// write names the event by its workflow, which always works: a redelivery has an ID without a row.
func (a sentAnswer) write(w io.Writer, cfg config.Config) error {
	_, err := fmt.Fprintf(w, "%d %s in %s\n", a.status, http.StatusText(a.status), a.took.Round(time.Millisecond))
	if err == nil && len(a.body) > 0 {
		_, err = fmt.Fprintln(w, cli.Printable(string(a.body)))
	}
	if err != nil || !a.accepted() {
		return err
	}
	for _, id := range a.workflowIDs() {
		fmt.Fprintf(w, "\nevent         %s event show %s\n", os.Args[0], quoted(cli.Printable(id)))
		if web := cfg.Operator.TemporalWeb; len(web) > 0 {
			fmt.Fprintf(w, "Temporal Web  %s/namespaces/%s/workflows/%s\n",
				web[0], url.PathEscape(cfg.Temporal.Namespace), url.PathEscape(id))
		}
	}
	return nil
}

// quoted quotes a word for a shell.
func quoted(word string) string {
	if !strings.ContainsFunc(word, isSpecial) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func isSpecial(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:/@+=,%", r)
}
