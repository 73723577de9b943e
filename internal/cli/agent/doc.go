// Package agent has the command that connects agents to a running Holdfast.
package agent
