// Package archtest checks the architecture of this module and of the benchmark's: which packages exist, what each of them may
// import and why, what the top level contains, which library versions are too old, and which packages need the race detector. The
// table is in table.go; a change of the architecture begins there.
//
// It checks direct imports only. Tests may import any library, but packages of this module only as the table allows.
package archtest
