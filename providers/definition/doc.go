// Package definition is what a YAML file of a provider may say: its fields, strictly read, with what it extends, every mistake
// reported at its field, and the patterns of event types.
//
// It must never know what a field does, nor see a request, an event's body or a secret: it knows their names alone.
package definition
