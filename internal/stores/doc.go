// Package stores opens and prepares what all processes and tools of one installation share: the database, the Temporal
// client, the namespace's search attributes, the schedules.
//
// It must not depend on roles or commands. Opening doesn't connect, so either store may be unavailable.
package stores
