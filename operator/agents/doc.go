// Package agents lets agents use the operator API through the Model Context Protocol: its tools follow a repair from the cause to
// a finished redrive. Each tool sends requests to the API, with the caller's token and role; the package reads and changes
// nothing else.
//
// Senders of events choose what is in them. Results have that text under from_sender only, and nothing of it is in the
// description of a tool.
package agents
