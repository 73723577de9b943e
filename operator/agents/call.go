package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/internal/printable"
	"holdfast/operator/httpapi"
)

// maxAnswer bounds a response of the API, in bytes. The largest has what a definition makes of a large event.
const maxAnswer = 64 << 20

// call is one call of a tool: it asks the API as the agent's caller.
type call struct {
	t             *tools
	authorization string
	// agent is the name and version that the client gave, for the audit log.
	agent string
}

func (t *tools) callOf(r *mcp.CallToolRequest) call {
	c := call{t: t, agent: agentOf(r)}
	switch {
	case t.o.Token != "":
		c.authorization = "Bearer " + t.o.Token
	case r.Extra != nil:
		c.authorization = r.Extra.Header.Get("Authorization")
	}
	return c
}

// agentOf returns the client's name: that of its handshake, which older versions of the protocol send once and a server without
// sessions doesn't know any more, or else the program's in its User-Agent.
func agentOf(r *mcp.CallToolRequest) string {
	name := ""
	if who := r.ClientInfo(); who != nil {
		name = strings.TrimSpace(who.Name + " " + who.Version)
	}
	if name == "" && r.Extra != nil {
		name = r.Extra.Header.Get("User-Agent")
	}
	const longest = 80
	return printable.Beginning(cmp.Or(name, "unknown client"), longest)
}

// get reads a route's response.
func (c call) get(ctx context.Context, path string, query url.Values, into any) error {
	return c.send(ctx, http.MethodGet, path+"?"+query.Encode(), nil, into)
}

// post sends a body as JSON, and reads the response.
func (c call) post(ctx context.Context, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	return c.send(ctx, http.MethodPost, path, text, into)
}

func (c call) send(ctx context.Context, method, path string, body []byte, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, c.t.o.URL+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.authorization != "" {
		r.Header.Set("Authorization", c.authorization)
	}
	response, err := c.t.o.Client.Do(r)
	if err != nil {
		return fmt.Errorf("the operator API doesn't answer: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("read answer: %w", err)
	case len(answer) > maxAnswer:
		return fmt.Errorf("the answer of the operator API is larger than %d MiB", maxAnswer>>20)
	}
	if response.StatusCode/100 != 2 {
		return refusal(response.StatusCode, answer)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

// refusal is the error of a response. Its text is the API's own, never a sender's.
func refusal(status int, answer []byte) error {
	var refused httpapi.ErrorResponse
	if json.Unmarshal(answer, &refused) != nil || refused.Error.Code == "" {
		return fmt.Errorf("the operator API answered %d", status)
	}
	text := string(refused.Error.Code) + ": " + cmp.Or(refused.Error.Detail, refused.Error.Message)
	if refused.Error.Field != "" {
		text += " (" + refused.Error.Field + ")"
	}
	return errors.New(text)
}

// path joins the segments of a path.
func path(segments ...string) string {
	var joined strings.Builder
	for _, s := range segments {
		joined.WriteString("/" + httpapi.PathSegment(s))
	}
	return joined.String()
}
