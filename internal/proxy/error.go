package proxy

import (
	"fmt"
	"strconv"
)

// Fault says whose fault an error is.
type Fault int

// The values of Fault.
const (
	// FaultProxy: the proxy can't be used: it is unreachable, refuses the credential, isn't a proxy, or limits connections.
	FaultProxy Fault = iota + 1
	// FaultRule: the proxy refuses this target.
	FaultRule
	// FaultTarget: the proxy couldn't connect to the target.
	FaultTarget
)

// Error says why there is no connection through a proxy. It names the proxy, and contains neither an address nor a credential.
type Error struct {
	Proxy  string
	Fault  Fault
	Reason string
	// cause is a syscall.Errno if the proxy has named it, or a timeout.
	cause error
	// atAll: no target can be reached through the proxy, whatever it is. Other connections then needn't try.
	atAll bool
}

// Error returns "proxy NAME: reason".
func (e *Error) Error() string { return "proxy " + e.Proxy + ": " + e.Reason }

// Unwrap returns what the proxy has reported of the target, as the error that a direct connection would have; nil if nothing.
func (e *Error) Unwrap() error { return e.cause }

func (p *Proxy) fault(format string, values ...any) *Error {
	return &Error{Proxy: p.name, Fault: FaultProxy, Reason: fmt.Sprintf(format, values...)}
}

// unusable is a fault that no target and no caller can have caused.
func (p *Proxy) unusable(reason string) *Error {
	return &Error{Proxy: p.name, Fault: FaultProxy, Reason: reason, atAll: true}
}

func (p *Proxy) refusal(format string, values ...any) *Error {
	return &Error{Proxy: p.name, Fault: FaultRule, Reason: fmt.Sprintf(format, values...)}
}

func (p *Proxy) unreachable(reason string, cause error) *Error {
	return &Error{Proxy: p.name, Fault: FaultTarget, Reason: reason, cause: cause}
}

// byStatus returns the error of a response to CONNECT; nil for a success. Proxies report a target that they can't reach with
// various statuses from 500 on.
func (p *Proxy) byStatus(status int) *Error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == 407 && p.user == "":
		return p.unusable("it asks for a user and a password (407): put them into its URL in HOLDFAST_PROXIES")
	case status == 407:
		return p.unusable("it refuses the user or the password in HOLDFAST_PROXIES (407)")
	case status == 400: // squid's answer to a target such as port 0
		return p.refusal("it can't connect to this endpoint (400): check the URL; otherwise the proxy isn't a forward proxy")
	case status == 405, status == 501:
		return p.fault("it can't connect to other servers (%d): it isn't a forward proxy, or doesn't allow CONNECT", status)
	case status == 429:
		return p.fault("it limits connections (429)")
	case status >= 500:
		return p.unreachable("it couldn't connect to the endpoint ("+strconv.Itoa(status)+")", nil)
	}
	return p.refusal("it refuses to connect to this endpoint (%d): allow its address and port in the proxy's rules", status)
}
