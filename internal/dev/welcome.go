package dev

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"text/template"

	"holdfast/internal/config"
)

// welcome is one screen: where to look, and three things to try. A test runs the commands.
var welcome = template.Must(template.New("welcome").Parse(`
Holdfast is running. Ctrl-C ends everything; {{.Dir}} keeps the data.

  console       {{.Console}}
{{- with .TemporalWeb}}
  Temporal Web  {{.}}{{end}}
  endpoint      {{.Endpoint}}, a sample that accepts deliveries
  Stripe        {{.Stripe}}, its secret in STRIPE_WEBHOOK_SECRET
{{- with .Database}}
  database      {{.}}{{end}}
{{- with .Definitions}}
  definitions   {{.}}, read again when a file changes
{{- else}}
  definitions   the built-in ones; HOLDFAST_PROVIDERS_DIR names a folder with yours{{end}}

In a second terminal, send a signed event. The console shows the event{{if .TemporalWeb}}, Temporal Web its
run{{end}}, and the sample endpoint the delivery. The console also shows how to connect a
provider. It and the documentation write "holdfast" for {{.Program}}.

  {{.Program}} send stripe

The same event twice is processed once. The second answer says "duplicate":

  echo '{"id":"evt_twice","type":"ping"}' > twice.json
  {{.Program}} send stripe --file twice.json
  {{.Program}} send stripe --file twice.json

Events that can't be parsed become dead letters. Fix the cause, then replay them
("dlq replay"), or discard them:

  echo 'no JSON' | {{.Program}} send stripe --file -
  {{.Program}} dlq list
  {{.Program}} dlq discard 1 --reason 'only a test'
{{.Hint}}
`))

func (s *devStack) welcome(out io.Writer, cfg config.Config, demo Demo, console, endpoint string) {
	shown := struct {
		Dir, Program, Console, TemporalWeb, Endpoint, Stripe, Database, Definitions, Hint string
	}{
		Dir: cfg.Dev.Dir, Program: cmp.Or(demo.Program, os.Args[0]), Hint: demo.Hint, Console: console, Endpoint: endpoint,
		Stripe:      cfg.Ingress.PublicURL + "/webhooks/stripe",
		Definitions: cfg.Providers.Dir,
	}
	if s.temporal != nil {
		shown.TemporalWeb = s.temporal.UIURL()
	}
	if s.postgres != nil {
		shown.Database = s.postgres.URL("holdfast")
	}
	var screen bytes.Buffer // written at once, so that no line of the log gets in between
	err := welcome.Execute(&screen, shown)
	if _, failed := screen.WriteTo(out); err != nil || failed != nil {
		fmt.Fprintln(os.Stderr, "holdfast:", errors.Join(err, failed))
	}
}
