package queues

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"holdfast/internal/broker"
	"holdfast/internal/clienttls"
	"holdfast/internal/proxy"
	"holdfast/providers/receiving"
)

// The codes of what keeps a queue from being read.
const (
	CodeUnreachable = "queue_unreachable"
	CodeRefused     = "queue_refused"
	CodeMissing     = "queue_missing"
	CodeSettings    = "queue_settings"
	CodeSecret      = "queue_secret"
	CodeHeld        = "queue_held"
	CodeMessage     = "queue_message"
)

// ProblemError is why a queue isn't read.
type ProblemError struct {
	Code string
	// Text has no payload and no secret.
	Text string
}

// Error returns the text.
func (p *ProblemError) Error() string { return p.Text }

func problem(code, format string, args ...any) *ProblemError {
	return &ProblemError{Code: code, Text: fmt.Sprintf(format, args...)}
}

// problemOf classifies an error. Any other error counts as a broken connection.
func problemOf(err error) *ProblemError {
	var p *ProblemError
	switch {
	case errors.As(err, &p):
		return p
	case err == nil:
		return problem(CodeUnreachable, "the broker has ended the connection")
	}
	return problem(CodeUnreachable, "%s", err.Error())
}

// Advice returns the next step for a code.
func Advice(code string) string {
	if next, ok := advice[code]; ok {
		return next
	}
	return "`holdfast provider queues` tries to read each queue"
}

var advice = map[string]string{
	CodeUnreachable: "check that the broker runs, and that `queues[].url` names it; an ingress connects again automatically",
	CodeRefused:     "compare `queues[].user` and the variable under `queues[].secrets` with the broker's, and the user's rights",
	CodeMissing:     "create it at the broker, or correct `queues[].name`; Holdfast creates none",
	CodeSettings: "change it at the broker, or name another one under `queues[].group`; each ingress needs the same " +
		"HOLDFAST_PROXIES",
	CodeSecret: "correct the variable or its file for each ingress",
	CodeHeld: "check PostgreSQL and Temporal: nothing is acknowledged until one of them commits, and no message is lost; if both " +
		"are healthy, report the error",
	CodeMessage: "others were committed since it first failed, so this message may be the cause: it isn't lost and is tried " +
		"again, but takes one place of `prefetch`, and in Kafka nothing behind its batch is read. If PostgreSQL and Temporal are " +
		"healthy, report the error; to go on without the message, copy it and then remove it at the broker",
}

// Status is how a queue is read.
type Status struct {
	receiving.Queue

	// Problem is nil if messages are read and committed.
	Problem *ProblemError
	// Waiting counts the messages in the queue that no one has read, -1 if unknown. Held counts those that were read and couldn't
	// be committed yet.
	Waiting int64
	Held    int
}

func (r *reader) status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Queue: r.Queue, Problem: r.problem, Waiting: r.lag, Held: r.held}
	if s.Problem == nil && r.held > 0 {
		s.Problem = r.why
	}
	return s
}

// Check tries to read a queue, without reading a message or creating anything.
func Check(ctx context.Context, q receiving.Queue, e Environment) (s Status) {
	s = Status{Queue: q, Waiting: -1}
	one, err := open(ctx, q, e, false)
	if err != nil {
		s.Problem = problemOf(err)
		return s
	}
	defer one.close()
	if s.Waiting, err = one.waiting(ctx); err != nil {
		s.Problem, s.Waiting = problemOf(err), -1
	}
	return s
}

// connectionOf reads the credentials each time, so that changed ones need no restart.
func connectionOf(q receiving.Queue, e Environment) (c broker.Connection, err error) {
	c = broker.Connection{User: q.User, Name: "holdfast " + q.Provider}
	if c.Address, err = broker.ParseAddress(q.Broker, q.URL); err != nil {
		return c, problem(CodeSettings, "url %s", err.Error())
	}
	if c.Secret, err = needed(q.Secrets, e); err != nil {
		return c, err
	}
	if c.TLS, err = tlsOf(q, e); err != nil {
		return c, err
	}
	if q.Proxy == "" {
		return c, nil
	}
	all, _ := e.Proxies()
	via, ok := all.Find(q.Proxy)
	if !ok {
		return c, problem(CodeSettings, "HOLDFAST_PROXIES has no proxy called %s", q.Proxy)
	}
	c.Dial = proxy.Tunnel{Dialer: &net.Dialer{}, Proxy: via, Eager: true}.DialContext
	return c, nil
}

// tlsOf returns nil if the queue has no certificates of its own.
func tlsOf(q receiving.Queue, e Environment) (*tls.Config, error) {
	names := [3]string{q.Authorities, q.Certificate, q.Key}
	if names == ([3]string{}) {
		return nil, nil //nolint:nilnil // the broker's settings decide whether TLS is used
	}
	var parts [3]clienttls.Part
	for i, name := range names {
		text, err := needed(name, e)
		if err != nil {
			return nil, err
		}
		if text != "" {
			parts[i] = clienttls.Part{Name: name, Text: []byte(text)}
		}
	}
	config, err := clienttls.Config(parts[0], parts[1], parts[2])
	if err != nil {
		return nil, problem(CodeSecret, "%s", err.Error())
	}
	return config, nil
}

// needed returns the value of a variable that must be set, "" without a name.
func needed(name string, e Environment) (string, error) {
	if name == "" {
		return "", nil
	}
	value, err := e.Whole(name)
	switch {
	case err != nil:
		return "", problem(CodeSecret, "%s", err.Error())
	case value == "":
		return "", problem(CodeSecret, "%s is not set", name)
	}
	return value, nil
}
