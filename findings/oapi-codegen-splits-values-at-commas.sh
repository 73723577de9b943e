#!/usr/bin/env bash
# oapi-codegen: the server that it generates splits list values at commas which the client that it generates has escaped.
#
# Versions: oapi-codegen 2.8.2 with its runtime 1.9.0 (net/http and chi servers), openapi-fetch 0.17.0 (npm), Node 20, Go 1.26.
# Guess:    a list in one query parameter (`explode: false`) is separated by commas, and a comma within a value is sent as %2C. Client
#           and server of one generator, from one document, agree on it.
# Seen:     both clients send ["Doe, J.", "z"] correctly, as Doe%2C%20J.,z; the handler gets ["Doe", " J.", "z"]. The generated code
#           decodes the query first and splits it then. The runtime has a function that does it right, which isn't used.
# Hurts:    lists of keys, names or filters that people choose: the request is about other things than the client asked for, without an
#           error. Use `explode: true`, which repeats the parameter.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund openapi-fetch@0.17.0
GOBIN=$dir go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 2>/dev/null
cat >api.yaml <<'YAML'
openapi: 3.0.3
info: {title: orders, version: "1"}
paths:
  /orders:
    get:
      operationId: listOrders
      parameters:
        - {name: joined, in: query, style: form, explode: false, schema: {type: array, items: {type: string}}}
        - {name: repeated, in: query, style: form, explode: true, schema: {type: array, items: {type: string}}}
      responses: {"200": {description: found, content: {text/plain: {schema: {type: string}}}}}
YAML
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/go-chi/chi/v5 v5.2.3
	github.com/oapi-codegen/runtime v1.9.0
)
MOD
mkdir plain chi
./oapi-codegen -generate std-http-server,models,client -package plain -o plain/api.go api.yaml
./oapi-codegen -generate chi-server,models -package chi -o chi/api.go api.yaml
cat >fetch.mjs <<'JS'
import createClient from 'openapi-fetch';

const client = createClient({ baseUrl: process.argv[2] });
await client.GET('/orders', {
  params: { query: { joined: ['Doe, J.', 'z'] } },
  querySerializer: { array: { style: 'form', explode: false } },
  parseAs: 'text',
});
JS
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"

	"finding/chi"
	"finding/plain"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func show(r *http.Request, joined, repeated *[]string) {
	if joined != nil {
		fmt.Printf("\tsent %s, the handler gets %q\n", r.URL.RawQuery, *joined)
	} else {
		fmt.Printf("\tsent %s, the handler gets %q\n", r.URL.RawQuery, *repeated)
	}
}

type plainServer struct{}

func (plainServer) ListOrders(_ http.ResponseWriter, r *http.Request, p plain.ListOrdersParams) {
	show(r, p.Joined, p.Repeated)
}

type chiServer struct{}

func (chiServer) ListOrders(_ http.ResponseWriter, r *http.Request, p chi.ListOrdersParams) {
	show(r, p.Joined, p.Repeated)
}

func ask(name string, handler http.Handler) {
	fmt.Println(name)
	server := httptest.NewServer(handler)
	defer server.Close()
	client, err := plain.NewClient(server.URL)
	check(err)
	values := []string{"Doe, J.", "z"}
	for _, p := range []*plain.ListOrdersParams{{Joined: &values}, {Repeated: &values}} {
		r, err := client.ListOrders(context.Background(), p)
		check(err)
		check(r.Body.Close())
	}
	fmt.Println(name + ", from openapi-fetch")
	check(exec.Command("node", "fetch.mjs", server.URL).Run())
}

func main() {
	ask("net/http", plain.Handler(plainServer{}))
	ask("chi", chi.Handler(chiServer{}))
}
GO
go mod tidy 2>/dev/null
go run . | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
net/http
	sent joined=Doe%2C+J.,z, the handler gets ["Doe" " J." "z"]
	sent repeated=Doe%2C+J.&repeated=z, the handler gets ["Doe, J." "z"]
net/http, from openapi-fetch
	sent joined=Doe%2C%20J.,z, the handler gets ["Doe" " J." "z"]
chi
	sent joined=Doe%2C+J.,z, the handler gets ["Doe" " J." "z"]
	sent repeated=Doe%2C+J.&repeated=z, the handler gets ["Doe, J." "z"]
chi, from openapi-fetch
	sent joined=Doe%2C%20J.,z, the handler gets ["Doe" " J." "z"]
SEEN
echo "as seen"
