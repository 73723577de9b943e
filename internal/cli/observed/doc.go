// Package observed has the command that shows which fields a provider's events have, and prints types for them.
package observed
