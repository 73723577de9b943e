package dev

import (
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
  receiver      {{.Receiver}}
{{- with .Database}}
  database      {{.}}{{end}}
{{- with .Definitions}}
  definitions   {{.}} ("kill -HUP {{$.PID}}" reads them again){{end}}

In a second terminal, send a signed event. The console shows what became of it{{if .TemporalWeb}},
Temporal Web its run{{end}}, and the sample receiver what was delivered:

  {{.Program}} send stripe

The same event twice is processed once. The second answer says "duplicate":

  echo '{"id":"evt_twice","type":"ping"}' > twice.json
  {{.Program}} send stripe --file twice.json
  {{.Program}} send stripe --file twice.json

What nobody can read becomes a dead letter. It waits until its cause is gone and
you run it again ("dlq replay"), or until you give it up:

  echo 'no JSON' | {{.Program}} send stripe --file -
  {{.Program}} dlq list
  {{.Program}} dlq discard 1 --reason 'only a try'

`))

func (s *devStack) welcome(out io.Writer, cfg config.Config, console, receiver string) {
	shown := struct {
		Dir, Program, Console, TemporalWeb, Receiver, Database, Definitions string

		PID int
	}{
		Dir: cfg.Dev.Dir, Program: os.Args[0], Console: console, Receiver: receiver, Definitions: cfg.Providers.Dir, PID: os.Getpid(),
	}
	if s.temporal != nil {
		shown.TemporalWeb = s.temporal.UIURL()
	}
	if s.postgres != nil {
		shown.Database = s.postgres.URL("holdfast")
	}
	if err := welcome.Execute(out, shown); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast:", err)
	}
}
