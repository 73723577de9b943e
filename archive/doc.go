// Package archive keeps what retention removes: in files of newline-delimited JSON, compressed, in a folder or an S3 bucket, in
// the form that `holdfast import` reads. What a purge is to remove is read, written and made durable, and only then removed, if
// it has not changed meanwhile: a crash in between leaves lines of what is still stored, and never loses any. What was expunged
// is taken out of files again.
//
// It must never know SQL, for how long something is kept, or what an import does with a line.
package archive
