// Package installation opens and prepares what all processes and tools of one installation share: the database, the client of
// Temporal, the namespace's search attributes, the schedules.
//
// It must never know who opens them: no role, no command. Opening connects nothing, so that either store may be away.
package installation
