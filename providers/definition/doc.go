// Package definition defines the YAML file of a provider: its fields, parsed strictly, inheritance between definitions, every
// problem reported at its field, and patterns of event types.
//
// It must not depend on what a field does, nor see a request, an event's body or a secret: it has only their names.
package definition
