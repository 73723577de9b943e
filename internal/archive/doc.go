// Package archive stores expired events and dead letters in compressed files of newline-delimited JSON, in a folder or an S3
// bucket, in the format of `holdfast import`. A purge reads rows, writes a durable file, and only then deletes the rows that
// haven't changed. A crash in between leaves rows that are both stored and archived, but loses none. Expunged events are later
// removed from files.
//
// It must not depend on SQL, retention periods, or how an import handles a line.
package archive
